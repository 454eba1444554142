"""The number of parts of incomplete data, by entries that are left out."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import partwise as pw
from partwise.belief.rank_entries import by_entries, entry_errors
from partwise.exceptions import InputError
from partwise.sources import MemorySource


def incomplete(k: int, seed: int = 0, unknown: float = 0.3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.gamma(0.5, size=(150, k)) @ rng.gamma(0.5, size=(k, 30))
    X = np.maximum(X + 0.05 * X.mean() * rng.standard_normal(X.shape), 0.0)
    return X, rng.random(X.shape) >= unknown


@pytest.mark.parametrize("k", [2, 5])
def test_the_number_of_parts_with_holes(k: int) -> None:
    X, known = incomplete(k)
    choice = pw.choose_k(np.where(known, X, np.nan), missing="nan")
    assert (choice.k, choice.basis, choice.verdict) == (k, "entries", "between")
    assert choice.low <= k <= choice.high
    assert "left out" in str(choice)
    held_out = [row.held_out for row in choice.table]
    assert len(held_out) > k
    assert min(held_out) <= held_out[k - 1] < 0.5 * held_out[k - 2]


def test_a_mask_nan_and_what_is_not_stored_say_the_same() -> None:
    X, known = incomplete(3)
    X += 1e-6  # a zero would be a hole
    choices = [
        pw.choose_k(np.where(known, X, np.nan), missing="nan"),
        pw.choose_k(X, mask=known),
        pw.choose_k(sp.csr_array(np.where(known, X, 0.0)), missing="zeros"),
    ]
    assert [choice.k for choice in choices] == [3, 3, 3]
    assert str(choices[0]) == str(choices[1])


def test_left_out_entries_are_not_seen() -> None:
    """What is left out of a fold may be anything without moving its fit: noise alone is not predicted."""
    noise = np.abs(np.random.default_rng(0).standard_normal((80, 20)))
    errors = entry_errors(MemorySource(noise), 4, seed=0).mean(axis=1)
    assert errors.argmin() == 0


def test_no_number_where_more_parts_are_always_better() -> None:
    choice = by_entries(np.array([[0.5, 0.5], [0.3, 0.31], [0.1, 0.11]]), 3)
    assert (choice.k, choice.low, choice.high, choice.verdict) == (None, 3, None, "undecided")
    X, known = incomplete(5)
    few = pw.choose_k(np.where(known, X, np.nan), missing="nan", most=2)
    assert few.k is None
    assert "cannot be told; at least 2. Entries that were left out are predicted best with 2, the most" in str(few)


def test_what_is_unknown_has_to_be_said() -> None:
    X, known = incomplete(2)
    with pytest.raises(InputError, match="NaN"):
        pw.choose_k(np.where(known, X, np.nan))
    with pytest.raises(InputError, match="missing must be None, 'nan' or 'zeros'"):
        pw.choose_k(X, missing="none")


def test_of_incomplete_data_no_noise_is_told_and_halves_are_refused() -> None:
    X, known = incomplete(2)
    X = np.where(known, X, np.nan)
    with pytest.raises(InputError, match="halves cannot be asked for where entries are unknown"):
        pw.choose_k(X, missing="nan", halves=True)
    choice = pw.choose_k(X, missing="nan", halves=False, most=1)
    assert choice.noise is None
    assert choice.facts()["noise"] is None


def test_what_fits_leave_of_exact_data_tells_nothing() -> None:
    """Errors far below the noise of any data are those of fits: more parts seemed to predict better."""
    errors = np.array([[0.2, 0.2], [4e-6, 4.1e-6], [5e-7, 4e-7], [6e-7, 7e-7]])
    assert by_entries(errors, 10).k == 2
    rng = np.random.default_rng(1)
    X = rng.gamma(0.5, size=(150, 3)) @ rng.gamma(0.5, size=(3, 30))
    assert pw.choose_k(np.where(rng.random(X.shape) < 0.8, X, np.nan), missing="nan").k == 3
