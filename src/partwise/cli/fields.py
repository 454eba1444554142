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
STARTS = "starts.safetensors"  # what many starts agree on
OUTPUTS: tuple[str, ...] = (
    "exposures.csv",
    "signatures.csv",
    "matches.csv",
    "decomposition.csv",
    "markers.csv",
    "usage.csv",
)
OUTPUTS += ("abundances.csv", "residual_spectrum.csv", "library.csv", "topics.csv", "topic_documents.csv")
OUTPUTS += ("document_shares.csv", "topics_over_time.csv", "consensus.csv", STARTS)
AGREED = (
    "Stability: the mean cosine of the parts that the starts found with their median, 1 where all are the same. "
    "Found in: the share of the starts that have the part. The fit began at these medians."
)
CUBES = ("MATLAB", "npy", "npz")  # of three dimensions, which say nothing of what they are
UNCHANGED = ("none", "unit")  # preparations of samples that leave the shapes of parts as they are
FIXING = ("hals", "anls", "likelihood")  # methods that take parts as they are; the first where the field's does not


def of_field(data: str, given: dict[str, Any]) -> dict[str, Any]:
    """What is to be done, with what the field sets where the command line says nothing."""
    from partwise.cli.reading import Reading
    from partwise.profiles import PROFILES

    name = given.get("field")
    if name in (None, NONE):
        return {"method": FIXING[0], **given} if given.get("fixed") else given
    if name not in PROFILES:
        raise Failure(f"--as must be one of {', '.join(sorted(PROFILES))}, none; got {name!r}", 2)
    profile = PROFILES[name]
    reading = given.get("reading", Reading())
    format = profile.formats.get(Path(data).suffix.lower())
    if format is not None and reading.format is None and Path(data).is_file():
        reading = replace(reading, format=format)
    method = FIXING[0] if given.get("fixed") and profile.method not in FIXING else profile.method
    set_ = {"method": method, "preprocess": profile.preprocess, "reading": reading}
    if "method" not in given and method == profile.method and profile.options:
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
        self.agreement: Any = None  # of many starts, where they were asked for
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
        if job.reading.varying is not None and self.table.feature_names != table.feature_names:
            raise Failure("--varying chose among the columns of the file, which are samples: give --transpose too", 2)
        if self.profile is None or self.profile.name not in ("spectra", "signatures"):
            self._refuse_settings()
        elif job.field is None and job.map_shape is not None:
            self.table = self.profile.shaped(table, self.settings)
        if self.settings.reference is not None:
            self.known(self.settings.reference)  # before the fit, not after it

    def known(self, reference: Table) -> tuple[list[str], Any]:
        """Names and rows of the known parts, over the features of the data."""
        from partwise.profiles.reference import aligned_reference

        with told(2):
            return aligned_reference(reference, self.table.feature_names, self.table.X.shape[1])

    def _refuse_settings(self) -> None:
        if self.job.reference is not None and self.job.fixed is not None:
            return  # known parts are of any field
        for flag, value in (("--map-shape", self.job.map_shape), ("--reference", self.job.reference)):
            if value is not None:
                fields = "spectra" if flag == "--map-shape" else "spectra or signatures"
                raise Failure(f"{flag} is for --as {fields}", 2)

    def fixed(self) -> tuple[list[str], Any]:
        """Names and rows of the parts that stay as they are."""
        wanted = self.job.fixed
        if wanted is None:
            return [], None
        if self.settings.reference is None:
            raise Failure("--fixed names parts of --reference: give the file that has them", 2)
        names, rows = self.known(self.settings.reference)
        chosen = names if wanted == "all" else [name.strip() for name in wanted.split(",") if name.strip()]
        unknown = next((name for name in chosen if name not in names), None)
        if unknown is not None or not chosen:
            raise Failure(f"--fixed: {self.job.reference} has no {unknown!r}; it has {', '.join(names[:8])} ...", 2)
        if self.job.k is not None and self.job.k < len(chosen):
            raise Failure(f"-k {self.job.k} counts the {len(chosen)} parts of --fixed too: give at least that", 2)
        return chosen, rows[[names.index(name) for name in chosen]]

    @property
    def notes(self) -> list[str]:
        """What was decided without being told."""
        if self.job.field is None and self.table.image_shape and self.table.format in CUBES:
            n, height, width = self.table.X.shape[0], *self.table.image_shape
            read = f"{n} x {height} x {width} numbers are taken for {n:,} images of {height} x {width}"
            return [f"{read}; --as spectra takes them for {n} x {height} pixels of {width} bands."]
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
            elif self.profile is not None or self.job.fixed is not None:
                known = self.fixed()[0]
                numbered = [f"Part {j + 1}" for j in range(len(model.components_))]
                found = numbered if self.profile is None else self.profile.name_parts(self.found(model, weights))
                model.rename_parts(known + [f"{name} (new)" * (name in known) or name for name in found[len(known) :]])

    def counted(self, k: int) -> str:
        """So many parts, in the field's word."""
        return f"{k} {'part' if self.profile is None else self.profile.part.lower()}{'s' * (k != 1)}"

    def write(self, folder: RunFolder, found: Found) -> None:
        """The tables of the field, and how far starts agree."""
        from partwise.profiles import Output

        tables = [] if self.profile is None else list(self.profile.outputs(found))
        if self.agreement is not None:
            tables.append(Output("consensus.csv", *_stability(self.agreement, found)))
        for output in tables:
            folder.write(output.name, partial(write_rows, columns=output.columns, rows=output.rows))

    def shown(self, found: Found) -> dict[str, Any]:
        """What the report has of the field."""
        from partwise.profiles import Listing

        panels: list[Any] = [] if self.profile is None else list(self.profile.panels(found))
        if self.agreement is not None:
            columns, rows = _stability(self.agreement, found)
            panels.append(Listing("Agreement of starts", columns, [list(map(str, row)) for row in rows], AGREED))
        if self.profile is None:
            return {"panels": panels} if panels else {}
        words = (self.profile.part.lower(), self.profile.sample, self.profile.feature)
        return {"panels": panels, "scores": self.profile.scores(found), "words": words}


def keep_parts(model: Any, fixed: Any, job: Job) -> None:
    """Give a model the parts that stay as they are, if it can keep some."""
    if "fixed" not in model.get_params(deep=False):
        raise Failure(f"--fixed is for --method {', '.join(FIXING)}; {job.method} cannot keep a part", 2)
    if job.preprocess not in UNCHANGED:
        raise Failure(
            f"--fixed takes parts as the file has them, but --preprocess {job.preprocess} makes other numbers of the "
            f"data: --preprocess {' or '.join(UNCHANGED)}",
            2,
        )
    model.set_params(fixed=fixed)


def _stability(agreement: Any, found: Found) -> tuple[list[str], list[list[Any]]]:
    """A line for each part that is not fixed: how alike the starts' parts are, and how many starts have it."""
    from partwise.metrics import match_components
    from partwise.profiles.base import figure

    fixed = len(found.components) - len(agreement.start)
    places = match_components(agreement.start, found.components[fixed:]).permutation
    rows = [
        [name, figure(agreement.stability[i]), figure(agreement.found[i])]
        for name, i in zip(found.names[fixed:], places, strict=True)
    ]
    return ["part", "stability", "found_in"], rows


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


def write_rows(path: Path, columns: Any, rows: Any) -> None:
    """A table of the program, whole or not at all."""
    from partwise.io.atomic import write_atomically
    from partwise.io.writing import cell

    lines = [",".join(map(cell, columns)), *(",".join(map(cell, row)) for row in rows)]
    write_atomically(path, lambda file: file.write(("\n".join(lines) + "\n").encode()))
