"""The features that say most of a part."""

from __future__ import annotations

import numpy as np
import pandas as pd
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


def test_markers_of_the_data_come_before_what_is_large() -> None:
    rng = np.random.default_rng(0)
    parts = np.array([[500.0, 300.0, 8.0, 0.0], [500.0, 100.0, 0.0, 8.0]])  # "b" is in both, "c" and "d" are markers
    X = pd.DataFrame(rng.poisson(np.repeat(np.eye(2), 100, axis=0) @ parts), columns=list("abcd"))
    found = model(feature_names_in_=np.array(list("abcd"), dtype=object), components_=parts)
    assert found.top_features(0, 1, by="specificity")[0][0] == "b"
    assert [rows[0][0] for rows in found.top_features(n=1, by="specificity", X=X)] == ["c", "d"]
    assert [rows[0][0] for rows in found.top_features(n=1, by="specificity", X=X[list("dcba")])] == ["c", "d"]
    with pytest.raises(InputError, match="X is for by='specificity', got by='weight'"):
        found.top_features(X=X)


@pytest.mark.parametrize("asked", [{"part": 2}, {"part": "c"}, {"n": 0}, {"by": "size"}], ids=str)
def test_what_is_refused(asked: dict[str, object]) -> None:
    with pytest.raises(InputError):
        model().top_features(**asked)
