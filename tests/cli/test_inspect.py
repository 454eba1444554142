"""The program ``partwise inspect``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import partwise as pw
from tests.cli.helpers import FEATURES, X

Program = Callable[..., tuple[str, str]]


def test_a_model_of_the_program(program: Program) -> None:
    program("fit", "data.csv", "-k", 3, "-m", "hals", "--preprocess", "unit", "-o", "out", "-q")
    out, _ = program("inspect", "out")
    assert out.startswith("HALS: 3 parts of 12 features, prepared by unit\n")
    for word in ("reconstruction_error", "stop_reason", "KKT residual", "sha256", "max_iter", "Part 1"):
        assert word in out
    told = json.loads(program("inspect", "out/model.safetensors", "--json", "--top", 4)[0])
    model, weights = pw.load("out/model.safetensors"), pw.read("out/weights.csv").X
    sizes = weights.sum(axis=0) * model.components_.sum(axis=1)
    assert [part["share"] for part in told["parts"]] == pytest.approx((sizes / sizes.sum()).tolist())
    for part in told["parts"]:
        row = model.components_[int(part["name"].removeprefix("Part ")) - 1]
        assert [one["name"] for one in part["features"]] == [FEATURES[j] for j in np.argsort(-row)[:4]]
    assert told["fit"]["n_iter"] == model.n_iter_
    assert told["provenance"]["seed"] == 0
    assert told["parameters"]["max_iter"] == 1000


def test_a_model_of_the_library(program: Program) -> None:
    pw.save(pw.HALS(2, init=X[:2], max_iter=5, tol=0.0).fit(X), "m.safetensors")
    out, _ = program("inspect", "m.safetensors")
    assert "array of shape (2, 12)" in out
    told = json.loads(program("inspect", "m.safetensors", "--json")[0])
    assert [part["share"] for part in told["parts"]] == [None, None]
    assert told["parts"][0]["features"][0]["name"].startswith("feature_")


def test_names_are_no_markup(program: Program) -> None:
    lines = ["[bold]x[/bold],[red],c", *(",".join(map(repr, row)) for row in X[:, :3].tolist())]
    Path("odd.csv").write_text("\n".join(lines))
    program("fit", "odd.csv", "-k", 1, "-m", "spa", "-o", "out")
    assert "[bold]x[/bold]" in program("inspect", "out")[0]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("nowhere", "nowhere: there is no such file or folder"),
        (".", "holds no model.safetensors"),
        ("text.safetensors", "text.safetensors: not a readable model"),
        ("new.safetensors", "holds a HALS that is not fitted"),
    ],
)
def test_no_model(path: str, message: str, program: Program) -> None:
    pw.save(pw.HALS(2), "new.safetensors")
    Path("text.safetensors").write_text("a,b\n1,2\n")
    assert message in program("inspect", path, code=2)[1]
    assert json.loads(program("inspect", path, "--json", code=2)[0])["status"] == "failed"


def test_data_and_its_noise(program: Program) -> None:
    rng = np.random.default_rng(0)
    np.save("counts.npy", rng.poisson(20.0 * rng.random((200, 4)) @ rng.random((4, 100))))
    out, _ = program("inspect", "counts.npy")
    assert "200 samples (rows) x 100 features" in out
    assert out.rstrip().endswith("noise        the noise in this table looks like counting noise")
    told = json.loads(program("inspect", "counts.npy", "--json")[0])
    assert told["shape"] == [200, 100]
    assert (told["noise"]["kind"], told["noise"]["k"]) == ("poisson", 4)
    turned = json.loads(program("inspect", "counts.npy", "--transpose", "-k", 4, "--json")[0])
    assert turned["shape"] == [100, 200]
    assert turned["noise"]["kind"] == "poisson"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["data.csv", "-k", "500"], "-k 500 is too many for"),
        (["hole.npy"], "NaN or infinity value(s), the first in row 3, column 4"),
        (["empty.npy"], "there is no number in it"),
    ],
)
def test_data_without_an_answer(words: list[str], message: str, program: Program) -> None:
    hole = np.ones((20, 20))
    hole[3, 4] = np.nan
    np.save("hole.npy", hole)
    np.save("empty.npy", np.ones((0, 3)))
    assert message in program("inspect", *words, code=2)[1]
