"""All conditions of the Dominant NMF model: the table is that of its parts, and what they do not take."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import partwise as pw
from partwise.datasets import add_gaussian_noise, make_dominant
from partwise.exceptions import InputError
from partwise.metrics import (
    DominantConstants,
    dominant_conditions,
    dominant_features,
    dominant_weights,
    heavy_noise,
    identifiability,
    normalize_factors,
    pure_records,
)
from tests.metrics.conditions.samples import FORMS, GOOD, draw_noise, found_numbers


class TestDominantConditions:
    H = np.array([[9.0, 0.0, 1.0], [0.0, 9.0, 1.0]])
    W = np.array([[2.0, 0.0], [0.0, 3.0], [1.0, 0.1], [0.0, 1.0]])

    def test_is_made_of_the_parts(self) -> None:
        N = draw_noise("gaussian", 4, 3, seed=0)
        found = dominant_conditions(self.H, self.W, N, eps4=0.3, rho=0.1, alpha=0.5, beta=0.2, delta=0.01)
        B, C, scales = normalize_factors(self.H, self.W)
        parts = [
            dominant_features(B, rho=0.1),
            dominant_weights(C, alpha=0.5, beta=0.2),
            pure_records(C, eps4=0.3),
            heavy_noise(N / scales[:, None], eps4=0.3),
            found.constants,
            identifiability(B, rho=0.1, eps4=0.3, delta=0.01),
        ]
        assert found_numbers(found) == pytest.approx([number for part in parts for number in found_numbers(part)])
        constants = found.constants
        assert (constants.p0, constants.w0, constants.eps0, constants.gamma) == (0.9, 0.5, 0.5, 0.9)

    def test_asked_constants_are_those_of_the_inequalities(self) -> None:
        asked = {"p0": 0.95, "w0": 0.4, "eps0": 0.3, "gamma": 0.5}
        found = dominant_conditions(self.H, self.W, **asked)
        assert {name: getattr(found.constants, name) for name in asked} == asked
        verdicts = {line.condition: line.holds for line in found.conditions}
        assert (verdicts["D1 p0"], verdicts["D2 w0"], verdicts["D3 eps0"]) == (False, True, False)

    def test_theorems(self) -> None:
        """A model that is nothing but pure records of disjoint components has all of it."""
        H, W = np.eye(2), np.eye(2).repeat(50, axis=0)
        tiny = 1e-9 * draw_noise("gaussian", 100, 2, seed=0)
        found = dominant_conditions(H, W, tiny, eps4=5e-4)
        assert (found.holds, found.theorem_1, found.theorem_2) == (True, True, True)
        assert dominant_conditions(H, W, eps4=5e-4).theorem_1 is None
        assert dominant_conditions(H, W, tiny, eps4=0.05).theorem_1 is False
        mixed = dominant_conditions(H, np.full((4, 2), 0.5), tiny[:4])
        assert (mixed.theorem_1, mixed.theorem_2) == (False, False)

    @pytest.mark.parametrize("normalize", ["rows", "common"])
    def test_scales_do_not_matter(self, normalize: Any) -> None:
        mixture = make_dominant(n_samples=60, n_features=40, n_components=4, random_state=0)
        H, W = mixture.components, mixture.weights
        N = draw_noise("gaussian", 60, 40, seed=1)
        s, c = np.array([1e-3, 1.0, 7.0, 1e4]), 123.0
        a = dominant_conditions(H, W, N, normalize=normalize, eps4=0.2)
        b = dominant_conditions(H * s[:, None], c * W / s, c * N, normalize=normalize, eps4=0.2)
        assert found_numbers(b) == pytest.approx(found_numbers(a), rel=1e-9)
        if normalize == "rows":
            lengths = np.random.default_rng(2).uniform(0.1, 10, (60, 1))
            b = dominant_conditions(H, lengths * W, lengths * N, eps4=0.2)
            assert found_numbers(b) == pytest.approx(found_numbers(a), rel=1e-9)

    @FORMS
    def test_fitted_model(self, form: Any) -> None:
        truth = make_dominant(n_samples=40, n_features=20, n_components=3, dominant_weight=0.5, random_state=0)
        X = add_gaussian_noise(truth, 0.3, clip=True, random_state=0).X
        model = pw.HALS(3, random_state=0).fit(X)
        W = pw.nnls(model.components_, X)
        expected = dominant_conditions(model.components_, W, X - W @ model.components_, eps4=0.1)
        found = dominant_conditions(model, X=form(X), noise=True, eps4=0.1)
        assert found_numbers(found) == pytest.approx(found_numbers(expected), rel=1e-6, abs=1e-12)
        assert dominant_conditions(model, X=form(X)).noise is None


H, W, X = [[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], np.ones((3, 2))


BAD: dict[str, tuple[Any, str]] = {
    "negative-H": (lambda: dominant_features([[1.0, -1.0]]), r"H.*row 0, column 1.*H >= 0"),
    "nan-H": (lambda: dominant_features([[1.0, 2.0], [np.nan, 1.0]]), r"H contains 1 NaN.*row 1, column 0"),
    "empty-H": (lambda: dominant_features(np.zeros((0, 3))), r"H has shape \(0, 3\)"),
    "rho": (lambda: dominant_features(H, rho=1.0), r"rho=1.0 must be in \[0, 1\)"),
    "gamma": (lambda: dominant_features(H, gamma=-0.1), r"gamma=-0.1 is a constant"),
    "p0": (lambda: dominant_features(H).least_rho(2.0), r"p0=2.0 is a constant"),
    "negative-W": (lambda: dominant_weights([[0.5, -0.5]]), r"W.*row 0, column 1.*W >= 0"),
    "beta": (lambda: dominant_weights(W, alpha=0.3, beta=0.4), r"beta=0.4 must be below alpha=0.3"),
    "columns": (lambda: dominant_weights(W, [[1.0, 1.0]]), r"W has 2 columns and H has 1 components"),
    "eps4-nan": (lambda: pure_records(W, eps4=float("nan")), r"eps4=nan is a constant"),
    "normalize": (lambda: pure_records(W, normalize="columns"), r"normalize='columns' is unknown"),
    "inf-noise": (lambda: heavy_noise([[1.0, np.inf]]), r"X contains 1 NaN or infinity.*row 0, column 1"),
    "empty-noise": (lambda: heavy_noise(np.zeros((3, 0))), r"X has shape \(3, 0\)"),
    "no-H": (lambda: heavy_noise(X, W), r"W is given without H"),
    "shape": (lambda: heavy_noise(X[:2], W, H), r"X has shape \(2, 2\) and W H has \(3, 2\)"),
    "eps4": (lambda: heavy_noise(X, eps4=1.5), r"eps4=1.5 is a constant"),
    "n_starts": (lambda: heavy_noise(X, n_starts=0), r"n_starts=0"),
    "delta": (lambda: identifiability(H, delta=-1.0), r"delta=-1.0 is a distance"),
    "w0": (lambda: DominantConstants(**GOOD | {"w0": 2.0}), r"w0=2.0 is a constant"),
    "no-weights": (lambda: dominant_conditions(H), r"W is missing"),
    "no-data": (lambda: dominant_conditions(H, W, noise=True), r"noise=True needs the data X"),
    "shape-N": (lambda: dominant_conditions(H, W, X[:, :1]), r"N has shape \(3, 1\) and W H has \(3, 2\)"),
}


@pytest.mark.parametrize(("call", "message"), BAD.values(), ids=BAD)
def test_bad_input(call: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()
