"""The field of a run: what its profile sets, shapes, writes and shows."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from partwise.cli.console import Failure, told

if TYPE_CHECKING:
    from partwise.cli.job import Job
    from partwise.io import Table
    from partwise.profiles import Found, Profile, Settings
    from partwise.runs import RunFolder

NONE = "none"
COSMIC = "cosmic"
# of all profiles: a run that replaces another one takes them away
OUTPUTS: tuple[str, ...] = (
    "exposures.csv",
    "signatures.csv",
    "matches.csv",
    "decomposition.csv",
    "markers.csv",
    "usage.csv",
)
OUTPUTS += ("abundances.csv", "residual_spectrum.csv", "library.csv", "topics.csv", "topic_documents.csv")
OUTPUTS += ("document_shares.csv", "topics_over_time.csv")


def of_field(data: str, given: dict[str, Any]) -> dict[str, Any]:
    """What is to be done, with what the field sets where the command line says nothing."""
    from partwise.cli.reading import Reading
    from partwise.profiles import PROFILES

    name = given.get("field")
    if name in (None, NONE):
        return given
    if name not in PROFILES:
        raise Failure(f"--as must be one of {', '.join(sorted(PROFILES))}, none; got {name!r}", 2)
    profile = PROFILES[name]
    reading = given.get("reading", Reading())
    format = profile.formats.get(Path(data).suffix.lower())
    if format is not None and reading.format is None and Path(data).is_file():
        reading = replace(reading, format=format)
    set_ = {"method": profile.method, "preprocess": profile.preprocess, "reading": reading}
    if "method" not in given and profile.options:
        set_["options"] = {**profile.options, **given.get("options", {})}
    return {**set_, **given, "reading": reading}


class Field:
    """The profile of a run, if it has one.

    Parameters
    ----------
    job : Job
        What is to be done.
    table : Table
        What was read.
    """

    def __init__(self, job: Job, table: Table) -> None:
        from partwise.profiles import detect, find_profile

        self.job, self.why = job, ""
        self.profile: Profile | None = None
        self.settings = _settings(job)
        self.table = table
        if job.field == NONE:
            pass
        elif job.field is not None:
            self.profile = find_profile(job.field)
            self.table = self.profile.shaped(table, self.settings)
        else:
            found = detect(table)
            if found is not None:
                self.profile, self.why = found
        if self.profile is None or self.profile.name not in ("spectra", "signatures"):
            self._refuse_settings()
        elif job.field is None and job.map_shape is not None:
            self.table = self.profile.shaped(table, self.settings)

    def _refuse_settings(self) -> None:
        for flag, value in (("--map-shape", self.job.map_shape), ("--reference", self.job.reference)):
            if value is not None:
                fields = "spectra" if flag == "--map-shape" else "spectra or signatures"
                raise Failure(f"{flag} is for --as {fields}", 2)

    @property
    def notes(self) -> list[str]:
        """What was decided without being told."""
        if self.profile is None or not self.why:
            return []
        change = f"; --as {self.profile.name} also chooses {_choice(self.profile)}" if _differs(self) else ""
        return [f"Taken for {self.profile.title}: {self.why}{change}; --as none leaves that out."]

    def found(self, model: Any, weights: Any) -> Found:
        """The fit, as the profile sees it."""
        from partwise.profiles import Found

        return Found(model, self.table, weights, self.settings)

    def name_parts(self, model: Any, weights: Any) -> None:
        """Give the parts their names: those of the command line, or the field's."""
        with told(2):
            if self.job.names is not None:
                model.rename_parts(self.job.names)
            elif self.profile is not None:
                model.rename_parts(self.profile.name_parts(self.found(model, weights)))

    def counted(self, k: int) -> str:
        """So many parts, in the field's word."""
        return f"{k} {'part' if self.profile is None else self.profile.part.lower()}{'s' * (k != 1)}"

    def write(self, folder: RunFolder, found: Found) -> None:
        """The tables of the field."""
        for output in [] if self.profile is None else self.profile.outputs(found):
            folder.write(output.name, partial(_write, columns=output.columns, rows=output.rows))

    def shown(self, found: Found) -> dict[str, Any]:
        """What the report has of the field."""
        if self.profile is None:
            return {}
        words = (self.profile.part.lower(), self.profile.sample, self.profile.feature)
        return {"panels": self.profile.panels(found), "scores": self.profile.scores(found), "words": words}


def _choice(profile: Profile) -> str:
    prepared = f" on {profile.preprocess}" if profile.preprocess != "none" else ""
    return f"the method {profile.method}{prepared}"


def _differs(field: Field) -> bool:
    profile = field.profile
    return profile is not None and (profile.method, profile.preprocess) != (field.job.method, field.job.preprocess)


def _settings(job: Job) -> Settings:
    from partwise.io import Table, read
    from partwise.profiles import Settings

    reference: Any = None
    if job.reference == COSMIC and not Path(COSMIC).exists():
        from partwise.datasets import load_cosmic
        from partwise.exceptions import DataNotFoundError

        try:
            known = load_cosmic()
        except DataNotFoundError as error:
            raise Failure(f"--reference cosmic: {error}", 2) from error
        reference = Table(known.components, known.feature_names, known.component_names, origin=COSMIC)
    elif job.reference is not None:
        with told(2):
            reference = read(job.reference)
    return Settings(job.map_shape, reference)


def _write(path: Path, columns: Any, rows: Any) -> None:
    from partwise.io.atomic import write_atomically
    from partwise.io.writing import cell

    lines = [",".join(map(cell, columns)), *(",".join(map(cell, row)) for row in rows)]
    write_atomically(path, lambda file: file.write(("\n".join(lines) + "\n").encode()))
