"""Fits that are watched: a bar in a notebook or a terminal."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from partwise.algorithms.loop import WATCHERS, Progress

PAUSE = 0.1  # seconds between two drawings
WIDTH = 24


@contextmanager
def show_progress(stream: Any = None) -> Iterator[None]:
    """Show how far every fit in the block has come: a bar in a notebook, a line in a terminal.

    The bar is full at ``max_iter`` iterations or, where that is earlier, when the residual is down at ``tol``, on a
    logarithmic scale. Where nobody looks (a stream that is no terminal) nothing is written. For a record use
    ``logging``: the logger ``"partwise"`` has the end of every fit at level INFO and every iteration at DEBUG.

    Parameters
    ----------
    stream : file, optional
        Where the line goes; standard error by default, unless this is a notebook. A stream that is given is written to
        whether or not it is a terminal.

    Yields
    ------
    None
        The block.

    Examples
    --------
    >>> import sys, partwise as pw
    >>> X = pw.datasets.make_topics(n_samples=100, n_features=30, n_components=3, random_state=0).X
    >>> with pw.show_progress():
    ...     model = pw.HALS(3).fit(X)
    """
    bar = _Bar(_notebook() if stream is None else None, stream)
    WATCHERS.append(bar)
    try:
        yield
    finally:
        WATCHERS.remove(bar)
        bar.end()


def share_done(first: float, now: float, tol: float) -> float:
    """How far a residual has come from the first one down to the tolerance, on a logarithmic scale."""
    if not now > tol > 0.0 or math.isinf(now):  # the start (NaN), or there already
        return 0.0
    whole = math.log(first / tol)
    return math.log(first / now) / whole if whole > 0.0 else 0.0


class _Bar:
    """A watcher that draws."""

    def __init__(self, display: Any, stream: Any) -> None:
        self.display, self.handle = display, None
        looked_at = stream is not None or (display is None and sys.stderr.isatty())
        self.stream = (stream or sys.stderr) if looked_at else None
        self.first = self.share = self.drawn = 0.0
        self.fits, self.text = 0, ""

    def __call__(self, now: Progress, max_iter: int, tol: float) -> None:
        if now.n_iter == 0 or self.fits == 0:
            self.fits, self.share, self.first = self.fits + 1, 0.0, 0.0
        self.first = self.first or (now.residual if math.isfinite(now.residual) else 0.0)
        by_residual = share_done(self.first, now.residual, tol) if self.first else 0.0
        done = bool(now.certified and now.residual <= tol) or now.n_iter >= max_iter or now.stop is not None
        self.share = 1.0 if done else min(1.0, max(self.share, now.n_iter / max_iter, by_residual))
        which = f"fit {self.fits}, " if self.fits > 1 else ""
        facts = f"objective {now.objective:.4g}, residual {now.residual:.2g}, {now.seconds:.1f} s"
        self.text = f"{which}iteration {now.n_iter}, {facts}"
        if done or time.monotonic() - self.drawn > PAUSE:
            self.draw()

    def draw(self) -> None:
        """The bar as it is now."""
        self.drawn = time.monotonic()
        if self.display is not None:
            page = f'<progress value="{self.share:.3f}" max="1"></progress> <code>{self.text}</code>'
            if self.handle is None:
                self.handle = self.display({"text/html": page, "text/plain": self.text}, raw=True, display_id=True)
            else:
                self.handle.update({"text/html": page, "text/plain": self.text}, raw=True)
        elif self.stream is not None:
            filled = round(WIDTH * self.share)
            self.stream.write(f"\r\x1b[K{'#' * filled}{'.' * (WIDTH - filled)} {self.text}")
            self.stream.flush()

    def end(self) -> None:
        """The last state stays."""
        if self.text:
            self.draw()
        if self.stream is not None and self.text:
            self.stream.write("\n")


def _notebook() -> Any:
    """What shows things in the notebook that this is; None elsewhere."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is None or not hasattr(shell, "kernel"):
        return None
    from IPython.display import display

    return display
