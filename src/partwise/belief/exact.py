"""How far parts can move where there is no noise: linear programs, every answer checked with the inverse itself.

Parts ``T H`` and weights ``W T^-1`` must not be negative. If one part moves alone, the conditions are linear in its row
of T and the program is exact. If all move, the conditions on the weights are linear in D for a small step
``T <- (I + D) T``, since ``(I + D)^-1 ~ I - D``; programs follow each other until nothing is gained. Only matrices that
meet all conditions with their true inverse are returned, so what is found can move (bounds from inside).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array, csr_array, hstack

from partwise.belief.span import Span
from partwise.linalg.lp import maximise

Array = npt.NDArray[Any]

# of a sample's total, or of a feature's largest value: what counts as not negative; ten times what HiGHS is asked for
TOLERANCE = 1e-9
SMALL = 1e-6  # of the largest sample or feature: smaller ones are taken as that large, for their digits are few
STEP, LARGEST_STEP, SMALLEST_STEP = 0.25, 0.5, 1e-8  # of an entry of D
STEPS = 40
GAIN = 1e-8  # of the largest value of the feature, below which a step is the last
ROWS = 300  # conditions of a program, for each of the two factors together; more are taken up when they are missed
LEAST_ROWS = 60  # of each part
LEAST_SIZE = 0.1  # of a row of weights or of a feature, relative to that of the fit
MOST_MIXED = 20.0  # times a part that its replacement may hold of another one
LEAST_LEFT = 0.05  # of a part that its replacement must hold: it is the same part, not another one in its place
ILL_CONDITIONED = 1e8
HALVINGS = 30


class Exact:
    """The matrices T for which nothing is negative, around the fit.

    Parameters
    ----------
    span : Span
        The fit.
    """

    def __init__(self, span: Span) -> None:
        self.k = span.k
        total, height = np.abs(span.weights).sum(axis=1), np.abs(span.parts).max(axis=0)
        # signs do not depend on the size of a sample or of a feature, but those of nearly nothing are rounding
        self.samples = span.weights / np.maximum(total, SMALL * total.max())[:, None]
        self.features = (span.parts / np.maximum(height, SMALL * height.max())).T
        self.own = max(0.0, -float(self.samples.min()), -float(self.features.min()))
        self.margin = 0.0

    @property
    def misfit(self) -> float:
        """The most negative value of the fit itself, relative to its sample or feature."""
        return self.own

    @property
    def tolerance(self) -> float:
        """What a matrix may miss the conditions by."""
        return TOLERANCE + self.margin

    @property
    def strict(self) -> bool:
        """Whether no more is allowed than rounding."""
        return self.margin == 0.0

    def base(self) -> Array:
        """Where the search begins: the fit, or one near it that is not negative; without one, its own is allowed."""
        if self.own <= TOLERANCE:
            return np.eye(self.k)
        found = self.repair(np.eye(self.k))
        if found is not None:
            return found
        self.margin = self.own
        return np.eye(self.k)

    def violation(self, T: Array) -> float:
        """The most negative value, beyond what is allowed."""
        if not np.linalg.cond(T) < ILL_CONDITIONED:
            return np.inf
        W, G = self.samples @ np.linalg.inv(T), self.features @ T.T
        return max(-float(W.min()), -float(G.min())) - self.tolerance

    def alone(self, i: int, direction: Array) -> Array:
        """The largest ``T[i] @ direction`` while the other parts stay: exact."""
        k, tolerance = self.k, self.margin
        T = np.eye(k)
        # w_j - w_i t_j / t_i >= -tolerance for every sample: bounds of t_j / t_i
        w = self.samples[:, i]
        above, below = w > TOLERANCE, w < -TOLERANCE
        most = ((self.samples[above] + tolerance) / w[above, None]).min(axis=0, initial=np.inf)
        least = ((self.samples[below] + tolerance) / w[below, None]).max(axis=0, initial=-np.inf)
        rows = [-self.features]
        for j in np.delete(np.arange(k), i):
            for bound, sign in ((most[j], 1.0), (least[j], -1.0)):
                if np.isfinite(bound):
                    row = np.zeros((1, k))
                    row[0, j], row[0, i] = sign, -sign * bound
                    rows.append(row)
        A = np.vstack(rows)
        b = np.zeros(len(A))
        b[: len(self.features)] = tolerance
        lower, upper = np.full(k, -MOST_MIXED), np.full(k, MOST_MIXED)
        lower[i] = LEAST_LEFT
        found = maximise(direction, A, b, lower, upper, A_eq=np.ones((1, k)), b_eq=np.ones(1))
        if found is None:
            return T
        T[i] = found
        return self._back(np.eye(k), T)

    def together(self, i: int, direction: Array, T: Array) -> Array:
        """The largest ``T[i] @ direction`` that is found from T while all parts may move."""
        found = self._programs(i, direction, T)
        return T if found is None else found

    def repair(self, T: Array) -> Array | None:
        """A matrix that meets all conditions, as found from one that does not; None if none is found."""
        return self._programs(0, np.zeros(self.k), T)

    def _programs(self, i: int, direction: Array, T: Array) -> Array | None:
        """Successive linear programs with a trust region; the best T that meets all conditions."""
        step = STEP
        missed: tuple[Array, Array] = np.zeros(self.samples.shape, bool), np.zeros(self.features.shape, bool)
        bad = self.violation(T)
        best = T if bad <= 0.0 else None
        for _ in range(STEPS):
            D = self._program(i, direction, T, step, missed)
            if D is None:
                break
            new = T + D @ T
            worse = self.violation(new)
            gain = float((new[i] - T[i]) @ direction)
            # of second order in the step: more than that is a step too far
            if worse > max(0.3 * step, bad) or new[i, i] < LEAST_LEFT:
                step /= 4.0
            else:
                T, bad = new, worse
                if bad <= 0.0:
                    if best is None or T[i] @ direction > best[i] @ direction:
                        best = T
                    if gain < GAIN:
                        break
                    if np.abs(D).max() > 0.9 * step:
                        step = min(2.0 * step, LARGEST_STEP)
                elif abs(gain) < GAIN and bad < TOLERANCE:
                    break
                elif bad > 0.05 * step:
                    step /= 2.0
                elif abs(gain) < 1e-4:
                    step = max(min(step / 4.0, 20.0 * bad), 100.0 * SMALLEST_STEP)
            if step < SMALLEST_STEP or np.abs(D).max() < SMALLEST_STEP**2:
                break
        return best

    def _program(self, i: int, direction: Array, T: Array, step: float, missed: tuple[Array, Array]) -> Array | None:
        """The best D of a step, or the one that repairs most: elastic, so there always is one."""
        k = self.k
        W, G = self.samples @ np.linalg.inv(T), self.features @ T.T
        # in the units of each row, but for rows of nearly nothing
        w_size, g_size = (np.maximum(np.abs(values).sum(axis=1, keepdims=True), LEAST_SIZE) for values in (W, G))
        W, G = W / w_size, G / g_size
        near = []
        for values, old in ((W, missed[0]), (G, missed[1])):
            old |= values < 0.0
            near.append(_lowest(values, 2.0 * step, max(LEAST_ROWS, ROWS // k)) | old)
        A, b = conditions(W, near[0], G, near[1])
        b += self.margin / np.concatenate([w_size[np.nonzero(near[0])[0], 0], g_size[np.nonzero(near[1])[0], 0]])
        repair = max(0.0, -float(b.min(initial=0.0)))
        gain = np.zeros((k, k))
        gain[i] = T @ direction
        found = maximise(
            np.append(gain.ravel(), -1e3),  # what must be repaired goes before what is gained
            hstack([A, csr_array(-np.ones((len(b), 1)))]).tocsr(),
            b,
            np.append(np.full(k * k, -step), 0.0),
            np.append(np.full(k * k, step), 1.01 * repair),
            A_eq=hstack([kept_sums(k), csr_array((k, 1))]).tocsr(),
            b_eq=np.zeros(k),
        )
        return None if found is None else found[:-1].reshape(k, k)

    def _back(self, T: Array, new: Array) -> Array:
        """The farthest matrix that meets all conditions on the way from T, which does, to the new one."""
        if self.violation(new) <= TOLERANCE:  # of HiGHS
            return new
        low, high = 0.0, 1.0
        for _ in range(HALVINGS):
            middle = (low + high) / 2.0
            low, high = (middle, high) if self.violation(T + middle * (new - T)) <= 0.0 else (low, middle)
        return T + low * (new - T)


def conditions(W: Array, near_w: Array, G: Array, near_g: Array) -> tuple[csr_array, Array]:
    """``W - W D >= 0`` and ``G + G D' >= 0`` (a feature a row) at some entries, as ``A d <= b`` in those of D."""
    k = W.shape[1]
    I = np.arange(k)
    r, j = np.nonzero(near_w)
    f, l = np.nonzero(near_g)
    columns = np.concatenate([(I * k + j[:, None]).ravel(), (l[:, None] * k + I).ravel()])
    values = np.concatenate([W[r].ravel(), -G[f].ravel()])
    n = len(r) + len(f)
    A = coo_array((values, (np.repeat(np.arange(n), k), columns)), shape=(n, k * k)).tocsr()
    return A, np.concatenate([W[r, j], G[f, l]])


def kept_sums(k: int) -> csr_array:
    """``D 1 = 0``: the sums of parts stay one."""
    ones = np.ones(k * k)
    return coo_array((ones, (np.repeat(np.arange(k), k), np.arange(k * k))), shape=(k, k * k)).tocsr()


def _lowest(values: Array, below: float, most: int) -> npt.NDArray[np.bool_]:
    """Entries of each column below a bound, and at most so many of them."""
    chosen = values < below
    if len(values) > most:
        chosen &= values <= np.partition(values, most, axis=0)[most]
    result: npt.NDArray[np.bool_] = chosen
    return result
