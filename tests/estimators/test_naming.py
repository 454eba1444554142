"""One name a part, everywhere."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

import partwise as pw
from partwise.exceptions import InputError

X = np.random.default_rng(0).random((20, 5))


def test_names_are_kept_and_forgotten_by_another_fit(tmp_path: Path):
    model = pw.HALS(3, max_iter=500, random_state=0).set_output(transform="pandas").fit(X)
    assert model.part_names_ == ["Part 1", "Part 2", "Part 3"]
    assert model.rename_parts({"Part 2": " water\n vapour"}) is model
    assert model.transform(X).columns.tolist() == ["Part 1", "water vapour", "Part 3"]
    pw.save(model, tmp_path / "m.safetensors")
    assert pw.load(tmp_path / "m.safetensors").part_names_ == ["Part 1", "water vapour", "Part 3"]
    page = pw.write_report(tmp_path / "r.html", model, X).read_text(encoding="utf-8")
    assert "<bdi>water vapour</bdi></h3>" in page
    assert "Part 2" not in page
    assert "components_[" not in page
    assert clone(model).fit(X).part_names_ == model.fit(X).part_names_ == ["Part 1", "Part 2", "Part 3"]


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (["a", "b"], "names has 2 names for 3 parts"),
        ({"Part 9": "a"}, "'Part 9' is no part: they are called Part 1, Part 2, Part 3"),
        (["a", "b", "a"], "'a' is the name of two parts"),
        ("abc", "names must be one name a part"),
        (["a", "", "b"], "a name has 1 to 200 characters"),
    ],
)
def test_names_that_are_none(names: object, told: str):
    model = pw.SPA(3).fit(X)
    with pytest.raises(InputError, match=told):
        model.rename_parts(names)
    assert model.part_names_ == ["Part 1", "Part 2", "Part 3"]
