"""How a fit ended, in the library's words: ``stop_reason_`` and warnings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning

from partwise.exceptions import DegenerateDataWarning, Place, warn_user
from partwise.io.suspicions import suspicions
from partwise.io.table import Table
from partwise.outcomes import AVERAGE_ERROR, CHANGE, FIXED_POINT, GAP, KKT, Stop
from partwise.sources import RowSource

# by which the report knows that it has been told
CAME_OUT, NOT_WHITE = "came out negative", "what the components leave over is not white noise"
COLOUR_TOLD = 3.0  # counts have about 1.6; of generated scenes whose parts vary, on which white methods fail, all above
NAMED = 10  # of the samples that a warning is about
RESIDUALS = {
    KKT: "KKT residual",
    CHANGE: "change of the components",
    FIXED_POINT: "fixed-point residual",
    AVERAGE_ERROR: "average error",
    GAP: "relative gap",
}
REACHED = {
    KKT: "KKT residual {value:.3g} <= tol={tolerance:g}",
    CHANGE: "components changed by {value:.2g} <= tol={tolerance:g}",
    FIXED_POINT: "fixed-point residual {value:.3g} <= tol={tolerance:g}",
    AVERAGE_ERROR: "average error {value:.3g} <= tol={tolerance:g}",
    GAP: "relative gap {value:.3g} <= tol={tolerance:g}",
}
# by kind, and by kind and cause where that says more
SENTENCES = {
    "settled": "no further change is possible",
    "settled/cone": "all samples lie in the cone of {records:.0f} of them",
    "settled/zero": "the data is zero",
    "settled/change": "exact steps still change the components by {value:.3g}, no longer by less",
    "settled/nothing-to-refine": "there is nothing to refine",
    "settled/noiseless": "there is no noise to average out",
    "floor/threshold": "the threshold reached its floor, {value:.2g} of the largest weight",
    "floor/noise": "the threshold reached the noise in the weights, {value:.2g}",
    "floor/sampling": "the fixed-point residual {value:.3g} is the sampling error of {samples:.0f} samples; the "
    "updates of the last {averaged:.0f} iterations were averaged",
    "floor/batches": "the smoothed cost of a sample, {value:.4g}, has not fallen for {batches:.0f} batches",
    "done": "all steps are done",
    "done/thresholds": "the sequence of thresholds ended",
    "max_iter": "max_iter={n_iter} reached",
    "max_iter/lloyd": "Lloyd's algorithm was stopped at max_iter={value:.0f} before all records had settled",
    "passes": "{value:.0f} passes done",
    "stalled/flat": "the objective fell by less than {fall:g} of itself over {rounds:.0f} iterations; the {residual} "
    "is {value:.3g}",
    "stalled": "the {residual} {value:.3g} has stopped falling",
    "diverged": "the components are not finite",
    "diverged/step": "stopped, the next components are not finite; use a smaller step",
    "diverged/step_size": "the components are not finite; use a smaller step_size",
    "diverged/eta": "the components are not finite; use a smaller eta",
    "degenerate": "no further step is possible",
    "degenerate/merged": "two components fell together; the stage before is kept",
    "degenerate/constant-weights": "the weights of the start are the same in all samples: there is no covariance to "
    "follow",
    "degenerate/dependent": "stopped, the next components could not be decoded: they depend linearly on each other",
    "degenerate/collapsed": "stopped, the components come to depend on each other (norm of their inverse {norm:.3g}, "
    "{first_norm:.3g} at the start): weights that are not independent, such as shares of a whole, do that",
    "degenerate/emptied": "the penalties have emptied the model: no part is left",
    "degenerate/emptied-at": "the penalties have emptied the model: no part is left; at {factor:.2g} times these "
    "penalties and below, a part along the largest singular vectors explains more than it costs",
    "callback": "stopped by a callback",
    "time": "the limit of {tolerance:g} s came first",
    "interrupted": "interrupted by the user after iteration {n_iter}",
    "running": "on the way",
}
ADVICE = {
    "max_iter/lloyd": "raise max_iter",
    "degenerate/merged": "give more samples, fewer components or another init",
    "degenerate/collapsed": "use Facets",
    "degenerate/emptied": "lower the penalties",
    "degenerate/emptied-at": "lower l1_W, l2_W, l1_H and l2_H",
}


def warn_suspect(table: Table, source: RowSource, *, counting: bool, preparation: str) -> None:
    """Warn of what is surely a mistake of a first try: logarithms for counts, labels and ids among the features."""
    found = suspicions(table, source, counting=counting, preparation=preparation, sure=True)
    told = "; ".join(one.told({"transpose": "X.T"}) for one in found)
    if told:
        warn_user(DegenerateDataWarning(told, parameter="X", kind="suspect"))


def reason(stop: Stop) -> str:
    """Why a fit ended, as a sentence without a full stop.

    Examples
    --------
    >>> reason(Stop("converged", 2e-6, 1e-5, measure="kkt"))
    'KKT residual 2e-06 <= tol=1e-05'
    >>> reason(Stop("max_iter", n_iter=20))
    'max_iter=20 reached'
    """
    template = REACHED.get(stop.measure, "converged") if stop.kind == "converged" else _by_cause(SENTENCES, stop)
    facts = {"residual": RESIDUALS.get(stop.measure, "residual"), **stop.details}
    try:
        told = template.format(value=stop.value, tolerance=stop.tolerance, n_iter=stop.n_iter, **facts)
    except KeyError:  # of a file that leaves out what its cause goes with
        told = f"it ended ({stop.kind})"
    return told if stop.before is None else f"{reason(stop.before)}; then {told}"


def advice(stop: Stop) -> str:
    """What to do about it; empty where there is nothing to say."""
    return _by_cause(ADVICE, stop, "")


def warn(stop: Stop, name: str, *, tol: float = 0.0) -> None:
    """Warn if a fit did not end by itself or on demand; the warning carries the stop.

    Parameters
    ----------
    tol : float, default=0
        Its tolerance; with 0 nobody expects it to end before ``max_iter``.
    """
    told: Any
    hint = advice(stop)
    if stop.kind == "interrupted":
        told = RuntimeWarning(f"{reason(stop)}; the best components so far are kept")
    elif stop.kind == "max_iter" and not stop.cause:
        if tol <= 0.0:
            return
        above = "" if stop.value <= tol else f" > tol={tol:g}"
        text = f"{name} stopped at max_iter={stop.n_iter} with a {RESIDUALS.get(stop.measure, 'residual')} of "
        told = ConvergenceWarning(f"{text}{stop.value:.3g}{above}; raise max_iter or tol")
    elif stop.kind in ("degenerate", "diverged") or hint:
        text = f"{name}: {reason(stop)}" + (f"; {hint}" if hint else "")
        depend = stop.cause in ("dependent", "collapsed")
        told = DegenerateDataWarning(text, kind="dependent") if depend else ConvergenceWarning(text)
    else:
        return
    told.stop = stop
    warn_user(told)


def warn_of_colour(colour: float, name: str) -> None:
    """Warn of noise that is far from white, by a method that lives by its size."""
    if colour > COLOUR_TOLD:
        text = (
            f"{name}: {NOT_WHITE}: along its strongest direction it is {colour:.1f} times as large as that would be. "
            "Parts vary from sample to sample, or one more is in the data; hold the components against those of "
            "Archetypes, which is made for it"
        )
        warn_user(DegenerateDataWarning(text, kind="coloured"))


def warn_of_signs(below: npt.NDArray[Any], cost: float, name: str) -> None:
    """Warn of components of non-negative data that came out negative, and were fitted anew or kept.

    Parameters
    ----------
    below : ndarray of shape (n_components,)
        Share of the squared size of each that was below zero.
    cost : float
        What the constraint has added to the reconstruction error; NaN if they were kept as they are.
    """
    worst = int(np.argmax(below))
    outcome = "They are kept as they are"
    if not np.isnan(cost):
        outcome = "All components were fitted anew without negative entries, which changes the reconstruction error by "
        outcome += f"{cost:+.2g}"
    text = (
        f"{name}: component {worst} {CAME_OUT} ({below[worst]:.1%} of its squared size), and the data has no negative "
        f"entries: noise, or parts that vary from sample to sample, misled it. {outcome}; do not trust them without a "
        "look, and try Archetypes"
    )
    warn_user(DegenerateDataWarning(text, kind="negative-part"))


def samples(numbers: Sequence[int] | npt.NDArray[np.int64]) -> str:
    """Samples by their numbers, the first ones."""
    few = ", ".join(map(str, numbers[:NAMED]))
    more = f" and {len(numbers) - NAMED} more" if len(numbers) > NAMED else ""
    return f"sample{'' if len(numbers) == 1 else 's'} {few}{more}"


def warn_odd(odd: npt.NDArray[np.int64], name: str) -> None:
    """Warn of samples that were set aside; the warning carries their numbers."""
    if not len(odd):
        return
    one = len(odd) == 1
    text = f"{name}: {samples(odd)} {'is' if one else 'are'} unlike all others and "
    text += f"{'was' if one else 'were'} set aside: no part is made of {'it' if one else 'them'} (odd_samples_)"
    told: Any = DegenerateDataWarning(text, parameter="X", kind="odd", place=Place(row=int(odd[0])))
    told.odd = odd
    warn_user(told)


def _by_cause(words: dict[str, str], stop: Stop, default: str = "it ended") -> str:
    return words.get(f"{stop.kind}/{stop.cause}", words.get(stop.kind, default))
