"""The state of a fit as a file: arrays and numbers by name, whatever the method is.

safetensors, with the numbers as JSON in its header; nothing in it can be executed.
"""

from __future__ import annotations

import errno
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import safe_open
from safetensors.numpy import save as to_safetensors

from partwise.algorithms.loop import Progress
from partwise.door.guard import fail, reading
from partwise.exceptions import InputError, warn_user
from partwise.io.atomic import write_atomically
from partwise.io.model import decode, encode
from partwise.outcomes import Stop
from partwise.runs.interrupt import Interrupt

CHECKPOINT = "checkpoint.safetensors"
KEY, SCHEMA = "partwise-state", 1
SHARE = 0.1  # of the time that may go into writing


def write_state(path: Path, state: Mapping[str, Any], note: Mapping[str, Any] | None = None) -> None:
    """Write a state; what was there is replaced at once, or stays.

    Parameters
    ----------
    state : mapping
        Arrays and numbers; anything else is refused by its name.
    note : mapping, optional
        What else is to be known of it, as JSON has it.
    """
    tensors: dict[str, Any] = {}
    values = {name: encode(_number_or_array(name, value), tensors, name) for name, value in state.items()}
    header = json.dumps({"schema": SCHEMA, "values": values, "note": dict(note or {})}, allow_nan=False)
    data = to_safetensors(tensors or {"empty": np.zeros(0)}, {KEY: header})
    write_atomically(path, lambda file: file.write(data))


def read_state(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read a state and its note; a `ReaderError` where there is none.

    Returns
    -------
    state, note : dict
        As they were written, every bit and the order of the arrays in memory too.
    """
    with reading(path, "checkpoint"), safe_open(str(path), framework="np") as file:
        header = json.loads((file.metadata() or {}).get(KEY, "null"))
        if not isinstance(header, dict) or header.get("schema") != SCHEMA:
            raise fail(path, "is no checkpoint of this version of partwise")
        tensors = {name: np.array(file.get_tensor(name)) for name in file.keys()}  # noqa: SIM118 - no mapping
        return {name: decode(node, tensors) for name, node in header["values"].items()}, dict(header["note"])


def _number_or_array(name: str, value: Any) -> Any:
    if hasattr(value, "shape") and not isinstance(value, (np.generic, np.ndarray)):  # rows on disk or with workers
        value = np.asarray(value[:])
    numbers = isinstance(value, (np.generic, np.ndarray)) and value.dtype.kind in "biuf"
    if numbers or isinstance(value, (bool, int, float)):
        return value
    raise InputError(
        f"{name} is a {type(value).__name__}: a state is made of numbers and arrays of them", parameter=name
    )


class Checkpoints:
    """A callback that writes the state of a fit every few seconds, and whenever Ctrl-C ends it.

    Writing takes no more than a tenth of the time: after a slow write the next one waits longer.

    Parameters
    ----------
    path : pathlib.Path
        The file.
    every : float
        Seconds between two writes.
    interrupt : Interrupt
        Whose Ctrl-C it turns into the end of the fit.
    last : int, optional
        The iteration that is the last one allowed: its state is written, so that more may be allowed later.
    """

    share = SHARE

    def __init__(self, path: Path, every: float, interrupt: Interrupt, *, last: int | None = None) -> None:
        self.path, self.every, self.interrupt, self.last = path, every, interrupt, last
        self._next = time.monotonic() + every

    def __call__(self, progress: Progress) -> Stop | None:
        """Look at the clock and for Ctrl-C."""
        if progress.stop is not None:  # the last one: there is nothing to go on with
            return None
        stop = self.interrupt.take()
        due = progress.n_iter == self.last or time.monotonic() >= self._next
        if progress.state and (stop or (progress.n_iter and due)):
            self.write(progress)
        return Stop("interrupted") if stop else None

    def write(self, progress: Progress) -> None:
        """Write it now; a fit does not end for want of a checkpoint, but for want of a place for all its results."""
        if not self.path.parent.is_dir():
            raise FileNotFoundError(errno.ENOENT, "the folder of the results was taken away", str(self.path.parent))
        begin = time.monotonic()
        try:
            write_state(self.path, progress.state, {"n_iter": progress.n_iter})
        except OSError as error:
            reason = error.strerror or error
            warn_user(f"there is no checkpoint: {self.path} cannot be written ({reason})")
            self.every = float("inf")
        now = time.monotonic()
        self._next = now + max(self.every, (now - begin) * (1.0 / self.share - 1.0))
