"""The one tree reduction."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from partwise.sources import add, pairwise_tree
from partwise.sources.protocol import MERGED_BYTES, merged


def level_by_level(values: list[str]) -> str:
    """The definition: neighbours are combined, level after level; what has none waits for the next."""
    while len(values) > 1:
        pairs = [join(a, b) for a, b in zip(values[::2], values[1::2], strict=False)]
        values = pairs + values[len(pairs) * 2 :]
    return values[0]


def join(a: str, b: str) -> str:
    return f"({a} {b})"


@pytest.mark.parametrize("n", range(1, 41))
def test_tree_is_the_level_by_level_definition(n: int) -> None:
    values = [str(i) for i in range(n)]
    assert pairwise_tree(iter(values), join) == level_by_level(values)


@pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 9, 31, 32, 33, 1000])
def test_tree_holds_few_partial_results(n: int) -> None:
    alive = most = 0

    def stream() -> Iterator[int]:
        nonlocal alive, most
        for i in range(n):
            alive += 1
            most = max(most, alive)
            yield i

    def combine(a: int, b: int) -> int:
        nonlocal alive
        alive -= 1
        return a + b

    assert pairwise_tree(stream(), combine) == n * (n - 1) // 2
    assert most <= np.log2(n) + 1


def test_tree_of_nothing_is_an_error() -> None:
    with pytest.raises(ValueError, match="nothing to combine"):
        pairwise_tree([], join)


def test_add_goes_into_tuples() -> None:
    total = add((1, np.array([1.0, 2.0]), (0.5, 2)), (2, np.array([10.0, 20.0]), (0.25, 3)))
    assert total[0] == 3
    np.testing.assert_array_equal(total[1], [11.0, 22.0])
    assert total[2] == (0.75, 5)
    with pytest.raises(ValueError, match="zip"):
        add((1, 2), (1,))


def test_add_makes_a_new_sum_unless_told() -> None:
    a, b = np.ones(3), np.full(3, 2.0)
    np.testing.assert_array_equal(add(a, b), [3.0, 3.0, 3.0])
    np.testing.assert_array_equal(a, np.ones(3))
    total = add((a, 1), (b, 2), into=True)
    assert total[0] is a
    assert total[1] == 3
    np.testing.assert_array_equal(a, [3.0, 3.0, 3.0])


@pytest.mark.parametrize(
    ("a", "b"),
    [(np.ones(4)[1:], np.ones(3)), (np.ones(3, np.float32), np.ones(3)), (np.ones(3, int), np.ones(3))],
    ids=["a-view", "less-precise", "integers"],
)
def test_add_into_memory_that_cannot_hold_the_sum_makes_a_new_one(a: Any, b: Any) -> None:
    np.testing.assert_array_equal(add(a, b, into=True), [2.0, 2.0, 2.0])
    np.testing.assert_array_equal(a, np.ones(3))


# --- merged blocks ------------------------------------------------------------------------------------------


def even(rows: int, count: int) -> list[tuple[int, int]]:
    return [(i * rows, (i + 1) * rows) for i in range(count)]


@pytest.mark.parametrize(
    ("bounds", "least", "runs"),
    [
        pytest.param(even(5, 4), 1, [[0], [1], [2], [3]], id="all-large-enough"),
        pytest.param(even(5, 4), 40, [[0], [1], [2], [3]], id="just-large-enough"),
        pytest.param(even(5, 4), 41, [[0, 1], [2, 3]], id="just-too-small"),
        pytest.param(even(5, 5), 41, [[0, 1], [2, 3], [4]], id="the-last-may-be-small"),
        pytest.param(even(5, 4), 1000, [[0, 1, 2, 3]], id="never-enough"),
        pytest.param([(0, 0)], 10, [[0]], id="no-rows"),
        pytest.param([(0, 0), (0, 9), (9, 9), (9, 9), (9, 10)], 10, [[0, 1], [2, 3, 4]], id="empty-blocks"),
        pytest.param([(0, 100), (100, 101), (101, 102), (102, 300)], 160, [[0], [1, 2, 3]], id="uneven"),
    ],
)
def test_merged_runs(bounds: list[tuple[int, int]], least: int, runs: list[list[int]]) -> None:
    assert merged(bounds, 8.0, least) == runs


@pytest.mark.parametrize("row_bytes", [0.0, 8.0, 4e6], ids=["no-width", "narrow", "wide"])
def test_merged_keeps_every_block_in_order(row_bytes: float) -> None:
    edges = np.cumsum(np.random.default_rng(0).integers(0, 4000, 60)).tolist()
    bounds = list(zip([0, *edges], edges, strict=False))
    runs = merged(bounds, row_bytes)
    assert [i for run in runs for i in run] == list(range(60))
    sizes = [row_bytes * sum(b - a for a, b in bounds[run[0] : run[-1] + 1]) for run in runs]
    assert all(size >= MERGED_BYTES for size in sizes[:-1])
