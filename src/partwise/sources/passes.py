"""One pass over blocks: a pool of threads for the blocks, one BLAS thread inside each.

BLAS's own threads and ours would fight for the cores (a product and a sweep took twice the sum of their
times), and a product split over BLAS threads need not give the same bits.  So blocks are the only
parallelism.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

from partwise.door.guard import check_room

T = TypeVar("T")
_inside = threading.local()


def n_threads() -> int:
    """Threads for a pass: ``PARTWISE_NUM_THREADS``, else the cores that this process may use."""
    wanted = os.environ.get("PARTWISE_NUM_THREADS", "")
    if wanted.isdigit() and int(wanted) > 0:
        return int(wanted)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@cache
def _pool(threads: int, pid: int) -> ThreadPoolExecutor:
    # pid: after a fork the parent's threads are gone, so a child makes its own pool
    return ThreadPoolExecutor(threads, thread_name_prefix="partwise")


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


class _Limit:
    """How many passes want one BLAS thread, and what gives BLAS its own back after the last."""

    lock = threading.Lock()
    holders = 0
    limiter: Any = None


def _forget_passes() -> None:
    """In a forked child the parent's passes are not running and its lock may be held for ever."""
    _Limit.lock = threading.Lock()
    _Limit.holders = 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_passes)


@contextmanager
def single_blas_thread() -> Iterator[None]:
    """One BLAS thread while any such context lasts, in whichever thread: BLAS has one setting a process."""
    with _Limit.lock:
        if _Limit.holders == 0:
            _Limit.limiter = _controller().limit(limits=1, user_api="blas")
        _Limit.holders += 1
    try:
        yield
    finally:
        with _Limit.lock:
            _Limit.holders -= 1
            if _Limit.holders == 0:
                _Limit.limiter.restore_original_limits()


def _task(fn: Callable[[int], T], i: int) -> T:
    _inside.active = True
    return fn(i)


def ordered(fn: Callable[[int], T], count: int) -> Generator[T]:
    """Yield ``fn(0), fn(1), ...`` in order, a few computed ahead in the pool.

    The window bounds the memory of results waiting for their turn.  If the consumer stops early (an error,
    Ctrl-C, ``close``) what has not begun is cancelled and what runs is waited for, so nothing writes into
    arrays afterwards.
    """
    check_room()
    threads = min(n_threads(), count)
    if threads <= 1 or getattr(_inside, "active", False):
        with single_blas_thread():
            for i in range(count):
                yield fn(i)
        return
    pool = _pool(n_threads(), os.getpid())
    waiting: deque[Future[T]] = deque()
    with single_blas_thread():
        try:
            for i in range(count):
                waiting.append(pool.submit(_task, fn, i))
                if len(waiting) > threads:
                    yield _next(waiting)
            while waiting:
                yield _next(waiting)
        finally:
            for future in waiting:
                future.cancel()
            for future in waiting:
                if not future.cancelled():
                    future.exception()


def _next(waiting: deque[Future[T]]) -> T:
    result = waiting[0].result()  # if Ctrl-C comes now the future is still known and will be waited for
    waiting.popleft()
    return result
