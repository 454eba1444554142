"""The mistakes of a first try, seen in numbers and names: samples as columns, logarithms for counts, labels among them.

Each is a fact; ``told`` makes a sentence of it in the words of whoever reads it (parameters, or flags of the program).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.io.headers import COUNTS as IDS
from partwise.io.headers import counted_from, in_order, is_scale
from partwise.io.table import Table
from partwise.linalg.multiples import TYPICAL, WHOLE, least_steps
from partwise.sources import RowSource, blocks

Array = npt.NDArray[Any]

LOOKED_AT = 400  # rows
MOST = 0.8  # of the names or rows, where all but a few must be alike
DEPTHS = 10.0  # ratio of the largest to the smallest totals of counts, ends of 5% left out, that is worth a word
DEEPER = 5.0  # times that of columns: words and genes differ more in frequency than texts and cells in length
# Squared steps between neighbours, over those between any two: rows are an axis below SMOOTH (bands of Jasper Ridge are
# at 0.01, its pixels at 0.05, pixels of faces at 0.08, replicates of samples side by side at 0.25), if columns are not.
SMOOTH, SMOOTHER = 0.1, 2.0
# Times as large are steps to the next but one, the median: along an axis twice at least, among samples in the order of
# their groups once, however near they are to each other.
ONWARDS = 1.5
FEWEST = 20  # rows and columns, to be told from chance
MOST_COLUMNS = 4000  # of which neighbours are compared
SEVERAL = 3  # different entries of a row: two may be multiples of anything
LABELS = {"label", "labels", "class", "classes", "target", "y", "cluster", "clusters", "group", "category", "species"}
LABELS |= {"leiden", "louvain", "batch"}
PLACES = {"x", "y", "z", "row", "col", "column", "lat", "lon", "latitude", "longitude", "easting", "northing"}
FILE = re.compile(r".*\.[A-Za-z]\w*")
CODE = re.compile(r"9{2,}(\.[09]+)?")  # what stands for a missing number: -999, 9999
HUGE = 1e20  # so do these, in files of climate
BEYOND = 3.0  # times the next one
CLOSE = 1e-3  # sums and means are rounded
MUTATION = re.compile(r"[ACGT]\[[ACGT]>[ACGT]\][ACGT]|[ACGT]{2}>[ACGT]{2}|\d:(?:Del|Ins):[CTRM]:\d")
BARCODE = re.compile(r"[ACGT]{12,}(?:-\d+)?")
GENES = {"MALAT1", "ACTB", "GAPDH", "B2M", "TMSB4X", "FTL", "FTH1", "EEF1A1", "CD74", "Actb", "Gapdh", "Malat1", "B2m"}
ENSEMBL = re.compile(r"ENS[A-Z]*G\d{6,}.*")

SENTENCES = {
    "turned": "samples seem to be columns: {why}. {transpose} turns the table",
    "axis": "{why}: where they are wavelengths, samples are columns, and {transpose} turns the table; where "
    "they are times, nothing is wrong",
    "logged": "the numbers are logarithms ({why}), and this method is for counts: give the counts ({layer} where a "
    "file has both), or take {squares}",
    "logged-twice": "the numbers are logarithms already ({why}), and log1p would take them again: leave {preprocess} "
    "out",
    "shares": "the numbers are shares ({why}), and this method is for counts, whose size says how sure they are: give "
    "the counts, or take {squares}",
    "depth": "the totals of samples differ {ratio:.0f}-fold, so a few large ones decide the parts: {counting} weighs "
    "counts as such, and {unit} makes samples equally long",
    "uneven": "the totals of rows differ {ratio:.0f}-fold, those of columns {across:.0f}-fold: where rows are words or "
    "genes, samples are columns, and {transpose} turns the table; where they are samples, a few large ones decide the "
    "parts: {counting} weighs counts as such, and {unit} makes samples equally long",
    "labels": "{names} among the features {are} numbers of classes, of samples or of places, not measured: {drop} "
    "leaves {them} out",
    "total-column": "feature {name} is the {of} of all others, and no part can tell them apart: {drop} leaves it out",
    "total-row": "sample {name} is the {of} of all others: leave its line out of the file",
    "codes": "{count} entries are {value:g}, and none else is {beyond} {next:g}: if this stands for what is not known, "
    "leave these cells empty, or write NA",
    "long": "of three columns the first two ({names}) are never the same twice: where a line is one entry of a larger "
    "table, parts need a line a sample; pivot it first",
    "percentages": "{share:.0%} of the samples add up to {total:g} and {count} do not ({names}): is something missing "
    "in these?",
    "centred": "its {what} have mean 0: it was centred or standardised, and parts of mixtures need what it was before",
}
LIBRARY = {
    "transpose": "transpose=True",
    "preprocess": "set_preparation",
    "unit": "set_preparation('unit')",
    "counting": "Likelihood",
    "squares": "HALS",
    "layer": "a layer",
    "drop": "dropping the column",
}


@dataclass(frozen=True)
class Suspicion:
    """Something that looks like a mistake.

    Parameters
    ----------
    kind : str
        One of ``SENTENCES``.
    details : dict
        What was seen.
    """

    kind: str
    details: Mapping[str, Any] = field(default_factory=dict)

    def told(self, words: Mapping[str, str] = LIBRARY) -> str:
        """A sentence without its stop, with these words for what is to be done."""
        return SENTENCES[self.kind].format(**{**LIBRARY, **words, **self.details})


def suspicions(
    table: Table,
    source: RowSource | None = None,
    *,
    counting: bool = False,
    preparation: str = "none",
    sure: bool = False,
) -> list[Suspicion]:
    """What looks wrong with a table before anything is computed.

    Parameters
    ----------
    table : Table
        Numbers and names.
    source : RowSource, optional
        Its rows, where they are open already; a few of them are looked at.
    counting : bool, default=False
        Whether the method is one for counts.
    preparation : str, default="none"
        What will be done to the data first.
    sure : bool, default=False
        Whether only what nobody means is looked for.

    Returns
    -------
    list of Suspicion
        Empty where nothing is.

    Examples
    --------
    >>> import numpy as np
    >>> from partwise.io import Table
    >>> from partwise.io.suspicions import suspicions
    >>> names = ["A[C>A]A", "A[C>A]C", "A[C>A]G"]
    >>> [one] = suspicions(Table(np.eye(3), ["s1", "s2", "s3"], names))
    >>> one.told()
    'samples seem to be columns: rows are called as kinds of mutations are (A[C>A]A). transpose=True turns the table'
    """
    source = table.source() if source is None else source
    n = source.shape[0]
    rows = source.take(np.unique(np.linspace(0, n - 1, min(n, LOOKED_AT)).round().astype(int)))
    values = blocks.values(rows)
    with np.errstate(over="ignore", invalid="ignore"):
        finite = bool(np.isfinite(values.sum()))
    positive, logs = finite and values.size > 0 and values.min() >= 0.0, counting or preparation in ("log1p", "tfidf")
    whole = positive and (logs or not sure) and bool((values == np.round(values)).all())
    logged = _logged(rows, counting or preparation == "tfidf") if logs and positive and not whole else None
    found = [_turned(table), *_labels(table, rows), logged]
    found += [_codes(values), *_totals(table, rows, n)] if finite else []
    if not sure:
        if found[0] is None:
            found.append(_named_axis(table) or (_axis(table, rows) if finite else None))
        if counting and positive and not whole and logged is None:
            found.append(_of_one_total(rows))
        if whole and not counting and preparation == "none" and table.image_shape is None:
            found.append(_depth(table, rows))
        found.append(_percentages(table, rows, n) if positive else None)
        found.append(_long(table, rows) if finite else None)
    return [one for one in found if one is not None]


def centred(source: RowSource) -> Suspicion | None:
    """Whether data with negative numbers was centred, by columns or by rows."""
    n = source.shape[0]
    rows = np.asarray(blocks.to_dense(source.take(range(min(n, 4 * LOOKED_AT)))), float)
    if not np.isfinite(rows).all() or len(rows) < 3:
        return None
    for what, axis in (("columns", 0), ("rows", 1)):
        spread = rows.std(axis=axis)
        if axis == 0 and n > len(rows):
            continue  # means of some rows say nothing of all
        if np.mean(np.abs(rows.mean(axis=axis)) <= 1e-6 * np.where(spread > 0.0, spread, 1.0)) >= MOST:
            return Suspicion("centred", {"what": what})
    return None


def _turned(table: Table) -> Suspicion | None:
    samples, features = table.sample_names or [], table.feature_names or []
    reasons = (
        (_share(samples, MUTATION), "rows are called as kinds of mutations are"),
        (_share(features, BARCODE), "columns are called as barcodes of cells are"),
        (_share(samples, ENSEMBL), "rows are called as genes are"),
    )
    for share, why in reasons:
        if share >= MOST:
            named = features if "columns" in why else samples
            return Suspicion("turned", {"why": f"{why} ({named[0]})"})
    genes = sorted(GENES & set(samples))
    if len(genes) >= 3 and not GENES & set(features):
        return Suspicion("turned", {"why": f"rows are called as genes are ({genes[0]})"})
    return None


def _named_axis(table: Table) -> Suspicion | None:
    """Whether rows are called as wavelengths, or times, are."""
    samples = table.sample_names or []
    if (
        len(samples) < 8
        or all(map(FILE.fullmatch, samples))
        or not in_order(samples)
        or counted_from(samples) is not None
    ):
        return None
    if is_scale(table.feature_names or []):
        return None
    return Suspicion("axis", {"why": f"rows go from {samples[0]} to {samples[-1]} in order"})


def _axis(table: Table, rows: Any) -> Suspicion | None:
    """Whether neighbouring rows are alike as bands of a spectrum are, and columns are not as much."""
    named = table.sample_names is not None and counted_from(table.sample_names) is None
    shaped = table.image_shape is not None or table.map_shape is not None
    if named or shaped or is_scale(table.feature_names or []) or blocks.is_sparse(rows) or min(rows.shape) < FEWEST:
        return None
    X = np.asarray(rows[:, :MOST_COLUMNS], np.float64)
    X = X / (np.abs(X).max() or 1.0)  # squares of the largest numbers do not fit
    down, across = _steps(X), _steps(X.T)
    if not (down < SMOOTH and SMOOTHER * down < across):
        return None
    next_, onwards = (np.median(np.square(X[lag:] - X[:-lag]).sum(axis=1)) for lag in (1, 2))
    if onwards <= ONWARDS * next_:
        return None
    why = f"neighbouring rows are alike (steps of {down:.1%}, between columns {across:.1%})"
    return Suspicion("axis", {"why": why})


def _steps(X: Array) -> float:
    """The mean squared difference of neighbours over that of any two rows."""
    far = 2.0 * np.square(X - X.mean(axis=0)).sum()
    return float(np.square(np.diff(X, axis=0)).sum() / far) if far > 0.0 else 1.0


def _share(names: Sequence[str], form: re.Pattern[str]) -> float:
    return sum(bool(form.fullmatch(name)) for name in names) / len(names) if names else 0.0


def _labels(table: Table, rows: Any) -> list[Suspicion]:
    names = table.feature_names
    words = [_word(name) for name in names or []]
    places = PLACES if len(PLACES & set(words)) > 1 else set()
    wanted = [j for j, word in enumerate(words) if word in LABELS | IDS | places]
    if not wanted or names is None or len(wanted) == len(names):
        return []
    columns = np.asarray(blocks.to_dense(rows[:, wanted]), float)
    n = len(columns)
    values = blocks.values(rows)
    mostly_zero = np.count_nonzero(values) < 0.5 * n * len(names)
    genes = len(GENES & set(names)) >= 3
    found = []
    for j, column in zip(wanted, columns.T, strict=True):
        if (genes and names[j].upper() == "IDS") or (mostly_zero and np.mean(column == 0.0) > 0.5):
            continue  # a gene, or counted as other words and genes are: "group" and "class" are words of texts
        whole = bool((column == np.round(column)).all())
        distinct = len(np.unique(column))
        ids = _word(names[j]) in IDS and distinct > 2  # of patients with several samples they are there more than once
        labels = _word(names[j]) in LABELS and distinct <= max(2, n // 3)
        if _word(names[j]) in places or (whole and (ids or labels)):
            found.append(names[j])
    if not found:
        return []
    many = len(found) > 1
    details = {"names": ", ".join(map(repr, found)), "are": "are" if many else "is", "them": "them" if many else "it"}
    return [Suspicion("labels", {**details, "columns": ",".join(found)})]


def _codes(values: Array) -> Suspicion | None:
    """Whether the largest numbers, or all that are negative, are one that people write for what is not known."""
    if not values.size:
        return None
    low, high = float(values.min()), float(values.max())
    for value, others in ((low, values[values > low]), (high, values[values < high])):
        limit = float(np.abs(others).max(initial=0.0))
        coded = CODE.fullmatch(f"{abs(value):.10g}") or abs(value) >= HUGE
        count = values.size - others.size
        alone = others.size > 0 and (others.min() >= 0.0 if value < 0.0 else value > 0.0)
        if coded and count > 1 and alone and abs(value) > BEYOND * limit:
            beyond = "above" if value > 0.0 else "negative; the largest is"
            return Suspicion("codes", {"count": count, "value": value, "beyond": beyond, "next": limit})
    return None


def _totals(table: Table, rows: Any, n: int) -> list[Suspicion]:
    """Whether the first or last feature, or sample, is the sum or the mean of the others."""
    found = []
    for kind, axis, names in (("total-column", 1, table.feature_names), ("total-row", 0, table.sample_names)):
        count, across = rows.shape[axis], rows.shape[1 - axis]
        if min(count, across) <= SEVERAL or (axis == 0 and n > rows.shape[0]):
            continue
        whole = np.asarray(rows.sum(axis=axis), float).ravel()
        for j, other in ((count - 1, 0), (0, 1)):
            one, near = (
                np.asarray(blocks.to_dense(rows[:, [i]] if axis else rows[[i]]), float).ravel() for i in (j, other)
            )
            close = CLOSE * np.abs(one).max()
            if np.ptp(one) <= close or np.abs(one - near).max() <= close:  # all alike
                continue
            for of, rest in (("sum", whole - one), ("mean", (whole - one) / (count - 1))):
                if np.abs(one - rest).max() <= close:
                    name = repr(names[j]) if names else str(j + 1)
                    found.append(Suspicion(kind, {"name": name, "of": of, "columns": names[j] if names else name}))
    return found[:1]


def _long(table: Table, rows: Any) -> Suspicion | None:
    """Whether lines are entries of a larger table: its row, its column, a number."""
    if rows.shape[1] != 3 or rows.shape[0] < FEWEST:
        return None
    pairs = np.asarray(blocks.to_dense(rows[:, :2]), float)
    if (pairs != np.round(pairs)).any() or len(np.unique(pairs, axis=0)) < len(pairs):
        return None
    if max(len(np.unique(column)) for column in pairs.T) > len(pairs) / 2:
        return None
    names = table.feature_names or ["1", "2"]
    return Suspicion("long", {"names": f"{names[0]}, {names[1]}"})


def _word(name: str) -> str:
    return " ".join(str(name).replace("_", " ").split()).lower()


def _logged(rows: Any, counting: bool) -> Suspicion | None:
    kind = "logged" if counting else "logged-twice"
    with np.errstate(over="ignore"):
        back = blocks.with_values(rows, np.expm1(blocks.values(rows)))
    if float(blocks.values(rows).max(initial=0.0)) > 30.0:
        return None
    totals = np.asarray(back.sum(axis=1), float).ravel()
    totals = totals[totals > 0.0]
    middle = float(np.median(totals)) if len(totals) else 0.0
    if len(totals) >= 5 and middle > 100.0 and np.abs(totals / middle - 1.0).max() < 0.01:
        return Suspicion(kind, {"why": f"with exp(x) - 1 every sample adds up to {middle:,.0f}"})
    for base, undone in (
        ("exp(x) - 1", back),
        ("2^x - 1", blocks.with_values(rows, np.exp2(blocks.values(rows)) - 1.0)),
    ):
        values = blocks.values(undone)
        if values.max(initial=0.0) >= 2.0 and np.abs(values - np.round(values)).max() < 1e-3:
            return Suspicion(kind, {"why": f"{base} makes whole numbers of all of them"})
        if not _in_units(rows) and _in_units(undone):  # of some genes, where totals of all were made equal
            return Suspicion(kind, {"why": f"{base} makes whole multiples of one number of those of each sample"})
    return None


def _in_units(rows: Any) -> bool:
    """Whether the entries of every row that has several different ones are whole multiples of a number of its own."""
    ends, _, x = blocks.triple(rows)
    lengths = np.diff(ends)
    which = np.repeat(np.arange(len(lengths)), lengths)
    multiples = np.asarray(x, float) / least_steps(rows)[which]
    whole = np.round(multiples)
    different = np.bincount(np.unique(np.column_stack([which, whole])[whole > 0.0], axis=0)[:, 0].astype(int))
    told = np.flatnonzero(different >= SEVERAL)
    if len(told) < FEWEST or np.median(whole[whole > 0.0]) > TYPICAL:
        return False
    error, largest = np.zeros(len(lengths)), np.zeros(len(lengths))
    np.maximum.at(error, which, np.abs(multiples - whole))
    np.maximum.at(largest, which, whole)
    return bool((error[told] <= WHOLE * largest[told]).mean() >= MOST)


def _of_one_total(rows: Any) -> Suspicion | None:
    totals = np.asarray(rows.sum(axis=1), float).ravel()
    totals = totals[totals > 0.0]
    middle = float(np.median(totals)) if len(totals) else 0.0
    if len(totals) >= 5 and np.abs(totals / middle - 1.0).max() < 0.01:
        return Suspicion("shares", {"why": f"every sample adds up to {middle:,.6g}"})
    largest = float(blocks.values(rows).max(initial=0.0))
    return Suspicion("shares", {"why": f"none is above {largest:.3g}"}) if 0.0 < largest <= 1.0 else None


def _depth(table: Table, rows: Any) -> Suspicion | None:
    ratio, across = (_ratio(np.asarray(rows.sum(axis=axis), float).ravel()) for axis in (1, 0))
    if ratio <= DEPTHS:
        return None
    names = table.feature_names or []
    known = max(_share(names, MUTATION), _share(names, ENSEMBL)) >= MOST or len(GENES & set(names)) >= 3
    if known or ratio < DEEPER * across or min(rows.shape) < FEWEST:
        return Suspicion("depth", {"ratio": ratio})
    return Suspicion("uneven", {"ratio": ratio, "across": across})


def _ratio(totals: Array) -> float:
    """The largest over the smallest total of those that are not zero, ends of 5% left out."""
    totals = totals[totals > 0.0]
    low, high = np.quantile(totals, [0.05, 0.95]) if len(totals) >= FEWEST else (1.0, 1.0)
    return float(high / low)


def _percentages(table: Table, rows: Any, n: int) -> Suspicion | None:
    totals = np.asarray(rows.sum(axis=1), float).ravel()
    if len(totals) < 10:
        return None
    for total, near in ((100.0, 0.5), (1.0, 0.005)):
        good = np.abs(totals - total) <= near
        if 0.5 <= good.mean() < 1.0 and len(totals) == n:
            odd = np.flatnonzero(~good)
            named = [table.sample_names[i] if table.sample_names else f"row {i}" for i in odd[:3]]
            names = ", ".join(named) + (", ..." if len(odd) > 3 else "")
            return Suspicion("percentages", {"share": good.mean(), "total": total, "count": len(odd), "names": names})
    return None
