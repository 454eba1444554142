"""What a fit is told of its data beside the numbers: which are unknown, and how much each counts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.exceptions import DegenerateDataWarning, InputError, Place, warn_user
from partwise.io.opening import open_source
from partwise.sources import Inspection, RowSource, blocks, brings_own_rows, inspect
from partwise.sources.beside import SourceRows
from partwise.sources.inspection import listed
from partwise.sources.observed import COMPLETE, Observed
from partwise.sources.protocol import Block

Array = npt.NDArray[Any]

MISSING = ("nan", "zeros")


@dataclass(frozen=True, eq=False)
class Told:
    """The arguments of a fit that say what is known and how much it counts.

    Attributes
    ----------
    mask : array-like, sparse matrix, path or source, optional
        True, or not zero, where an entry is known.
    samples, features : array-like, optional
        Weights.
    entries : array-like, sparse matrix, path or source, optional
        A weight for each entry, zero where it is unknown.
    """

    mask: Any = None
    samples: Any = None
    features: Any = None
    entries: Any = None

    def __bool__(self) -> bool:
        return any(given is not None for given in (self.mask, self.samples, self.features, self.entries))


NOTHING = Told()


def observe(source: RowSource, missing: str | None, told: Told = NOTHING) -> tuple[RowSource, Observed, Inspection]:
    """The rows with holes where entries are unknown, what is known of them, and what a pass over them has seen.

    Parameters
    ----------
    missing : {"nan", "zeros"} or None
        What stands for an unknown entry: NaN, or zero (in sparse data: what is not stored).
    told : Told
        What else the fit was told.
    """
    if missing is None and not told:
        return source, COMPLETE, inspect(source)
    if told.mask is not None and told.entries is not None:
        raise InputError("give {parameter} or entry_weight, not both: weight zero is a mask", parameter="mask")
    holes = False
    if told.mask is not None:
        source, holes = source.derive(blocks.holed, _rows(source, told.mask, "mask")), True
    elif missing == "zeros":
        source, holes = source.derive(blocks.zeros_are_holes), True
    elif missing == "nan":
        holes = _count_nan(source) > 0
    samples = None if told.samples is None else check_weights(told.samples, source.shape[0])
    features = None if told.features is None else check_weights(told.features, source.shape[1], "feature_weight")
    entries = None if told.entries is None else _rows(source, told.entries, "entry_weight")
    entries = entries.source if isinstance(entries, SourceRows) else entries
    unknown = _known(source) if holes else 0.0
    observed = Observed(holes, unknown, samples, features, entries)
    return source, observed, inspected(source, observed)


def missing_in(source: RowSource) -> str:
    """What stands for an unknown entry in rows with holes: NaN in dense blocks, what sparse ones do not store."""
    return "zeros" if blocks.is_sparse(source.take([0])) else "nan"


def check_alone(observed: Observed, preparation: str, weighing: Any) -> None:
    """Refuse a preparation of rows with holes, and weighing beside them or weights."""
    if preparation != "none" and observed.holes:
        raise InputError("{parameter} is for data without unknown entries", parameter="preparation")
    if weighing is not None and not observed.plain:
        raise InputError("{parameter} is for data without holes and without weights of your own", parameter="weighing")


def startable(source: RowSource, observed: Observed) -> RowSource:
    """Rows that a start can be made of: holes filled with what row and column are like, samples as large as they count.

    Sparse rows of which most is unknown keep zeros there.
    """
    if observed.holes:
        sums, counts = source.reduce(_column_block)
        means = sums / np.maximum(counts, 1.0)
        source = source.derive(partial(_mean_block, means=means))
    if observed.samples is not None:
        source = source.derive(blocks.scale_rows, source.place(np.sqrt(observed.samples)))
    return source


def warn_untold(source: RowSource, k: int) -> None:
    """Name what holes leave open: columns without an entry, and rows with fewer than there are components."""
    found = []
    columns = unknown_columns(source)
    if len(columns):
        found.append(
            f"{len(columns)} column(s) without a known entry ({listed(columns.tolist())}), of which the components say "
            "nothing: zero"
        )
    rows = unknown_rows(source, k)
    if len(rows):
        found.append(
            f"{len(rows)} row(s) with fewer known entries than components ({listed(rows.tolist())}), whose weights are "
            "not determined"
        )
    if found:
        place = Place(column=int(columns[0])) if len(columns) else Place(row=int(rows[0]))
        text = f"{{parameter}} has {' and '.join(found)}"
        warn_user(DegenerateDataWarning(text, parameter="X", kind="unknown", place=place))


def unknown_rows(source: RowSource, least: int) -> npt.NDArray[np.int64]:
    """Rows with fewer known entries than that."""
    return np.flatnonzero(np.asarray(source.map_rows(_known_block, width=None, dtype=np.float64)) < least)


def unknown_columns(source: RowSource) -> npt.NDArray[np.int64]:
    """Columns without a known entry."""
    return np.flatnonzero(source.reduce(_column_block)[1] == 0.0)


def inspected(source: RowSource, observed: Observed) -> Inspection:
    """Totals and norm with the weights, so that a state knows what it is of, and a start how large the data is."""
    seen = inspect(source.derive(blocks.zeroed) if observed.holes else source)
    if observed.plain:
        return seen
    if observed.holes:  # what is not known is not zero
        unknown = set(unknown_columns(source).tolist())
        blank = set(unknown_rows(source, 1).tolist())
        columns = tuple(j for j in seen.first_zero_columns if j not in unknown)
        rows = tuple(i for i in seen.first_zero_rows if i not in blank)
        seen = replace(
            seen,
            zero_columns=seen.zero_columns - len(unknown),
            first_zero_columns=columns,
            zero_rows=seen.zero_rows - len(blank),
            first_zero_rows=rows,
        )
    known = max(1e-300, 1.0 - observed.unknown)
    if observed.samples is None and observed.features is None and observed.entries is None:
        return replace(seen, total=seen.total / known)
    fn = partial(_weighted_totals, observed=observed)
    total, squares, size = source.reduce(fn, *observed.beside(source))
    if size <= 0.0:
        raise InputError("{parameter} is zero everywhere", parameter="entry_weight", kind="zero")
    return replace(seen, total=total / size * source.shape[0] * source.shape[1], squared_norm=squares)


def _weighted_totals(block: Block, *beside: Block, observed: Observed) -> tuple[float, float, float]:
    """Sums of entries, of their squares and of ones, over known entries with all weights."""
    s, M = observed.split(beside)
    M = M if M is not None else blocks.known(block) if observed.holes else blocks.ones(block)
    block = blocks.zeroed(block)
    squares = blocks.with_values(block, blocks.values(block).astype(np.float64) ** 2)
    found = []
    for part in (blocks.multiply(block, M), blocks.multiply(squares, M), M):
        rows = blocks.row_sums(part if observed.features is None else blocks.scale_columns(part, observed.features))
        found.append(float(rows.sum() if s is None else np.asarray(s, np.float64) @ rows))
    return found[0], found[1], found[2]


def _rows(source: RowSource, given: Any, name: str) -> Any:
    """Something of the shape of the data as rows beside it."""
    if brings_own_rows(given):
        opened = open_source(given)
        rows: Any = SourceRows(opened, source.dtype)
    else:
        rows = blocks.concrete(given, source.dtype)
        entries = blocks.values(rows)
        if not np.isfinite(entries).all() or entries.min(initial=0.0) < 0.0:
            raise InputError("{parameter} must be finite and not negative", parameter=name, kind="value")
    if tuple(rows.shape) != tuple(source.shape):
        raise InputError(
            f"{{parameter}} has shape {tuple(rows.shape)}, X has shape {tuple(source.shape)}",
            parameter=name,
            kind="shape",
        )
    return source.place(rows) if isinstance(rows, np.ndarray) else rows


def that_count(source: RowSource, samples: Array | None) -> tuple[RowSource, Array | None]:
    """The samples that count, and how often: what does not is no near-pure sample, nor in a half."""
    if samples is None or samples.all():
        return source, samples
    return source.choose(samples > 0.0), samples[samples > 0.0]


def copies_of(samples: Array) -> npt.NDArray[np.int64]:
    """How often each sample is there by its weight; once, where weights are no whole numbers."""
    whole = bool((samples == np.round(samples)).all())
    return np.asarray(samples if whole else samples > 0.0, np.int64)


def check_weights(given: Any, length: int, name: str = "sample_weight") -> Array:
    """Weights of samples or features as numbers."""
    vector = np.asarray(given)
    if vector.dtype.kind not in "fiub" or vector.shape != (length,):
        raise InputError(
            f"{{parameter}} must be {length} numbers, got {vector.dtype} of shape {vector.shape}",
            parameter=name,
            kind="shape",
        )
    vector = vector.astype(np.float64)
    wrong = np.flatnonzero(~(np.isfinite(vector) & (vector >= 0.0)))
    if len(wrong):
        i = int(wrong[0])
        raise InputError(
            f"{{parameter}} must be finite and not negative; number {i} is {vector[i]}", parameter=name, kind="value"
        )
    if not vector.any():
        raise InputError("{parameter} is zero everywhere", parameter=name, kind="zero")
    return vector


def _count_nan(source: RowSource) -> int:
    dense, sparse = source.reduce(_nan_block)
    if sparse:
        raise InputError(
            f"{{parameter}} is sparse with {sparse} NaN stored; say which entries are known with mask=, or that those "
            "which are not stored are unknown with missing='zeros'",
            parameter="X",
            kind="value",
        )
    return int(dense)


def _nan_block(block: Block) -> tuple[int, int]:
    count = int(np.isnan(blocks.values(block)).sum())
    return (0, count) if blocks.is_sparse(block) else (count, 0)


def _known(source: RowSource) -> float:
    """The share of unknown entries."""
    n, m = source.shape
    here = float(source.reduce(_column_block)[1].sum())
    if here == 0.0:
        raise InputError("{parameter} has no known entry", parameter="X", kind="empty")
    return 1.0 - here / max(1, n * m)


def _column_block(block: Block) -> tuple[Array, Array]:
    """Sums and numbers of the known entries of every column."""
    ones = np.ones((block.shape[0], 1))
    return tuple(
        blocks.tdot(part, ones)[:, 0].astype(np.float64) for part in (blocks.zeroed(block), blocks.known(block))
    )  # type: ignore[return-value]


def _known_block(block: Block) -> Array:
    return blocks.row_sums(blocks.known(block))


def _mean_block(block: Block, *, means: Array) -> Block:
    if blocks.is_sparse(block):
        return blocks.zeroed(block)
    rows = blocks.row_sums(blocks.zeroed(block))
    expected = np.asarray(blocks.known(block), np.float64) @ means
    sizes = np.divide(rows, expected, out=np.zeros_like(rows), where=expected > 0.0)
    return blocks.completed(block, sizes[:, None], means[:, None])
