"""The program ``partwise transform``: what the fit did, done to other data."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import partwise as pw
from tests.cli.helpers import FEATURES, SAMPLES, X, write_csv

Program = Callable[..., tuple[str, str]]
ORDER = np.random.default_rng(0).permutation(X.shape[1])


@pytest.fixture
def fitted(program: Program) -> Program:
    program("fit", "data.csv", "-k", 3, "--method", "hals", "--no-judge", "-o", "out", "-q")
    return program


@pytest.mark.parametrize("model", ["out", "out/model.safetensors"])
@pytest.mark.parametrize("suffix", ["csv", "parquet", "npy"])
def test_training_data(model: str, suffix: str, fitted: Program) -> None:
    fitted("transform", model, "data.csv", "-o", f"sub/w.{suffix}")
    np.testing.assert_array_equal(pw.read(f"sub/w.{suffix}").X, pw.read("out/weights.csv").X)
    if suffix == "csv":
        assert Path("sub/w.csv").read_bytes() == Path("out/weights.csv").read_bytes()


def test_an_existing_file_is_replaced_only_if_asked(fitted: Program) -> None:
    Path("w.csv").write_text("precious")
    _, said = fitted("transform", "out", "data.csv", "-o", "w.csv", code=2)
    assert "-o w.csv exists already: --overwrite replaces it" in said
    assert Path("w.csv").read_text() == "precious"
    fitted("transform", "out", "data.csv", "-o", "w.csv", "--overwrite")
    assert Path("w.csv").read_bytes() == Path("out/weights.csv").read_bytes()


@pytest.mark.parametrize("kind", ["tfidf", "log1p", "unit"])
def test_preparation_is_done_again(kind: str, program: Program) -> None:
    counts = np.random.default_rng(1).poisson(2.0, (40, 7)).astype(float)
    np.save("all.npy", counts)
    np.save("some.npy", counts[30:])
    program("fit", "all.npy", "-k", 2, "--preprocess", kind, "-o", "out")
    program("transform", "out", "some.npy", "-o", "some.csv")
    weights = pw.read("out/weights.csv").X
    np.testing.assert_allclose(pw.read("some.csv").X, weights[30:], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(pw.load("out/model.safetensors").transform(counts), weights, rtol=1e-12, atol=1e-12)


def test_features_in_another_order(fitted: Program) -> None:
    write_csv("turned.csv", X[:, ORDER], [FEATURES[j] for j in ORDER], SAMPLES)
    out, _ = fitted("transform", "out", "turned.csv", "-o", "w.csv", "--json")
    assert Path("w.csv").read_bytes() == Path("out/weights.csv").read_bytes()
    told = json.loads(out)
    assert told["shape"] == [60, 3]
    assert told["error"] == pytest.approx(pw.load("out/model.safetensors").reconstruction_error_)


def test_missing_and_extra_features(fitted: Program) -> None:
    write_csv("other.csv", X, [*FEATURES[:-2], "new", "newer"], SAMPLES)
    _, said = fitted("transform", "out", "other.csv", code=2)
    assert "other.csv: the data has 2 of the model's features missing: 'f10', 'f11' and 2 features" in said
    assert "that the model does not know: 'new', 'newer'; --fill-missing takes missing ones for 0, --ignore" in said
    fitted("transform", "out", "other.csv", "--ignore-extra", "--fill-missing")
    rows = X.copy()
    rows[:, -2:] = 0.0
    H = pw.load("out/model.safetensors").components_
    np.testing.assert_allclose(pw.read("weights.csv").X, pw.nnls(H, rows), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", ["npy", "parts"])
def test_on_disk(kind: str, fitted: Program) -> None:
    np.save("X.npy", X)
    Path("parts").mkdir()
    for i in (0, 1):
        sp.save_npz(f"parts/{i}.npz", sp.csr_array(X[30 * i : 30 * i + 30]))
    fitted("transform", "out", {"npy": "X.npy"}.get(kind, kind), "--in-memory", 0, "-o", "w.csv")
    np.testing.assert_allclose(pw.read("w.csv").X, pw.read("out/weights.csv").X, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("words", "message", "code"),
    [
        (["nowhere", "data.csv"], "nowhere: there is no such file or folder", 2),
        (["empty", "data.csv"], "empty holds no model.safetensors", 2),
        (["data.csv", "data.csv"], "data.csv: not a readable model", 2),
        (["out", "nowhere.csv"], "nowhere.csv: there is no such file or folder", 2),
        (["out", "narrow.npy"], "narrow.npy: it has 5 features, and the model 12", 2),
        (["out", "turned.npy"], "is it to be read with --transpose?", 2),
        (["out", "nan.npy"], "nan.npy: the data contains 1 NaN or infinity value(s), the first in row 2, column 3", 2),
        (["out", "data.csv", "-o", "w.xlsx"], "-o w.xlsx: give a file that ends in .csv, .parquet, .npy", 2),
        (["out", "data.csv", "-o", "data.csv/w.csv"], "cannot write into data.csv: File exists", 1),
        (["out", "data.csv", "-o", "link.csv"], "-o link.csv is DATA, which would be lost", 2),
        (["out"], "Missing argument 'DATA'", 2),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_usage(words: list[str], message: str, code: int, fitted: Program) -> None:
    Path("empty").mkdir()
    Path("link.csv").symlink_to("data.csv")
    np.save("narrow.npy", X[:, :5])
    np.save("turned.npy", X.T)
    rows = X.copy()
    rows[2, 3] = np.inf
    np.save("nan.npy", rows)
    _, said = fitted("transform", *words, code=code)
    assert message in said
    assert not Path("weights.csv").exists()


def test_what_the_fit_left_out_need_not_be_told_again(program: Program) -> None:
    words = ["-k", 2, "--method", "hals", "--no-judge", "-q"]
    program("fit", "data.csv", *words, "--varying", 4, "-o", "out")
    program("transform", "out", "data.csv", "-o", "w.csv")
    assert Path("w.csv").read_bytes() == Path("out/weights.csv").read_bytes()


def test_the_modality_of_the_fit_is_that_of_new_data(program: Program) -> None:
    anndata, h5py = pytest.importorskip("anndata"), pytest.importorskip("h5py")
    write = (getattr(anndata, "io", None) or anndata.experimental).write_elem
    with h5py.File("both.h5mu", "w") as both:
        write(both.require_group("mod"), "rna", anndata.AnnData(X))
        write(both["mod"], "prot", anndata.AnnData(X[:, :2]))
    words = ["-k", 2, "--method", "hals", "--no-judge", "-q", "-o", "out"]
    program("fit", "both.h5mu", "--modality", "rna", *words)
    program("transform", "out", "both.h5mu", "-o", "w.csv")
    assert Path("w.csv").read_bytes() == Path("out/weights.csv").read_bytes()


def test_a_column_of_text_that_the_fit_left_out(fitted: Program) -> None:
    """It had to be told again, though the help says that it has not."""
    for name, rows in (("data.csv", X), ("new.csv", X[:20])):
        write_csv("plain.csv", rows, FEATURES, SAMPLES[: len(rows)])
        first, *others = Path("plain.csv").read_text().splitlines()
        Path(name).write_text("\n".join([f"{first},kind", *(f"{line},cat" for line in others)]) + "\n")
    fitted("fit", "data.csv", "--drop", "kind", "-k", 3, "--method", "hals", "--no-judge", "-o", "out", "--overwrite")
    fitted("transform", "out", "new.csv", "-o", "w.csv")
    fitted("transform", "out", "plain.csv", "-o", "plain-w.csv")  # which has none
    assert Path("w.csv").read_bytes() == Path("plain-w.csv").read_bytes()


def test_only_some_of_what_the_fit_left_out_is_there(fitted: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of it was kept then, or the data came through a pipe that had been read."""
    first, *others = Path("data.csv").read_text().splitlines()
    Path("data.csv").write_text("\n".join([f"{first},kind,note", *(f"{line},cat,x" for line in others)]) + "\n")
    words = ["-k", 3, "--method", "hals", "--no-judge", "-o", "out", "--overwrite"]
    fitted("fit", "data.csv", "--drop", "kind,note", *words)
    Path("new.csv").write_text("\n".join([f"{first},note", *(f"{line},x" for line in others)]) + "\n")
    fitted("transform", "out", "new.csv", "-o", "w.csv")
    Path("plain.csv").write_text("\n".join([first, *others]) + "\n")
    with Path("plain.csv").open() as pipe:
        monkeypatch.setattr("sys.stdin", pipe)
        fitted("transform", "out", "-", "-o", "piped.csv")
    assert Path("w.csv").read_bytes() == Path("piped.csv").read_bytes() == Path("out/weights.csv").read_bytes()


def test_mistakes_in_new_data_are_told(fitted: Program) -> None:
    rows = X[:20].copy()
    rows[3:5, 2] = 9999.0
    write_csv("codes.csv", rows, FEATURES, SAMPLES[:20])
    write_csv("total.csv", np.vstack([X[:20], X[:20].sum(axis=0)]), FEATURES, [*SAMPLES[:20], "Total"])
    for name, words in (
        ("codes", "2 entries are 9999, and none else is above"),
        ("total", "Sample 'Total' is the sum"),
    ):
        _, said = fitted("transform", "out", f"{name}.csv", "-o", f"{name}-w.csv")
        assert words in said


def test_features_without_names_are_taken_in_their_order_and_it_is_told(fitted: Program) -> None:
    np.save("plain.npy", X)
    said = " ".join("".join(fitted("transform", "out", "plain.npy", "-o", "w.csv")).split())
    assert "Features are taken in their order: the data has no names of them, and the model has." in said
    assert "taken in their order" not in "".join(fitted("transform", "out", "data.csv", "-o", "v.csv"))


def test_a_model_behind_the_data_is_told(fitted: Program) -> None:
    for model in ("out", "out/model.safetensors"):
        _, said = fitted("transform", "data.csv", model, "-o", "w.csv", code=2)
        assert f"MODEL comes before DATA: partwise transform {model} data.csv" in said
