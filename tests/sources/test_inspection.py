"""What is said about flawed data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from partwise.exceptions import DegenerateDataWarning, InputError
from partwise.sources import MemorySource, inspect


def look(X: Any, block_rows: int = 2) -> Any:
    return inspect(MemorySource(X, block_rows=block_rows))


@pytest.mark.parametrize("form", [np.array, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf], ids=str)
@pytest.mark.parametrize("place", [(0, 0), (1, 2), (2, 0), (5, 2)], ids=str)
def test_the_first_flaw_is_found_wherever_it_is(form: Any, value: float, place: tuple[int, int]) -> None:
    X = np.ones((6, 3))
    X[5, 2] = X[place] = value
    found = look(form(X))
    count = 1 if place == (5, 2) else 2
    assert (found.n_bad, found.first_bad) == (count, place)
    message = f"Z contains {count} NaN or infinity value\\(s\\), the first in row {place[0]}, column {place[1]};"
    with pytest.raises(InputError, match=message):
        found.check(allow_negative=True, name="Z")


@pytest.mark.parametrize("form", [np.array, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("place", [(0, 0), (1, 2), (2, 0), (5, 2)], ids=str)
def test_negative_entries_are_an_error_only_where_forbidden(form: Any, place: tuple[int, int]) -> None:
    X = np.ones((6, 3))
    X[place] = -2.0
    found = look(form(X))
    found.check(allow_negative=True)
    with pytest.raises(InputError, match=f"X: 1, the first in row {place[0]}, column {place[1]}; .* X >= 0"):
        found.check(allow_negative=False)


def test_minus_zero_is_not_negative() -> None:
    found = look(np.array([[-0.0, 1.0], [1.0, -0.0]]))
    assert found.n_negative == 0


def test_stored_zeros_support_nothing() -> None:
    X = sp.csr_array((np.array([0.0, 1.0, 0.0]), np.array([1, 0, 2]), np.array([0, 1, 2, 3])), shape=(3, 3))
    found = look(X, block_rows=1)
    assert (found.stored, found.nonzero) == (3, 1)
    assert (found.zero_rows, found.first_zero_rows) == (2, (0, 2))
    assert (found.zero_columns, found.first_zero_columns) == (2, (1, 2))


def test_all_zero_rows_and_columns_are_listed() -> None:
    X = np.ones((6, 4))
    X[[1, 4]] = 0.0
    X[:, 2] = 0.0
    with pytest.warns(DegenerateDataWarning) as caught:
        look(X).warn("Z")
    message = str(caught[0].message)
    assert message.startswith("Z has 2 all-zero row(s): 1, 4 and 1 all-zero column(s): 2;")


def test_long_lists_are_cut() -> None:
    X = np.zeros((40, 30))
    X[39, 29] = 1.0
    found = look(X, block_rows=7)
    assert (found.zero_rows, found.zero_columns) == (39, 29)
    with pytest.warns(DegenerateDataWarning, match=r"39 all-zero row\(s\): 0, 1, .*, 9, \.\.\. and 29 all-zero"):
        found.warn()


def test_good_data_gives_no_warning() -> None:
    look(np.ones((3, 2))).warn()


@pytest.mark.parametrize("form", [np.array, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (3, 0)], ids=str)
def test_empty_and_tiny_data(form: Any, shape: tuple[int, int]) -> None:
    found = look(form(np.ones(shape)))
    assert found.shape == shape
    assert found.total == found.squared_norm == np.prod(shape)
    assert found.largest == float(np.prod(shape) > 0)


def test_nan_is_not_an_empty_row() -> None:
    found = look(np.array([[np.nan, np.nan], [1.0, 0.0]]))
    assert found.zero_rows == 0
    assert found.zero_columns == 0


@pytest.mark.parametrize("block_rows", [1, 2, 3, 100])
def test_any_partition_says_the_same(block_rows: int) -> None:
    X = np.random.default_rng(0).integers(-1, 3, (11, 5)).astype(float)
    assert look(X, block_rows) == look(X, 11)
