"""What decides every bit of a fit: kept in the manifest, and given back by it."""

from __future__ import annotations

import dataclasses
import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from types import NoneType
from typing import Any

from partwise.cli.console import Failure
from partwise.cli.reading import Reading, flags

KINDS: dict[str, Any] = {
    "method": str,
    "k": (int, NoneType),
    "seed": int,
    "options": dict,
    "preprocess": str,
    "weigh": (str, NoneType),
    "weights_format": str,
    "names": (list, NoneType),
    "field": (str, NoneType),
    "reference": (str, NoneType),
    "fixed": (str, NoneType),
    "starts": (int, NoneType),
}
LATER = {**dict.fromkeys(("weigh", "names", "field", "reference", "map_shape", "fixed", "starts")), "judge": False}
FILES = ("feature_names", "sample_names", "vocabulary", "stop_words")
FLAGS = {
    "max_iter": "--max-iter",
    "tol": "--tol",
    "init": "--init",
    "missing": "--missing",
}  # options of methods that have flags of their own


@dataclass(frozen=True)
class Job:
    """A fit as it was asked for."""

    data: str
    method: str = "parts"
    k: int | None = None
    seed: int = 0
    options: dict[str, Any] = dataclasses.field(default_factory=dict)
    preprocess: str = "none"
    weigh: str | None = None
    judge: bool = True
    image_shape: tuple[int, int] | None = None
    weights_format: str = "auto"
    names: list[str] | None = None
    field: str | None = None
    reference: str | None = None
    map_shape: tuple[int, int] | None = None
    fixed: str | None = None
    starts: int | None = None
    reading: Reading = dataclasses.field(default_factory=Reading)

    @property
    def start(self) -> Path | None:
        """File or folder of the components to start from."""
        given = self.options.get("init")
        return Path(str(given)) if _is_file(given) else None

    @property
    def path(self) -> str:
        """DATA, from wherever the program is started."""
        return str(Path(self.data).absolute())

    def as_json(self) -> dict[str, Any]:
        """For the manifest; without DATA, whose place is told there. Files are found from anywhere."""
        reading = {name: _absolute(value) if name in FILES else value for name, value in self.reading.given().items()}
        options = {name: _absolute(value) if name == "init" else value for name, value in self.options.items()}
        values = asdict(self) | {"reading": reading, "options": options, "reference": _absolute(self.reference)}
        del values["data"]
        return values

    @classmethod
    def of_json(cls, values: Any, data: str) -> Job:
        """From a manifest."""
        # what is not in manifests of earlier versions
        values = {**LATER, **values} if isinstance(values, Mapping) else values
        try:
            shape = None if values["image_shape"] is None else "x".join(map(str, values["image_shape"]))
            for name, kind in KINDS.items():
                if not isinstance(values[name], kind) or isinstance(values[name], bool):
                    raise TypeError(f"{name} is {values[name]!r}")
            return cls(
                data=data,
                reading=Reading.of_json(values["reading"]),
                image_shape=parse_shape(shape, "image_shape"),
                map_shape=None if values["map_shape"] is None else parse_shape("x".join(map(str, values["map_shape"]))),
                judge=bool(values["judge"]),
                **{name: values[name] for name in KINDS},
            )
        except (KeyError, TypeError) as error:
            raise Failure(f"the manifest does not say what was done ({error})", 2) from error

    def command(self, out: Path) -> str:
        """The command that does it."""
        words = ["partwise", "fit", self.data, "--method", self.method]
        words += ["-k", str(self.k)] if self.k is not None else []
        for name, value in self.options.items():
            text = value if isinstance(value, str) else json.dumps(value)
            words += [FLAGS[name], text] if name in FLAGS else ["--set", f"{name}={text}"]
        words += ["--seed", str(self.seed)] if self.seed else []
        words += ["--preprocess", self.preprocess] if self.preprocess != "none" else []
        words += ["--weigh", self.weigh] if self.weigh is not None else []
        words += [] if self.judge else ["--no-judge"]
        words += ["--image-shape", "x".join(map(str, self.image_shape))] if self.image_shape else []
        words += ["--as", self.field] if self.field else []
        words += ["--reference", self.reference] if self.reference else []
        words += ["--fixed", self.fixed] if self.fixed else []
        words += ["--starts", str(self.starts)] if self.starts else []
        words += ["--map-shape", "x".join(map(str, self.map_shape))] if self.map_shape else []
        words += ["--names", ",".join(self.names)] if self.names else []
        words += ["--weights-format", self.weights_format] if self.weights_format != "auto" else []
        return shlex.join([*words, *flags(self.reading), "-o", str(out)])

    def differing(self, other: Job) -> str | None:
        """A sentence about the first thing in which another job differs."""
        mine, theirs = _flat(self), _flat(other)
        for name in mine | theirs:
            if mine.get(name) != theirs.get(name):
                return f"{name} was {mine.get(name)} in that run and is {theirs.get(name)} now"
        return None


def _absolute(value: Any) -> Any:
    return str(Path(value).absolute()) if _is_file(value) else value


def _is_file(value: Any) -> bool:
    """Whether a value names a file, and not a start or a language."""
    from partwise.datasets.words import LANGUAGES
    from partwise.starts import INITS

    return isinstance(value, str) and value not in (*INITS, *LANGUAGES, "auto", "none") and Path(value).exists()


def _flat(job: Job) -> dict[str, Any]:
    values: Mapping[str, Any] = job.as_json()
    flat = {name: value for name, value in values.items() if name not in ("reading", "options")}
    return {"DATA": job.path} | flat | {**values["options"], **values["reading"]}


def parse_shape(text: str | None, flag: str = "--image-shape") -> tuple[int, int] | None:
    """Height and width from "28x28"."""
    if text is None:
        return None
    found = re.fullmatch(r"([1-9][0-9]{0,8})x([1-9][0-9]{0,8})", text.lower())
    if not found:
        raise Failure(f"{flag} {text}: give height x width, such as 28x28", 2)
    return int(found[1]), int(found[2])


def parse_settings(settings: list[str]) -> dict[str, Any]:
    """Options from name=value, each given once."""
    from partwise.estimators.options import parse_value

    found: dict[str, Any] = {}
    for text in settings:
        name, equals, value = text.partition("=")
        name = name.strip().replace("-", "_")
        if not equals or not name:
            raise Failure(f"--set {text}: give name=value, such as --set sweeps=2", 2)
        if name in found:
            raise Failure(f"--set {name} is given twice", 2)
        found[name] = parse_value(value)
    return found


def parse_names(text: str | None) -> list[str] | None:
    """Names of parts, of a file or with commas between."""
    if text is None:
        return None
    if Path(text).is_file():
        lines = Path(text).read_text(encoding="utf-8", errors="replace").splitlines()
        return [line.strip() for line in lines if line.strip()]
    return [name.strip() for name in text.split(",")]
