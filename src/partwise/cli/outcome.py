"""What ``partwise fit`` tells of a run: its manifest read again, its files, its outcome."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from partwise.cli.console import Failure, plain, told
from partwise.cli.wording import suspected

if TYPE_CHECKING:
    from partwise.cli.fitting import Fitted
    from partwise.sources import RowSource

KINDS = {"schema": int, "status": str, "job": dict, "data": dict, "outputs": dict, "inputs": dict, "fit": dict}
KINDS |= {"warnings": list, "timings": dict, "resumed": list, "versions": dict, "sessions": list}


def read_run(path: Path) -> dict[str, Any]:
    """The manifest of a run of this program."""
    from partwise.runs import read_manifest
    from partwise.runs.folder import SCHEMA

    with told(2):
        manifest = read_manifest(path, KINDS, of="partwise fit")
    if manifest["schema"] > SCHEMA:
        raise Failure(f"{path} has schema {manifest['schema']}, and this version reads up to {SCHEMA}", 2)
    if not all(isinstance(text, str) for text in manifest["warnings"]):
        raise Failure(f"{path} is not a manifest of partwise fit: its warnings are none", 2)
    return manifest


def outputs_of(folder: Path, manifest: dict[str, Any]) -> dict[str, str]:
    """What was written, by kind."""
    from partwise.runs import MANIFEST

    return {name.partition(".")[0]: str(folder / name) for name in (MANIFEST, *manifest["outputs"])}


def told_result(
    folder: Path, manifest: dict[str, Any], outputs: dict[str, str], method: str, facts: dict[str, Any]
) -> dict[str, Any]:
    """The JSON object of a run that is over."""
    result = {"status": manifest["status"], "folder": str(folder), "outputs": outputs, "method": method}
    result |= {**plain(facts), "warnings": manifest["warnings"], "seconds": manifest["timings"]}
    # how sure the number of parts is, and which parts to believe
    return result | {name: manifest[name] for name in ("choice", "verdicts") if name in manifest}


def other_methods(error: BaseException | None, source: RowSource) -> str:
    """Why data may be negative, and which methods take what this one refuses."""
    from partwise.estimators.catalog import METHODS
    from partwise.io.suspicions import centred

    if getattr(error, "kind", "") != "negative":
        return ""
    why = centred(source)
    reason = "" if why is None else f". I{suspected(why)[1:]}"
    signed = [method.name for method in METHODS.values() if method.kind._allow_negative]
    return f"{reason}. What takes negative data is --method {', '.join(signed[:-1])} or {signed[-1]}"


def decided(model: Any, *, known: str) -> str:
    """What a model that decides by itself has decided, but for what is known already, a sentence told before."""
    found: dict[str, str] = getattr(model, "decisions", dict)()
    return "\n".join(f"{about}: {told}." for about, told in found.items() if told != known)


def believed(fitted: Fitted) -> str:
    """A line a part."""
    from partwise.belief.telling import verdict_line

    return "\n".join(verdict_line(row, fitted.model.part_names_.__getitem__) for row in fitted.verdicts)


def outcome(facts: dict[str, Any], seconds: float) -> str:
    k = facts["n_components"]
    parts = [f"{k} part{'s' * (k != 1)}, relative error {facts['error']:.4g}"]
    if facts["n_iter"] is not None:
        parts.append(f"{facts['n_iter']} iteration{'s' * (facts['n_iter'] != 1)}")
    parts.append(f"{seconds:.1f} s")
    reason = f"\nStopped: {facts['stop_reason']}." if facts["stop_reason"] else ""
    return ", ".join(parts) + reason
