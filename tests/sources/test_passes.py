"""One pass: results in order, errors and Ctrl-C come through, nothing runs on afterwards."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from partwise.sources import MemorySource
from partwise.sources.passes import n_threads, ordered, single_blas_thread


@pytest.fixture(params=["1", "2", "3"], ids=lambda threads: f"{threads}-threads")
def threads(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setenv("PARTWISE_NUM_THREADS", request.param)
    return int(request.param)


@pytest.mark.parametrize("count", [0, 1, 2, 20])
def test_results_come_in_order(threads: int, count: int) -> None:
    def slow_at_first(i: int) -> int:
        time.sleep(0.005 if i % 3 == 0 else 0.0)
        return i * i

    assert list(ordered(slow_at_first, count)) == [i * i for i in range(count)]


def test_little_is_computed_ahead(threads: int) -> None:
    begun: list[int] = []
    results = ordered(lambda i: begun.append(i), 50)
    next(results)
    time.sleep(0.02)
    assert len(begun) <= threads + 1
    results.close()
    time.sleep(0.02)
    assert len(begun) <= threads + 1


@pytest.mark.parametrize("kind", [RuntimeError, KeyboardInterrupt], ids=lambda kind: kind.__name__)
def test_what_a_block_raises_comes_through_and_the_rest_is_cancelled(threads: int, kind: type[BaseException]) -> None:
    begun: list[int] = []
    running = threading.Semaphore(0)

    def fail_at_three(i: int) -> int:
        begun.append(i)
        if i == 3:
            raise kind("block three")
        running.release()
        return i

    with pytest.raises(kind, match="block three"):
        list(ordered(fail_at_three, 100))
    after = len(begun)
    assert after <= 3 + threads + 1
    time.sleep(0.02)
    assert len(begun) == after


@pytest.mark.parametrize("kind", [RuntimeError, KeyboardInterrupt], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("verb", ["reduce", "map_rows"])
def test_what_combining_raises_ends_the_pass(threads: int, verb: str, kind: type[BaseException]) -> None:
    begun: list[int] = []
    ended: list[int] = []

    def block(X: np.ndarray) -> tuple[np.ndarray, int] | int:
        begun.append(1)
        time.sleep(0.002)
        ended.append(1)
        return (X[:, 0], 1) if verb == "map_rows" else 1

    def combine(a: int, b: int) -> int:
        raise kind("combining")

    source = MemorySource(np.ones((40, 2)), block_rows=1)
    passes: dict[str, Callable[[], object]] = {
        "reduce": lambda: source.reduce(block, combine=combine),
        "map_rows": lambda: source.map_rows(block, width=None, combine=combine),
    }
    # the traceback keeps every frame of the pass alive, and still nothing may run on
    with pytest.raises(kind, match="combining") as caught:
        passes[verb]()
    assert len(begun) == len(ended) < 10
    time.sleep(0.02)
    assert len(begun) == len(ended) < 10
    assert caught.tb is not None


def test_ctrl_c_while_waiting_waits_for_the_running_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARTWISE_NUM_THREADS", "2")
    begun, ended = threading.Event(), []

    def slow(i: int) -> int:
        begun.set()
        time.sleep(0.05)
        ended.append(i)
        return i

    def interrupted(self: object, timeout: float | None = None) -> int:
        begun.wait()
        raise KeyboardInterrupt

    results = ordered(slow, 10)
    with monkeypatch.context() as patch:
        patch.setattr("concurrent.futures.Future.result", interrupted)
        with pytest.raises(KeyboardInterrupt):
            next(results)
    count = len(ended)
    assert count >= 1
    time.sleep(0.1)
    assert len(ended) == count


def test_a_pass_inside_a_block_does_not_wait_for_itself(threads: int) -> None:
    def nested(i: int) -> int:
        return sum(ordered(lambda j: sum(ordered(lambda l: i * j * l, 4)), 5))

    assert list(ordered(nested, 8)) == [i * 10 * 6 for i in range(8)]


@pytest.mark.parametrize(("setting", "expected"), [("3", 3), ("", None), ("0", None), ("many", None)])
def test_number_of_threads(monkeypatch: pytest.MonkeyPatch, setting: str, expected: int | None) -> None:
    monkeypatch.setenv("PARTWISE_NUM_THREADS", setting)
    assert n_threads() == expected if expected else n_threads() >= 1


def blas_threads() -> set[int]:
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


@pytest.fixture
def two_blas_threads() -> Iterator[None]:
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=2, user_api="blas"):
        if blas_threads() != {2}:
            pytest.skip("this BLAS has one thread only")
        yield


@pytest.mark.usefixtures("two_blas_threads")
def test_blas_has_one_thread_until_the_last_pass_ends() -> None:
    first, second = single_blas_thread(), single_blas_thread()
    first.__enter__()
    second.__enter__()
    assert blas_threads() == {1}
    first.__exit__(None, None, None)
    assert blas_threads() == {1}, "the other pass is still running"
    second.__exit__(None, None, None)
    assert blas_threads() == {2}


@pytest.mark.usefixtures("two_blas_threads")
def test_a_pass_gives_blas_its_threads_back_even_if_abandoned(threads: int) -> None:
    results = ordered(lambda i: i, 10)
    next(results)
    assert blas_threads() == {1}
    results.close()
    assert blas_threads() == {2}
