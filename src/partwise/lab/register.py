"""The register of claims: a TOML file an experiment, read strictly; what is misspelt is an error and not ignored.

A file is a list of ``[[claim]]`` tables with the keys of `KEYS`; ``[common]`` has what holds for those that do not say
otherwise. ``each`` makes several of one: a list of tables, or a table of lists (every combination); what it gives fills
``{names}`` in the texts, or stands for a key of its own name. Where ``published`` is a list in it, it is a row of a
printed table, whose ``[columns]``, lists of the same length, the file has once. ``[[changed]]`` tables beside them tell
what else was changed after a result: a setting, or a claim that was dropped.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from datetime import date
from itertools import product
from pathlib import Path
from typing import Any

from partwise.exceptions import InputError
from partwise.lab.claim import SIDES, SIGNS, SPREAD, Change, Claim, Explanation, Statistic

FOLDER = Path(__file__).parent / "claims"
NUMBER = (int, float)
KEYS: dict[str, type | tuple[type, ...]] = {
    "id": str,
    "text": str,
    "sentence": str,
    "where": str,
    "statistic": str,
    "with": dict,
    "literal_with": dict,
    "literal": str,
    "ours": str,
    "better": str,
    "bound": NUMBER,
    "published": NUMBER,
    "tolerance": (int, float, str),
    "allowance": str,
    "runs": int,
    "log": bool,
    "style": str,
    "set_by": str,
    "set_on": date,
    "trivial": str,
    "why": str,
    "changed": list,
    "telling": bool,
}
TABLES = {"common": "[common]", "columns": "[columns]", "claim": "[[claim]]", "changed": "[[changed]]"}
NEEDED = ("id", "text", "sentence", "statistic", "better", "set_by", "set_on")
OWN = ("id", "text", "bound", "published", "changed")  # what every claim says itself
# what a claim has as the file has it
PLAIN = ("sentence", "where", "better", "allowance", "runs", "log", "style", "set_by", "set_on", "trivial", "telling")
CHANGE = {"on": date, "was": str, "now": str, "why": str}


def load_claims(
    path: Path, statistics: Mapping[str, Statistic], explanations: Mapping[str, Explanation]
) -> tuple[Claim, ...]:
    """Read a file of the register.

    Parameters
    ----------
    statistics : mapping of str to callable
        What the experiment can compute besides what is in :mod:`partwise.lab.values`.
    explanations : mapping of str to callable
        What explains numbers that fall short.

    Returns
    -------
    tuple of Claim
        In the order of the file; an `InputError` names the file, the claim and the key that is wrong.
    """
    from partwise.lab.contenders import CONTENDERS
    from partwise.lab.values import STATISTICS

    known: dict[str, Mapping[str, Any]] = {"statistic": dict(STATISTICS) | dict(statistics), "why": explanations}
    known |= dict.fromkeys(SIDES, CONTENDERS)
    claims: dict[str, Claim] = {}
    content = _content(path)
    for entry in content.get("claim", []):
        for filled in _each(content.get("common", {}) | entry, content.get("columns", {}), path.name):
            claim = _claim(filled, known, f"{path.name}, {filled.get('id', 'a claim without id')}")
            if claim.id in claims:
                raise InputError(f"{path.name}: two claims have the id {claim.id}")
            claims[claim.id] = claim
    return tuple(claims.values())


def load_changes(path: Path) -> tuple[Change, ...]:
    """Read what a file of the register tells of its experiment besides the claims.

    Returns
    -------
    tuple of Change
        Settings that were changed and claims that were dropped after a result had been seen.
    """
    return _changes(_content(path).get("changed", []), path.name)


def _content(path: Path) -> dict[str, Any]:
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"{path.name}: {error}") from error
    unknown = sorted(set(content) - set(TABLES))
    if unknown:
        raise InputError(f"{path.name}: only {', '.join(TABLES.values())} are expected, not {', '.join(unknown)}")
    for name in ("common", "columns"):
        if not isinstance(content.get(name, {}), dict):
            raise InputError(f"{path.name}: {TABLES[name]} is one table")
    if shared := [key for key in OWN if key in content.get("common", {})]:
        raise InputError(f"{path.name}: [common] has {', '.join(shared)}, which is a claim's own")
    return content


def _changes(entries: list[Any], where: str) -> tuple[Change, ...]:
    for one in entries:
        _check_keys(one, CHANGE, tuple(CHANGE), f"{where}: changed")
    return tuple(Change(**one) for one in entries)


def _each(entry: Mapping[str, Any], columns: Mapping[str, list[Any]], file: str) -> Iterator[dict[str, Any]]:
    """The claims that an entry stands for."""
    plain = {key: value for key, value in entry.items() if key != "each"}
    each = entry.get("each", [{}])
    if isinstance(each, dict):
        each = [dict(zip(each, values, strict=True)) for values in product(*each.values())]
    try:
        for row in each:
            for values in _across(row, columns, f"{file}, {entry.get('id')}"):
                own = {key: value for key, value in values.items() if key in KEYS}
                yield {key: _filled(value, values) for key, value in (plain | own).items()}
    except KeyError as error:
        raise InputError(f"{file}, {entry.get('id')}: each gives no value for {error}") from error


def _across(row: Mapping[str, Any], columns: Mapping[str, list[Any]], where: str) -> list[dict[str, Any]]:
    """The values of a row of a printed table, one for each column; of anything else, the one that it is."""
    numbers = row.get("published")
    if not isinstance(numbers, list):
        return [dict(row)]
    if not columns or any(len(column) != len(numbers) for column in columns.values()):
        raise InputError(f"{where}: published is a row of {len(numbers)} numbers, and [columns] has not as many")
    names = [*columns, "published"]
    return [{**row, **dict(zip(names, place, strict=True))} for place in zip(*columns.values(), numbers, strict=True)]


def _filled(value: Any, values: Mapping[str, Any]) -> Any:
    """Texts with their names filled in; a text that is a name alone becomes the value itself."""
    if isinstance(value, str):
        if value.startswith("{") and value.endswith("}") and value[1:-1] in values:
            return values[value[1:-1]]
        return value.format_map(values)
    if isinstance(value, dict):
        return {key: _filled(inner, values) for key, inner in value.items()}
    return value


def _claim(entry: dict[str, Any], known: Mapping[str, Mapping[str, Any]], where: str) -> Claim:
    _check(entry, known, where)
    tolerance = entry.get("tolerance", 0.0)
    why = entry.get("why", "")
    return Claim(
        id=entry["id"],
        text=entry["text"],
        statistic=known["statistic"][entry["statistic"]],
        named=entry["statistic"],
        bound=float(entry["published"] if "published" in entry else entry["bound"]),
        arguments=entry.get("with", {}),
        literal_arguments=entry.get("literal_with", {}),
        published="published" in entry,
        tolerance=tolerance if tolerance == SPREAD else float(tolerance),
        why=known["why"][why] if why else None,
        changed=_changes(entry.get("changed", []), where),
        **{key: entry[key] for key in (*SIDES, *PLAIN) if key in entry},
    )


def _check(entry: Mapping[str, Any], known: Mapping[str, Mapping[str, Any]], where: str) -> None:
    """Everything that can be wrong with an entry, by name."""
    _check_keys(entry, KEYS, NEEDED, where)
    for key, choices in known.items():
        if entry.get(key) and entry[key] not in choices:
            raise InputError(f"{where}: {key} {entry[key]!r} is not known; there are: {', '.join(choices)}")
    for key, words in (("better", tuple(SIGNS)), ("set_by", ("document", "partwise"))):
        if entry[key] not in words:
            raise InputError(f"{where}: {key} is one of {', '.join(words)}, not {entry[key]!r}")
    if ("bound" in entry) == ("published" in entry):
        raise InputError(f"{where}: either bound or published, and not both")
    if not any(entry.get(side) for side in SIDES):
        raise InputError(f"{where}: neither literal nor ours is named")
    if entry.get("literal") and not entry["sentence"]:
        raise InputError(f"{where}: sentence is empty: the claim of a literal method has the document's words")
    theirs = "published" in entry or entry["set_by"] == "document"
    if theirs and entry.get("tolerance") not in (None, 0, SPREAD) and not entry.get("allowance"):
        raise InputError(f"{where}: tolerance is ours, and the number is not: allowance says why it is so large")
    if isinstance(entry.get("tolerance"), str) and (entry["tolerance"] != SPREAD or not entry.get("runs")):
        raise InputError(f"{where}: tolerance is a number or {SPREAD!r}, which also needs runs")


def _check_keys(entry: Any, keys: Mapping[str, Any], needed: tuple[str, ...], where: str) -> None:
    if not isinstance(entry, dict):
        raise InputError(f"{where}: a table is expected")
    unknown = [key for key in entry if key not in keys]
    if unknown:
        raise InputError(f"{where}: unknown key {', '.join(unknown)}; there are: {', '.join(keys)}, each")
    missing = [key for key in needed if key not in entry]
    if missing:
        raise InputError(f"{where}: {', '.join(missing)} is missing")
    for key, value in entry.items():
        if not isinstance(value, keys[key]) or (isinstance(value, bool) and keys[key] is not bool):
            raise InputError(f"{where}: {key} has the wrong type, {type(value).__name__}")
