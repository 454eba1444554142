"""The kind of noise and its scales, against what tables were made of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp

import partwise as pw
from partwise.exceptions import InputError
from partwise.noise import KINDS, Noise, NoiseKind, deciding, name_noise, sentence
from partwise.sources import blocks, source_of

N, M, K = 160, 120, 4
seeds = pytest.mark.parametrize("seed", range(3))


def signal(rng: np.random.Generator, n: int = N, m: int = M, k: int = K) -> np.ndarray:
    return 2.0 * rng.random((n, k)) @ rng.random((k, m))


def table(kind: str, seed: int = 0, n: int = N, m: int = M) -> np.ndarray:
    """Four parts and noise of one kind."""
    rng = np.random.default_rng(seed)
    S, Z = signal(rng, n, m), rng.standard_normal((n, m))
    rows, columns = np.exp(0.6 * rng.standard_normal((n, 1))), np.exp(0.6 * rng.standard_normal(m))
    if kind == "poisson":
        return rng.poisson(10.0 * S).astype(float)
    if kind == "over-dispersed":
        return rng.poisson(10.0 * S * rng.gamma(5.0, 0.2, S.shape)).astype(float)
    if kind == "coloured":
        Z = sum(np.roll(Z, shift, axis=1) for shift in range(4)) / 2.0
    noise = {
        "none": 0.0 * Z,
        "white": Z,
        "rows": rows * Z,
        "columns": columns * Z,
        "rows and columns": rows * columns * Z,
        "coloured": Z,
        "heavy-tailed": rng.standard_t(2.0, Z.shape),
    }
    return S + 0.1 * noise[kind]


NAMED = [kind for kind in KINDS if kind != "unclear"]


# --- kinds --------------------------------------------------------------------------------------------------


@seeds
@pytest.mark.parametrize("kind", NAMED)
def test_every_kind_is_named(kind: str, seed: int) -> None:
    for X in (table(kind, seed), table(kind, seed, 60, 500)):
        noise = pw.measure_noise(X)
        assert noise.kind == kind
        if kind not in ("coloured", "heavy-tailed"):
            assert abs(noise.k - K) <= (kind != "none")  # a direction of noise may stand above the edge by chance
        assert noise.chance > 1e-3 or kind in ("coloured", "heavy-tailed")


@pytest.mark.parametrize("kind", NAMED)
def test_of_single_precision_too(kind: str) -> None:
    assert pw.measure_noise(table(kind).astype(np.float32)).kind == kind


@pytest.mark.parametrize("kind", [kind for kind in NAMED if kind not in ("poisson", "over-dispersed")])
def test_of_signed_data_too(kind: str) -> None:
    shift = np.outer(np.random.default_rng(1).standard_normal(N), np.ones(M))  # one more part, with both signs
    assert pw.measure_noise(table(kind) + shift).kind == kind


@pytest.mark.parametrize("axis", [0, 1], ids=["samples", "features"])
def test_the_direction_of_colour(axis: int) -> None:
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((N, M))
    noise = pw.measure_noise(signal(rng) + 0.1 * sum(np.roll(Z, shift, axis=axis) for shift in range(4)))
    assert (noise.kind, noise.direction) == ("coloured", ("samples", "features")[axis])
    assert noise.colour > 1.2


def test_colour_is_what_the_dimensions_asked_for_leave() -> None:
    X = table("white")
    assert pw.measure_noise(X, K).kind == "white"
    assert pw.measure_noise(X, K).colour == pytest.approx(1.0, abs=0.1)
    few = pw.measure_noise(X, 1)
    assert (few.kind, few.k) == ("coloured", 1)
    assert few.colour > 1.5


# --- scales -------------------------------------------------------------------------------------------------


@seeds
@pytest.mark.parametrize("kind", ["white", "rows", "columns", "rows and columns"])
def test_scales_are_those_of_the_noise(kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    S, Z = signal(rng, 300, 200), rng.standard_normal((300, 200))
    rows = np.exp(0.6 * rng.standard_normal(300)) if "rows" in kind else np.ones(300)
    columns = np.exp(0.6 * rng.standard_normal(200)) if "columns" in kind else np.ones(200)
    noise = pw.measure_noise(S + 0.1 * rows[:, None] * columns * Z)
    assert noise.kind == kind
    found = np.log(noise.row_scale[:, None] * noise.column_scale) - np.log(0.1 * rows[:, None] * columns)
    # a standard deviation from 200 and one from 300 numbers: errors of 5% and of 4%
    assert found.std() < 0.09
    assert abs(found.mean()) < 0.02


@pytest.mark.parametrize("shape", [(2000, 90), (90, 2000), (900, 900)], ids=["tall", "wide", "square"])
def test_scales_of_rows_and_columns_that_were_not_looked_at(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(3)
    rows, columns = (np.exp(0.5 * rng.standard_normal(size)) for size in shape)
    X = signal(rng, *shape) + 0.1 * rows[:, None] * columns * rng.standard_normal(shape)
    noise = pw.measure_noise(X)
    assert noise.kind == "rows and columns"
    assert noise.looked_at[0] * noise.looked_at[1] < X.size
    found = np.log(noise.row_scale[:, None] * noise.column_scale) - np.log(0.1 * rows[:, None] * columns)
    assert found.std() < 0.13
    assert abs(found.mean()) < 0.03


@pytest.mark.parametrize("kind", ["poisson", "over-dispersed"])
@pytest.mark.parametrize("shape", [(N, M), (1500, 400)], ids=["small", "large"])
def test_counts_have_noise_of_variance_one_afterwards(kind: str, shape: tuple[int, int]) -> None:
    X = table(kind, 0, *shape)
    noise = pw.measure_noise(X)
    assert noise.kind == kind
    assert noise.phi == pytest.approx(0.2 * (kind == "over-dispersed"), abs=0.02)
    Y = X / noise.row_scale[:, None] / noise.column_scale
    s = np.linalg.svd(Y, compute_uv=False)[K:]
    assert (s**2).sum() / ((shape[0] - K) * (shape[1] - K)) == pytest.approx(1.0, abs=0.03)
    # and none of what is left stands above the edge of white noise of variance one
    assert s[0] < 1.02 * (np.sqrt(shape[0]) + np.sqrt(shape[1]))


def test_scales_of_heavy_tails_are_those_of_the_bulk() -> None:
    rng = np.random.default_rng(0)
    rows = np.exp(0.5 * rng.standard_normal(N))
    far = np.where(rng.random((N, M)) < 0.01, 30.0, 1.0)
    noise = pw.measure_noise(signal(rng) + 0.1 * rows[:, None] * far * rng.standard_normal((N, M)))
    assert noise.kind == "heavy-tailed"
    assert noise.tails == pytest.approx(0.008, abs=0.003)
    found = np.log(noise.row_scale[:, None] * noise.column_scale) - np.log(0.1 * rows[:, None])
    assert abs(found.mean()) < 0.1  # rms scales would be too large by a half at least
    assert found.std() < 0.2


# --- sources ------------------------------------------------------------------------------------------------


def same(a: Noise, b: Noise) -> bool:
    scales = zip((a.row_scale, a.column_scale), (b.row_scale, b.column_scale), strict=True)
    return a.facts() == b.facts() and all(np.array_equal(x, y) for x, y in scales)


@pytest.mark.parametrize("kind", ["rows and columns", "over-dispersed"])
def test_the_same_bits_wherever_rows_live(kind: str, tmp_path: Path) -> None:
    X = table(kind, 0, 700, 310)
    np.save(tmp_path / "X.npy", X)
    expected = pw.measure_noise(source_of(X, block_rows=100))
    assert expected.kind == kind
    assert same(expected, pw.measure_noise(pw.open_source(tmp_path / "X.npy", block_rows=100)))
    assert same(expected, pw.measure_noise(da.from_array(X, chunks=(100, -1))))
    rows = np.arange(0, 700, 90)
    for source in (source_of(X, block_rows=100), source_of(da.from_array(X, chunks=(100, -1)))):
        scaled = expected.scale(source).take(rows)
        np.testing.assert_allclose(scaled, X[rows] / expected.row_scale[rows, None] / expected.column_scale)
    other = pw.measure_noise(X)  # another partition: the same numbers to rounding
    np.testing.assert_allclose(other.row_scale, expected.row_scale, rtol=1e-9)
    np.testing.assert_allclose(other.column_scale, expected.column_scale, rtol=1e-9)


def test_sparse_counts_stay_sparse() -> None:
    rng = np.random.default_rng(0)
    means = rng.gamma(0.3, 1.0, (500, 4)) @ (rng.random((4, 900)) * (rng.random((4, 900)) < 0.4))
    X = sp.csr_array(rng.poisson(means).astype(float))
    assert X.nnz < 0.3 * X.shape[0] * X.shape[1]
    noise = pw.measure_noise(X)
    assert noise.kind == "poisson"
    scaled = noise.scale(source_of(X)).take(np.arange(500))
    assert sp.issparse(scaled)
    assert scaled.nnz == X.nnz
    np.testing.assert_allclose(scaled.toarray(), X.toarray() / noise.row_scale[:, None] / noise.column_scale)
    dense = pw.measure_noise(X.toarray())
    assert dense.kind == noise.kind
    np.testing.assert_allclose(dense.row_scale, noise.row_scale, rtol=1e-9)


def test_scaling_leaves_its_argument_alone() -> None:
    X = table("columns")
    kept = X.copy()
    noise = pw.measure_noise(X)
    scaled = blocks.to_dense(noise.scale(source_of(X)).take(np.arange(N)))
    np.testing.assert_allclose(scaled, X / noise.row_scale[:, None] / noise.column_scale)
    assert np.array_equal(X, kept)


def test_the_kind_alone_is_the_same() -> None:
    X = table("rows")
    found, whole = name_noise(X), pw.measure_noise(X)
    assert type(found) is NoiseKind
    assert found.facts() == whole.facts()
    assert str(found) == str(whole) == sentence(whole)


# --- odd tables ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["white", "columns", "poisson"])
def test_empty_constant_and_repeated_rows_and_columns(kind: str) -> None:
    X = table(kind)
    X[[3, 50]] = 0.0
    X[:, [0, 7, 99]] = 0.0
    X[:, 20] = 3.0
    X = np.vstack([X, X[:30]])
    noise = pw.measure_noise(X)
    assert noise.kind == kind
    for scale in (noise.row_scale, noise.column_scale):
        assert np.isfinite(scale).all()
        assert (scale > 0.0).all()


@pytest.mark.parametrize("kind", ["white", "rows", "poisson"])
def test_one_odd_sample_changes_nothing(kind: str) -> None:
    X = table(kind)
    X[17] = 30.0 * np.random.default_rng(5).poisson(5.0, M)
    assert pw.measure_noise(X).kind == kind


@pytest.mark.parametrize("size", [2.0, 20.0])
@pytest.mark.parametrize("loud", [1, 2, 5])
@pytest.mark.parametrize("k", [None, 4])
def test_a_loud_feature_is_no_direction_of_the_signal(loud: int, k: int | None, size: float) -> None:
    rng = np.random.default_rng(7)
    parts, weights = rng.gamma(0.6, size=(4, 100)), rng.dirichlet([0.4] * 4, 500)
    X = weights @ parts + 0.02 * rng.standard_normal((500, 100))
    features = rng.choice(100, loud, replace=False)
    others = np.setdiff1d(np.arange(100), features)
    X[:, features] += size * rng.standard_normal((500, loud))
    X = np.maximum(X, 0.0)
    noise = pw.measure_noise(X, k)
    assert (noise.kind, noise.k) == ("columns", 4)
    assert noise.column_scale[features].min() > 5.0 * size * noise.column_scale[others].max()
    model = pw.Parts(4, random_state=0, judge=False).fit(X)
    assert pw.metrics.spectral_angles(model.components_[:, others], parts[:, others]).max() < 0.5
    assert pw.choose_k(X, halves=False).k == 4


@pytest.mark.parametrize("units", ["table", "rows"])
def test_counts_that_were_divided(units: str) -> None:
    X = table("over-dispersed")
    whole = pw.measure_noise(X)
    factors = np.full(N, 0.37) if units == "table" else 1.0 / X.sum(axis=1)
    noise = pw.measure_noise(X * factors[:, None])
    assert noise.kind == "over-dispersed"
    assert noise.phi == pytest.approx(whole.phi, rel=0.05)
    expected = whole.row_scale[:, None] * factors[:, None] * whole.column_scale
    np.testing.assert_allclose(noise.row_scale[:, None] * noise.column_scale, expected, rtol=0.02)


@pytest.mark.parametrize("kind", ["white", "columns"])
def test_whole_numbers_of_an_instrument_are_no_counts(kind: str) -> None:
    assert pw.measure_noise(np.round(40.0 * table(kind)).clip(0.0)).kind == kind


@pytest.mark.parametrize(
    "X",
    [np.zeros((0, 5)), np.zeros((30, 20)), np.ones((30, 20)), np.outer(np.arange(30.0), np.ones(20)), np.ones((1, 1))],
    ids=["no rows", "zeros", "ones", "rank one", "a number"],
)
def test_nothing_but_signal(X: np.ndarray) -> None:
    noise = pw.measure_noise(X)
    assert noise.kind in ("none", "unclear")
    assert noise.row_scale.shape == (X.shape[0],)
    assert noise.column_scale.shape == (X.shape[1],)
    assert (noise.row_scale > 0.0).all()
    assert np.isfinite(noise.column_scale).all()


@pytest.mark.parametrize("shape", [(1, 50), (5, 5), (8, 300), (300, 9)])
def test_tiny_tables_are_unclear(shape: tuple[int, int]) -> None:
    X = np.random.default_rng(0).random(shape)
    assert pw.measure_noise(X).kind == "unclear"


@pytest.mark.parametrize("k", [80, 119, 120])
def test_too_little_beside_the_signal_is_unclear(k: int) -> None:
    assert pw.measure_noise(table("white"), k).kind == "unclear"


@pytest.mark.parametrize("k", [-1, 121, 2.5, True, "3"])
def test_dimensions_that_cannot_be(k: Any) -> None:
    with pytest.raises(InputError, match="k must be a whole number from 0 to 120"):
        pw.measure_noise(table("white"), k)


def test_missing_numbers_are_refused() -> None:
    X = table("white")
    X[3, 4] = np.nan
    with pytest.raises(InputError, match="row 3, column 4"):
        pw.measure_noise(X)


# --- words --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"kind": "over-dispersed", "phi": 0.03}, "looks like counting noise with 3% extra"),
        ({"kind": "none", "k": 3}, "there is no noise in this table: 3 parts explain it to the last digits"),
        ({"kind": "coloured", "colour": 3.9, "k": 4, "direction": "features"}, "between the features of a sample"),
        ({"kind": "coloured", "colour": 3.94, "k": 4}, "what 4 dimensions leave reaches 3.9 times as far"),
        ({"kind": "heavy-tailed", "tails": 0.012}, "a few entries far off (1.2% of them)"),
        ({"kind": "unclear"}, "unclear"),
        ({"clipped": 1200, "ceiling": 255.0, "clipped_features": (7, 3)}, "; readings end at 255: 1,200 entries are"),
        ({"clipped": 12, "ceiling": 0.5, "clipped_features": (7,)}, "entries are just that, most in feature 7"),
    ],
)
def test_words(changes: dict[str, Any], words: str) -> None:
    plain: dict[str, Any] = dict.fromkeys(("phi", "misfit", "tails"), 0.0) | {"colour": 1.0, "chance": 1.0}
    plain |= {"kind": "white", "direction": "", "k": 2, "looked_at": (300, 100)}
    noise = NoiseKind(**plain | {"clipped": 0, "ceiling": 0.0, "clipped_features": ()} | changes)
    assert words in str(noise)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_words(kind: str) -> None:
    noise = NoiseKind(kind, 0.0, 1.0, "", 1.0, 1.0, 0.0, 2, (300, 100), 0, 0.0, ())
    assert len(str(noise)) > 20


@seeds
@pytest.mark.parametrize("offset", [0.0, 60.0])
def test_whole_numbers_with_noise_of_one_size_are_no_counts(seed, offset):
    """Though its variance is the mean of the table, as that of counts is."""
    rng = np.random.default_rng(seed)
    X = offset + 60.0 * rng.dirichlet([0.7] * K, size=N) @ rng.gamma(2.0, size=(K, M)) / 2.0
    X = np.round(X + np.sqrt(X.mean()) * rng.standard_normal(X.shape)).clip(0.0)
    assert pw.measure_noise(X).kind == "white"


def test_a_source_is_looked_at_once(monkeypatch):
    """A fit, its manifest and its report ask for the same noise."""
    from partwise.noise import measuring

    looks = []
    real = measuring.draw
    monkeypatch.setattr(measuring, "draw", lambda *args: looks.append(1) or real(*args))
    source = pw.open_source(np.random.default_rng(0).random((60, 30)))
    noise = pw.measure_noise(source, 2)
    assert pw.measure_noise(source, 2) is noise
    assert measuring.name_noise(source, 2) is noise
    assert len(looks) == 1
    measuring.name_noise(source, 3)
    assert len(looks) == 2


def test_beside_a_huge_entry_there_is_noise_still():
    rng = np.random.default_rng(0)
    X = rng.poisson(50.0 * rng.gamma(0.5, size=(60, 3)) @ rng.gamma(0.5, size=(3, 20))).astype(float)
    X[3, 4] = 1e9
    assert pw.measure_noise(X).kind != "none"


def nearly_constant(seed: int, n: int, m: int, mean: float) -> tuple[np.ndarray, np.random.Generator]:
    """Means that hardly vary: of counts and of noise of one size the variances are the same."""
    rng = np.random.default_rng(seed)
    return mean * (1.0 + 0.05 * rng.random((n, 3)) @ rng.random((3, m))), rng


@pytest.mark.parametrize("size", [1.0, 1.6])
def test_where_means_hardly_vary_the_third_moment_tells_counts(size: float) -> None:
    S, rng = nearly_constant(0, 200, 150, 20.0)
    read = np.round(S + np.sqrt(size * 20.0) * rng.standard_normal(S.shape)).clip(0.0)
    counted = rng.poisson(S * rng.gamma(20.0 / (size - 1.0), (size - 1.0) / 20.0, S.shape) if size > 1.0 else S)
    assert pw.measure_noise(read).kind == "white"
    assert pw.measure_noise(counted.astype(float)).kind == ("over-dispersed" if size > 1.0 else "poisson")


@seeds
def test_whole_numbers_that_may_be_counts_or_not_are_unclear(seed: int) -> None:
    S, rng = nearly_constant(seed, 25, 30, 2000.0)
    assert pw.measure_noise(np.round(S + np.sqrt(2000.0) * rng.standard_normal(S.shape))).kind == "unclear"
    assert pw.measure_noise(rng.poisson(S).astype(float)).kind in ("unclear", "poisson")


@seeds
def test_noise_that_groups_of_features_share_is_not_white(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shared = np.repeat(rng.standard_normal((300, 20)), 5, axis=1)[:, rng.permutation(100)]
    noise = np.sqrt(0.6) * shared + np.sqrt(0.4) * rng.standard_normal((300, 100))
    assert pw.measure_noise(signal(rng, 300, 100) + 0.1 * noise).kind in ("coloured", "unclear")


def test_noise_through_a_lens_is_noise() -> None:
    """Blurred noise has no more than half as many dimensions, to six digits, but they have no end."""
    rng = np.random.default_rng(0)
    blur = np.exp(-0.5 * (np.arange(150)[:, None] - np.arange(150)) ** 2 / 9.0)
    assert pw.measure_noise(signal(rng, 120, 150) + 0.1 * rng.standard_normal((120, 150)) @ blur).kind != "none"


def lonely(seed: int) -> Any:
    """Counts in which some samples have one feature and no other, which no other sample has."""
    rng = np.random.default_rng(seed)
    X = rng.poisson(rng.gamma(0.3, 3.0, (400, 1)) * rng.gamma(0.3, 1.0, 900)).astype(float)
    alone = np.r_[np.arange(20), np.arange(20, 400, 40)]
    X[:, 0], X[alone] = 0.0, 0.0
    X[alone, 0] = 1.0 + np.arange(30)
    return X


@pytest.mark.parametrize("seed", range(3))
def test_scales_of_counts_that_no_scales_balance(seed: int) -> None:
    """Sinkhorn's iteration goes on for ever there, unless there is a floor: scales were from 1e-12 to 1e11."""
    X = lonely(seed)
    noise = pw.measure_noise(sp.csr_array(X))
    for scale in (noise.row_scale, noise.column_scale):
        assert scale.max() < 1e9 * scale.min()
    if noise.kind == "poisson":
        V = X + 1e-6 * X.mean()
        np.testing.assert_allclose(
            (V / noise.row_scale[:, None] ** 2 / noise.column_scale**2).mean(axis=0), 1.0, rtol=1e-6
        )


def test_the_part_of_a_very_sparse_table_that_is_looked_at_is_not_of_a_few_parts() -> None:
    """Half of its columns are empty: so it has half of the directions that it could have, and all that are filled."""
    X = np.zeros((600, 300))
    X[np.arange(140), np.arange(140)] = 1.0 + np.arange(140) % 5
    assert deciding.exact(X) is None
    assert deciding.exact(np.ones((600, 1)) * X[0]) is not None
