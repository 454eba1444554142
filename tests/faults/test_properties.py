"""Properties over generated inputs (Hypothesis, the same ones in every run): what is written is what is read.

``PARTWISE_EXAMPLES=50`` takes fifty times as many, and others in every run.
"""

from __future__ import annotations

import csv
import io
import os
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import partwise as pw
from partwise.exceptions import InputError, ReaderError
from partwise.io.writing import write_table

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
TIMES = int(os.environ.get("PARTWISE_EXAMPLES", "1"))
calm = settings(derandomize=TIMES == 1, deadline=None, database=None, suppress_health_check=list(HealthCheck))


def some(count: int) -> settings:
    """So many examples."""
    return settings(calm, max_examples=count * TIMES)


names = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1, max_size=8).map(
    str.strip
)
numbers = st.floats(min_value=0.0, allow_nan=False, allow_infinity=False)


@st.composite
def tables(draw: st.DrawFn) -> tuple[np.ndarray, list[str], list[str]]:
    """Numbers, and names of columns and rows that are names and nothing else."""
    n, m = draw(st.integers(1, 6)), draw(st.integers(1, 5))
    X = np.array(draw(st.lists(st.lists(numbers, min_size=m, max_size=m), min_size=n, max_size=n)))
    columns = draw(st.lists(names.map(lambda name: f"c{name}".strip()), min_size=m, max_size=m, unique=True))
    rows = draw(st.lists(names.map(lambda name: f"r{name}".strip()), min_size=n, max_size=n, unique=True))
    return X, columns, rows


@pytest.mark.parametrize("suffix", ["csv", "parquet", "npy"])
@some(30)
@given(table=tables())
def test_what_is_written_is_read(suffix: str, table: tuple[np.ndarray, list[str], list[str]]):
    X, columns, rows = table
    if suffix == "parquet":
        pytest.importorskip("polars")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"table.{suffix}"
        write_table(path, X, columns, names=rows)
        found = pw.read(path)
    assert np.asarray(found.X).tobytes() == X.tobytes()
    if suffix != "npy":
        assert (found.feature_names, found.sample_names) == (columns, rows)


@some(30)
@given(
    table=tables(),
    delimiter=st.sampled_from(",;\t|"),
    decimal=st.sampled_from(".,"),
    header=st.booleans(),
    named=st.booleans(),
    line_end=st.sampled_from(["\n", "\r\n"]),
    quoted=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    told=st.booleans(),
)
def test_every_dialect_is_read_or_asked_for(
    table: tuple[np.ndarray, list[str], list[str]], delimiter: str, decimal: str, told: bool, **how: Any
):
    """Told the dialect, a table is what was written; not told, it is that or refused by name, and never another one."""
    X, columns, rows = table
    if decimal == "," and delimiter == ",":
        delimiter = ";"
    if decimal == "," and X.shape[1] == 1:
        told = True  # 1,5 alone is two numbers to everybody
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, quoting=how["quoted"], lineterminator=how["line_end"])
    if how["header"]:
        writer.writerow(["id", *columns] if how["named"] else columns)
    for name, row in zip(rows, X.tolist(), strict=True):
        cells = [repr(value).replace(".", decimal) for value in row]
        writer.writerow([name, *cells] if how["named"] else cells)
    known = (
        {"delimiter": delimiter, "decimal": decimal, "header": how["header"], "row_names": how["named"]} if told else {}
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.txt"
        path.write_bytes(text.getvalue().encode())
        try:
            found = pw.read(path, **known)
        except ReaderError:
            if told:
                raise
            return
    assert np.array_equal(np.asarray(found.X), X)
    assert found.sample_names == (rows if how["named"] else None)
    assert found.feature_names == (columns if how["header"] else None)


def reference(H: np.ndarray, x: np.ndarray) -> np.longdouble:
    """The least misfit, by trying every support in long double: for few parts."""
    A, b = H.T.astype(np.longdouble), x.astype(np.longdouble)
    k, best = len(H), np.sqrt(np.sum(b * b))
    for mask in range(1, 2**k):
        chosen = [j for j in range(k) if mask >> j & 1]
        w = _least_squares(A[:, chosen], b)
        if w is not None and (w >= 0).all():
            best = min(best, np.sqrt(np.sum((b - A[:, chosen] @ w) ** 2)))
    return best


def _least_squares(A: np.ndarray, b: np.ndarray) -> np.ndarray | None:
    """By Gram-Schmidt, twice, as LAPACK has no long double; None if the columns depend on each other."""
    Q, R = A.copy(), np.eye(A.shape[1], dtype=np.longdouble)
    for j in range(A.shape[1]):
        length = np.sqrt(np.sum(Q[:, j] ** 2))
        for _ in range(2):
            for i in range(j):
                part = Q[:, i] @ Q[:, j]
                R[i, j] = R[i, j] + part if i < j else part
                Q[:, j] -= part * Q[:, i]
        R[j, j] = np.sqrt(np.sum(Q[:, j] ** 2))
        if not R[j, j] > 1e-14 * length:
            return None
        Q[:, j] /= R[j, j]
    w = Q.T @ b
    for j in reversed(range(len(w))):
        w[j] = (w[j] - R[j, j + 1 :] @ w[j + 1 :]) / R[j, j]
    return w


@some(12)
@given(seed=st.integers(0, 2**32), k=st.integers(1, 6), m=st.integers(1, 12), spread=st.integers(0, 6))
def test_weights_are_as_good_as_the_best_support_in_long_double(seed: int, k: int, m: int, spread: int):
    rng = np.random.default_rng(seed)
    H = rng.normal(size=(k, m)) * 10.0 ** rng.uniform(-spread, spread, m)
    X = rng.normal(size=(3, m)) * 10.0 ** rng.uniform(-spread, spread, m)
    W, certificate = pw.nnls(H, X, return_certificate=True)
    assert (W >= 0.0).all()
    for x, w, kkt in zip(X, W, certificate.kkt, strict=True):
        rest = x.astype(np.longdouble) - w.astype(np.longdouble) @ H.astype(np.longdouble)
        excess = (np.sqrt(np.sum(rest**2)) - reference(H, x)) / np.linalg.norm(x)
        assert excess <= 1e-6 or kkt >= 1e-8


METHODS = {
    "HALS": {"max_iter": 15, "tol": 0.0},  # before it is at the optimum, up to rounding: rounding moves it on there
    "ANLS": {"max_iter": 10, "tol": 0.0},
    "SPA": {},
    "AND": {"max_iter": 20},
    "Archetypes": {"starts": 2, "random_state": 0},
}


def fitted(name: str, X: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return getattr(pw, name)(2, **METHODS[name]).fit(X)


def mixture(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.gamma(0.3, size=(40, 2)) @ rng.gamma(0.5, size=(2, 6)) + 0.01 * rng.random((40, 6))


def apart(one: np.ndarray, other: np.ndarray) -> float:
    """Largest difference of unit components, each with its nearest."""
    one, other = (H / np.linalg.norm(H, axis=1, keepdims=True) for H in (one, other))
    return float(max(np.abs(other - row).max(axis=1).min() for row in one))


@pytest.mark.parametrize("name", METHODS)
@some(4)
@given(seed=st.integers(0, 2**32), power=st.integers(-40, 40))
def test_scale_changes_nothing_but_the_scale(name: str, seed: int, power: int):
    """By powers of two, without rounding: all that a method does is the same, unless a constant in it has a unit."""
    X, scale = mixture(seed), 2.0**power
    plain, scaled = fitted(name, X), fitted(name, X * scale)
    assert apart(plain.components_, scaled.components_) <= 1e-9
    assert scaled.reconstruction_error_ == pytest.approx(plain.reconstruction_error_, rel=1e-9)


@pytest.mark.parametrize("name", ["SPA", "HALS"])
@some(4)
@given(seed=st.integers(0, 2**32), block_rows=st.integers(1, 41))
def test_neither_order_nor_partition_of_rows_matters(name: str, seed: int, block_rows: int):
    X = mixture(seed)
    whole = fitted(name, X)
    assert apart(whole.components_, fitted(name, pw.open_source(X, block_rows=block_rows)).components_) <= 1e-9
    order = np.random.default_rng(seed).permutation(len(X))
    assert apart(whole.components_, fitted(name, X[order]).components_) <= 1e-6


BAD = [np.full((3, 6), np.nan), np.ones((3, 5)), np.ones(4), -np.ones((3, 6)), np.ones((0, 6)), "nowhere.npy", None]


@pytest.mark.parametrize("name", METHODS)
@some(6)
@given(bad=st.sampled_from(BAD), call=st.sampled_from(["fit", "transform", "fit_transform"]))
def test_a_call_that_fails_changes_nothing(name: str, bad: Any, call: str):
    model = fitted(name, mixture(0))
    before = dict(vars(model))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            getattr(model, call)(bad)
    except (InputError, ValueError, TypeError, OSError):
        assert vars(model).keys() == before.keys()
        assert all(vars(model)[key] is before[key] for key in before)


@pytest.mark.parametrize("name", METHODS)
@some(3)
@given(seed=st.integers(0, 2**32), single=st.booleans())
def test_a_model_that_is_loaded_is_the_one_that_was_saved(name: str, seed: int, single: bool):
    X = mixture(seed).astype(np.float32 if single else np.float64)
    model = fitted(name, X)
    with tempfile.TemporaryDirectory() as folder:
        pw.save(model, Path(folder) / "model")
        again = pw.load(Path(folder) / "model")
    assert again.get_params() == model.get_params()
    for key, value in vars(model).items():
        if isinstance(value, np.ndarray):
            found = getattr(again, key)
            assert (found.dtype, found.shape, found.tobytes()) == (value.dtype, value.shape, value.tobytes())
    assert again.transform(X).tobytes() == model.transform(X).tobytes()
