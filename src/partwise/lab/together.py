"""Several experiments at once, a process each: verdicts are on passes and processor time, and not on the clock."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import suppress
from pathlib import Path
from typing import Any

from partwise.lab.experiment import Experiment, Reproduction
from partwise.lab.registry import find_experiment
from partwise.lab.run import load_result, run_experiment


def run_together(
    wanted: Sequence[Experiment], folders: Sequence[Path], jobs: int, **how: Any
) -> Iterator[Reproduction]:
    """Run experiments of the registry in so many processes, and give each as it is done.

    Parameters
    ----------
    folders : sequence of Path
        Where the results of each are kept.
    jobs : int
        Processes, each with one thread.
    **how
        See :func:`partwise.lab.run_experiment`.

    Yields
    ------
    Reproduction
        In the order in which they end. If one fails, or Ctrl-C comes, the others are told to stop; what they have
        measured is kept.
    """
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=_one_thread) as pool:
        running = {
            pool.submit(_run, one.name, folder, how): (one, folder) for one, folder in zip(wanted, folders, strict=True)
        }
        try:
            for future in as_completed(running):
                future.result()
                yield load_result(*running[future])
        except BaseException:
            for future in running:
                future.cancel()
            for child in multiprocessing.active_children():
                with suppress(ProcessLookupError):
                    os.kill(child.pid or 0, signal.SIGINT)
            raise


def _one_thread() -> None:
    from threadpoolctl import threadpool_limits

    import partwise.linalg  # noqa: F401 - the libraries that are to be limited must be there

    threadpool_limits(1)
    os.environ["PARTWISE_NUM_THREADS"] = "1"


def _run(name: str, folder: Path, how: dict[str, Any]) -> None:
    run_experiment(find_experiment(name), folder, **how)
