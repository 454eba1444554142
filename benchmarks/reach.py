"""Time to a relative error, for both HALS cases: find the iterations it takes, then time them in one call."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from .checks import relative_error
from .harness import Arrays, Outcome, Row, Run, Verify
from .peers import Factors, Peer
from .report import ratio, show

SEARCH_SHARE = 0.4  # of the timeout; the timed run needs about as much again


def search(peer: Peer, prepared: Any, data: Arrays, params: dict[str, Any]) -> tuple[int, float, Factors]:
    """Walk until the error is reached; give iterations, seconds spent and the last factors.

    Steps grow with the way gone, then the last one is taken again in tenths. Zero iterations: out of time.
    """
    X, W, H = data["X"], data["W0"], data["H0"]
    done, spent, stride, enough = 0, 0.0, 10, 0
    while spent < SEARCH_SHARE * params["timeout"]:
        begin = time.perf_counter()
        ahead = peer.advance(prepared, W, H, stride)
        spent += time.perf_counter() - begin
        if relative_error(X, *ahead) > params["target"]:
            (W, H), done = ahead, done + stride
            stride = stride if enough else max(10, done // 4)
        elif enough or stride == 1:
            return done + stride, spent, ahead
        else:
            stride, enough = max(1, stride // 10), done + stride
    return enough, spent, (W, H)


def peer_to_target(peer: Peer) -> Run:
    """Make a peer's timed run: all iterations in one call, from the common start."""

    def run(data: Arrays, params: dict[str, Any]) -> Outcome:
        X = data["X"]
        peer.advance(peer.prepare(X[:200]), data["W0"][:200], data["H0"], 2)
        prepared = peer.prepare(X)
        n_iter = params["known"].get("n_iter", 0)
        if not n_iter:
            n_iter, spent, (W, H) = search(peer, prepared, data, params)
            if not n_iter:
                return spent, {"W": W, "H": H}, {"n_iter": 0}
        # one call may end a rounding error above what the steps reached: then a little further
        for _ in range(4):
            begin = time.perf_counter()
            W, H = peer.advance(prepared, data["W0"], data["H0"], n_iter)
            seconds = time.perf_counter() - begin
            if relative_error(X, W, H) <= params["target"]:
                break
            n_iter += max(1, n_iter // 20)
        return seconds, {"W": W, "H": H}, {"n_iter": n_iter}

    return run


def ours(X: Any, start: Factors, n_iter: int, callbacks: Sequence[Any] = ()) -> tuple[Any, np.ndarray]:
    """Our fit from both factors with the stopping rule off; gives the estimator and the weights."""
    import partwise as pw

    model = pw.HALS(n_components=len(start[1]), init=start, max_iter=n_iter, tol=0.0, callbacks=list(callbacks))
    return model, model.fit_transform(X)


def ours_search(X: Any, start: Factors, params: dict[str, Any]) -> tuple[int, float, Factors]:
    """Like `search`, but in one fit that a callback ends: our iterations have a memory."""
    size = float(np.sqrt(X.data @ X.data)) if sp.issparse(X) else float(np.linalg.norm(X))
    goal = 0.5 * (params["target"] * size) ** 2
    reached: list[int] = []
    begin = time.perf_counter()

    def watch(progress: Any) -> bool:
        if progress.objective <= goal:
            reached.append(max(1, progress.n_iter))
        return bool(reached) or time.perf_counter() - begin > SEARCH_SHARE * params["timeout"]

    model, W = ours(X, start, 1_000_000, [watch])
    spent = time.perf_counter() - begin
    return reached[0] if reached else 0, spent, (W, model.components_)


def ours_to_target(dtype: type = np.float64) -> Run:
    """Make our timed run: the iterations that a longer fit needed, as a fit of their own."""

    def run(data: Arrays, params: dict[str, Any]) -> Outcome:
        X, W0, H0 = (data[name].astype(dtype) for name in ("X", "W0", "H0"))
        ours(X[:200], (W0[:200], H0), 2)
        n_iter = params["known"].get("n_iter", 0)
        if not n_iter:
            n_iter, spent, (W, H) = ours_search(X, (W0, H0), params)
            if not n_iter:
                return spent, {"W": W, "H": H}, {"n_iter": 0}
        for _ in range(4):
            begin = time.perf_counter()
            model, W = ours(X, (W0, H0), n_iter)
            seconds = time.perf_counter() - begin
            if relative_error(data["X"], W, model.components_) <= params["target"]:
                break
            n_iter += max(1, n_iter // 20)
        return seconds, {"W": W, "H": model.components_}, {"n_iter": n_iter}

    return run


def verifier(X: Any, target: float) -> Verify:
    """Recompute the error; a walk that ran out of time is final, and not repeated."""

    def verify(arrays: dict[str, Any], facts: dict[str, Any]) -> dict[str, Any]:
        error = relative_error(X, arrays["W"], arrays["H"])
        found: dict[str, Any] = {"error": error, "reached": error <= target}
        if facts.get("n_iter") == 0:
            found["status"] = f"not reached: error {error:.5f}"
        return found

    return verify


def table(title: str, rows: dict[str, Row]) -> None:
    """Print times to the target, ratios and errors."""
    lines = []
    for name, row in rows.items():
        ok = row.status == "ok"
        least = ">" if row.seconds and not ok else ""  # out of time: what it spent is a lower bound
        behind = "" if row.facts.get("reached", True) else " (target missed)"
        lines.append(
            [
                name,
                f"{least}{row.median:.3f}" if row.seconds else "-",
                f"{least}{ratio(rows, name):.2f}" if row.seconds else "-",
                str(row.facts["n_iter"]) if ok else "-",
                f"{row.facts['error']:.5f}{behind}" if ok else "-",
                row.note if ok else row.status,
            ]
        )
    show(title, ["contender", "seconds", "x partwise", "iterations", "relative error", "note"], lines)
