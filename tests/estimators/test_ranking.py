"""The features that say most of a part."""

from __future__ import annotations

import numpy as np
import pytest

import partwise as pw
from partwise.exceptions import InputError

H = np.array([[9.0, 2.0, 0.0, 1.0], [9.0, 0.0, 2.0, 1.5]])


def model(**more: object) -> pw.SPA:
    found = pw.SPA(2).fit(H)
    found.components_ = H
    vars(found).update(more)
    return found


def test_features_in_order() -> None:
    names = model(feature_names_in_=np.array(list("abcd"), dtype=object))
    assert names.top_features(0) == [("a", 9.0), ("b", 2.0), ("d", 1.0)]
    assert names.top_features("Part 2", 1, by="specificity")[0][0] == "c"
    assert [rows[0][0] for rows in names.top_features(n=1, by="relevance")] == ["a", "a"]
    assert model().top_features(-1, 2) == [(0, 9.0), (2, 2.0)]


@pytest.mark.parametrize("asked", [{"part": 2}, {"part": "c"}, {"n": 0}, {"by": "size"}], ids=str)
def test_what_is_refused(asked: dict[str, object]) -> None:
    with pytest.raises(InputError):
        model().top_features(**asked)
