"""What the report tells, as small arrays: no formatting here, and no data there."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.algorithms.monitor import COLUMN, fall
from partwise.belief import Bands, Verdict, Verdicts
from partwise.estimators.telling import RESIDUALS
from partwise.noise import NoiseKind, name_noise
from partwise.outcomes import Stop
from partwise.report.naming import shown
from partwise.report.rows import Rows, Selected, pass_over
from partwise.sources import RowSource, blocks

Array = npt.NDArray[Any]
Curve = tuple[str, Array, Array]  # name, iterations (or samples learnt), positive values

WATCHED = ("E_s", "potential", "decoding", "alpha")  # of what is recorded between halves
TOP = 10  # features of a part: as for lists of top words
EACH_SIGN = 3  # of them that are positive, and that are negative, if there are so many
MAP_ROWS = 360  # of the map of weights; a choice between detail and the size of the page
# of a part's largest entry, below which negative ones mean nothing: above the rounding of float32, 1e-7
ROUNDING = 1e-5
REDUNDANT = 0.95  # cosine between two parts that say nearly the same: 18 degrees, a tenth of the square differs
CURVE_POINTS = 300  # of a curve; a choice between detail and the size of the page


@dataclass(frozen=True)
class Course:
    """How a fit went; what the estimator does not tell is None."""

    n_iter: int | None
    learnt: int | None  # samples in all, where a method takes them one by one
    seconds: float | None
    converged: bool | None
    stop: Stop | None
    wanted: bool  # whether convergence was asked for
    residual: float | None
    residual_name: str
    curves: tuple[Curve, ...]


@dataclass(frozen=True)
class Agreement:
    """What two halves of the samples say of the fit; parts are ordered as the others are."""

    first: float  # |E|_s between the halves at the start, when both had come to their end,
    last: float
    rate: float  # and the factor of an iteration on the way down; NaN if there is none
    errors: Array  # of the parts, as samples and noise leave them
    agree: npt.NDArray[np.bool_]
    curves: tuple[Curve, ...]


@dataclass(frozen=True)
class Support:
    """What Archetypes says of its own parts, which are ordered as the others are."""

    mass: Array  # share of each in the samples, as directions
    moved: Array  # how far each moved when the trimming was narrowed, in angles to its neighbour
    rival: float  # how much larger the objective of the best other parts is, relatively
    refined: bool = False  # whether the parts are those of the smallest simplex
    pure: bool = False  # whether a single part explains each sample up to noise
    unlike: float = 0.0  # share of the samples that are like none of the parts


@dataclass(frozen=True)
class Signs:
    """Parts of data without negative entries that had some, until they were fitted anew."""

    below: Array  # share of each part's squared size that was below zero, ordered as the others are
    cost: float  # what that has added to the relative error


@dataclass(frozen=True)
class Facts:
    """The numbers of a report; parts are ordered by their share, and all arrays with them.

    Attributes
    ----------
    method, settings : str
        Name of the estimator, and the call that makes one with the same parameters.
    about_method : str
        A line about it.
    preparation : str
        What the model does to data before it looks at it: the units of everything here.
    weighing : str
        Kind of the noise that was made one before parts were sought; empty if the data was taken as it is.
    shape : tuple of int
        Number of samples and of features.
    order : ndarray of shape (n_components,)
        Which row of ``components_`` each part is.
    components : ndarray of shape (n_components, n_features)
        The components in this order; negative entries that are rounding alone are zero.
    shares, dominant : ndarray of shape (n_components,)
        Share of each part in the mass of the model, and number of samples in which it has most mass.
    dead : ndarray of bool
        Parts that are zero or that no sample uses.
    top : ndarray of shape (n_components, n_top)
        Features of largest magnitude, the largest first; see :func:`top_features` for parts with signs.
    similarity : ndarray of shape (n_components, n_components)
        Cosines; 0 for a part that is zero.
    redundant : list of (int, int)
        Pairs of parts with a cosine above 0.95, the most similar first.
    unexplained : float
        Squared norm of the residual relative to that of the data.
    rows : Rows
        What is known about the samples; here the parts have the estimator's order.
    best : tuple of Selected
        The samples that show each part best.
    weights_map : ndarray of shape (at most 360, n_components)
        Shares of the parts in samples, ordered by their dominant part; means of neighbours where they are many.
    course : Course
        How the fit went.
    agreement : Agreement or None
        What two halves of the samples say of it, if they were asked.
    support : Support or None
        What the method says of how far to trust the parts, if it does.
    signs : Signs or None
        Which parts came out negative though the data is not, if any did.
    colour : float
        By how much the noise is from white (1), where the method has measured it.
    unknown : float
        Share of the entries that were not known, and are those of the parts.
    noise : NoiseKind or None
        What lies outside as many dimensions as there are parts looks like.
    odd : ndarray of int
        Samples that were set aside because they are unlike all others.
    scattering : str
        Whether the weights are scattered enough for the parts to be unique, where the method says so.
    verdicts : tuple of Verdict
        What `judge` says of the parts, if it was asked.
    bands : tuple of ndarray or None
        Lower and upper ends of the bands around the parts, if they were computed.
    decided : tuple of (str, str)
        What a model that decides by itself has decided, and why.
    """

    method: str
    settings: str
    about_method: str
    preparation: str
    weighing: str
    shape: tuple[int, int]
    order: Array
    components: Array
    shares: Array
    dominant: Array
    dead: npt.NDArray[np.bool_]
    top: Array
    similarity: Array
    redundant: list[tuple[int, int]]
    unexplained: float
    rows: Rows
    best: tuple[Selected, ...]
    weights_map: Array
    course: Course
    agreement: Agreement | None = None
    support: Support | None = None
    signs: Signs | None = None
    colour: float = 1.0
    noise: NoiseKind | None = None
    unknown: float = 0.0
    odd: Array = field(default_factory=lambda: np.zeros(0, int))
    scattering: str = ""
    verdicts: tuple[Verdict, ...] = ()
    bands: tuple[Array, Array] | None = None
    decided: tuple[tuple[str, str], ...] = ()
    names: tuple[str, ...] = ()

    def part(self, number: int) -> str:
        """What a part is called."""
        return shown(self.names[number]) if self.names else f"Part {number + 1}"

    @property
    def signed(self) -> bool:
        """Whether components have negative entries."""
        return bool((self.components < 0.0).any())

    @property
    def relative_error(self) -> float:
        """Norm of the residual relative to that of the data."""
        return float(np.sqrt(self.unexplained))


def gather(
    model: Any,
    source: RowSource,
    weights: Any = None,
    *,
    unknown: float = 0.0,
    verdicts: Verdicts | None = None,
    bands: Bands | None = None,
    scores: Any = None,
) -> Facts:
    """Everything a report tells: one pass over the data, and one look at its noise.

    Parameters
    ----------
    model : estimator
        Fitted.
    source : RowSource
        The data, prepared as the model has it.
    weights : array of shape (n_samples, n_components), optional
        Weights of the samples; by default computed block by block.
    unknown : float, default=0
        Share of the entries of the data that were not known, and are those of the parts.
    bands : Bands, optional
        How far its parts can move.
    scores : array of shape (n_components, n_features), optional
        What features are ranked by; by default their size.
    """
    verdicts = getattr(model, "verdicts_", None) if verdicts is None else verdicts
    rows = pass_over(source, model, weights)
    H = np.asarray(model.components_, np.float64)
    order = np.arange(len(H))  # that of the model: a part has one number everywhere
    H, mass = without_rounding(H[order]), rows.mass[order]
    similarity = cosines(H)
    inner = getattr(model, "estimator_", model)  # what knows how the fit went
    return Facts(
        method=type(model).__name__,
        decided=tuple(getattr(model, "decisions", dict)().items()),
        settings=settings(model),
        about_method=(inspect.getdoc(type(model)) or "").partition("\n")[0],
        preparation=model.preparation_.kind,
        weighing="" if model.weighing_.column_scale is None else model.weighing_.kind,
        shape=source.shape,
        order=order,
        names=tuple(model.part_names_),
        components=H,
        shares=mass / (mass.sum() or 1.0),
        dominant=rows.dominant[order],
        dead=mass == 0.0,
        top=top_features(H if scores is None else np.asarray(scores, np.float64)),
        similarity=similarity,
        redundant=similar_pairs(similarity, REDUNDANT),
        unexplained=_unexplained(model, rows, unknown),
        rows=rows,
        best=tuple(rows.best[j] for j in order),
        weights_map=weights_map(rows.shares[:, order]),
        course=course(inner),
        agreement=agreement(inner, order),
        support=support(inner, order),
        signs=signs(inner, order),
        colour=float(getattr(inner, "colour_", 1.0)),
        noise=None if unknown else noise_of(model, source),
        unknown=unknown,
        odd=_odd(inner, source),
        scattering=str(getattr(inner, "scattering_", "")),
        verdicts=() if verdicts is None else tuple(verdicts[int(i)] for i in order),
        bands=None if bands is None else tuple(end[order] for end in bands.interval()),  # type: ignore[arg-type]
    )


def noise_of(model: Any, source: RowSource) -> NoiseKind:
    """What lies outside as many dimensions as there are parts: as the model has measured it, or measured now."""
    known = getattr(model, "noise_", None)
    return known if isinstance(known, NoiseKind) else name_noise(source, min(len(model.components_), *source.shape))


def _unexplained(model: Any, rows: Rows, unknown: float) -> float:
    """The share of the squared norm that is left over; of data with holes that of the fit, over known entries."""
    if unknown:
        return float(model.reconstruction_error_) ** 2
    return rows.left / rows.norm if rows.norm > 0.0 else 0.0


def without_rounding(H: Array) -> Array:
    """Zero in place of negative entries that are rounding alone: they would make all parts look signed."""
    least = ROUNDING * np.abs(H).max(axis=1, keepdims=True)
    result: Array = np.where((H < 0.0) & (-least < H), 0.0, H)
    return result


def top_features(H: Array, most: int = TOP) -> Array:
    """The features of largest magnitude; with signs, some of each sign, from the highest to the lowest."""
    ranked = np.argsort(-np.abs(H), axis=1, kind="stable")
    most = min(most, H.shape[1])
    if not (H < 0.0).any():
        return ranked[:, :most]
    top = np.empty((len(H), most), ranked.dtype)
    for h, row, chosen in zip(H, ranked, top, strict=True):
        down, up = row[h[row] < 0.0], row[h[row] >= 0.0]
        wanted = int(np.clip((h[row[:most]] < 0.0).sum(), min(EACH_SIGN, most // 2), most - min(EACH_SIGN, most // 2)))
        lowest = min(len(down), max(wanted, most - len(up)))
        chosen[:] = np.concatenate([up[: most - lowest], down[:lowest][::-1]])
    return top


def cosines(H: Array) -> Array:
    """Cosines between the rows; a zero row has cosine 0 with every other."""
    lengths = blocks.norms(H)
    U = H / np.where(lengths > 0.0, lengths, 1.0)[:, None]
    return np.clip(U @ U.T, -1.0, 1.0)


def similar_pairs(similarity: Array, least: float, most: int | None = None) -> list[tuple[int, int]]:
    """Pairs of different parts with a cosine above `least`, the most similar first."""
    i, j = np.triu_indices(len(similarity), 1)
    values = similarity[i, j]
    chosen = np.argsort(-values, kind="stable")[:most]
    return [(int(i[c]), int(j[c])) for c in chosen if values[c] > least]


def weights_map(shares: Array, most: int = MAP_ROWS) -> Array:
    """Samples ordered by their dominant part, purest first; means of neighbours where they are more than `most`."""
    used = shares[shares.any(axis=1)]
    dominant = used.argmax(axis=1)
    ordered = used[np.lexsort((-used.max(axis=1, initial=0.0), dominant))]
    if len(ordered) <= most:
        return ordered
    edges = np.linspace(0, len(ordered), most + 1).round().astype(int)[:-1]
    sums = np.add.reduceat(ordered, edges, axis=0, dtype=np.float64)
    means: Array = sums / np.diff(np.append(edges, len(ordered)))[:, None]
    return means


def course(model: Any) -> Course:
    """How the fit went, as far as the estimator tells."""
    history = getattr(model, "history_", None) or {}
    residual = getattr(model, "residual_", None)
    times = history.get("time", [])
    stop = getattr(model, "stop_", None)
    first = getattr(model, "_residual", "")
    last = (stop is not None and stop.measure) or first  # a second stage may have a measure of its own
    return Course(
        n_iter=_or_none(int, getattr(model, "n_iter_", None)),
        learnt=_or_none(int, getattr(model, "n_samples_seen_", None)),
        seconds=float(times[-1]) if len(times) else None,
        converged=_or_none(bool, getattr(model, "converged_", None)),
        stop=stop,
        wanted=getattr(model, "tol", 1.0) != 0.0,
        residual=float(residual) if residual is not None and np.isfinite(residual) else None,
        residual_name=RESIDUALS.get(last, "residual"),
        curves=_curves(history, RESIDUALS.get(last if last == first else "", "residual")),
    )


def _or_none(kind: Any, value: Any) -> Any:
    return None if value is None else kind(value)


def agreement(model: Any, order: Array) -> Agreement | None:
    """What the halves of a monitored fit say; None of any other one."""
    halves = getattr(model, "halves_", None)
    if halves is None:
        return None
    history = model.history_
    curves = [_curve(history, f"{COLUMN}{name}", name) for name in WATCHED]
    first, last, rate = fall([*history[f"{COLUMN}E_s"], halves.E_s])
    return Agreement(
        first,
        last,
        rate,
        errors=halves.error[order],
        agree=halves.agree[order],
        curves=tuple(curve for curve in curves if curve),
    )


def _odd(model: Any, source: RowSource) -> Array:
    """Samples that were set aside and are not all zero, which is told of these."""
    odd = np.asarray(vars(model).get("odd_samples_", np.zeros(0, int)))
    odd = odd[odd < source.shape[0]]  # the page may be of fewer samples than the fit
    return odd[blocks.squared_norms(source.take(odd)) != 0.0] if len(odd) else odd


def support(model: Any, order: Array) -> Support | None:
    """What Archetypes found out about its parts; None of any other method."""
    if not hasattr(model, "rival_"):
        return None
    mass, moved = (np.asarray(numbers)[order] for numbers in (model.mass_, model.moved_))
    told = refined(model), bool(getattr(model, "pure_", False)), float(getattr(model, "unlike_", 0.0))
    return Support(mass, moved, float(model.rival_), *told)


def refined(model: Any) -> bool:
    """Whether the parts of Archetypes are those of the smallest simplex."""
    return bool(getattr(model, "refined_", False))


def signs(model: Any, order: Array) -> Signs | None:
    """What was negative and is not any more; None if nothing was."""
    below = np.asarray(getattr(model, "below_zero_", 0.0))
    return Signs(below[order], float(model.constrained_cost_)) if below.any() else None


def _curves(history: Any, residual_name: str) -> tuple[Curve, ...]:
    columns = {"objective": "Objective", "residual": residual_name[:1].upper() + residual_name[1:]}
    if np.array_equal(history.get("objective", ()), history.get("residual", ()), equal_nan=True):
        del columns["objective"]  # Purification has only a residual to follow
    found = [_curve(history, column, name) for column, name in columns.items() if column in history]
    return tuple(curve for curve in found if curve)


def _curve(history: Any, column: str, name: str) -> Curve | None:
    """The positive values of a column, if there are two at least."""
    steps = history["samples" if "samples" in history else "n_iter"]  # an online method has batches for bookkeeping
    x, y = np.asarray(steps, float), np.asarray(history[column], float)
    good = np.isfinite(y) & (y > 0.0)
    x, y = x[good], y[good]
    keep = np.unique(np.linspace(0, len(x) - 1, min(len(x), CURVE_POINTS)).round().astype(int))
    return (name, x[keep], y[keep]) if len(keep) > 1 else None


def settings(model: Any) -> str:
    """The call that makes such an estimator: parameters that differ from their defaults."""
    values = model.get_params(deep=False)
    defaults = {name: p.default for name, p in inspect.signature(type(model)).parameters.items() if name in values}
    given = [f"{name}={_value(values[name])}" for name, default in defaults.items() if _differs(values[name], default)]
    return f"{type(model).__name__}({', '.join(given)}){model._settings()}"


def _differs(value: Any, default: Any) -> bool:
    if callable(value) or (isinstance(value, (list, tuple)) and any(map(callable, value))):
        return False  # callbacks watch, they do not change what is found
    return not (value is default or (np.isscalar(value) and bool(value == default)))


def _value(value: Any) -> str:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or np.isscalar(value):
        return repr(value)
    return f"<array of shape {np.shape(value)}>" if np.ndim(value) else f"<{type(value).__name__}>"
