"""The package as a whole: light to import, documented, and as its README says."""

from __future__ import annotations

import importlib
import inspect
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import is_dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from numpydoc.validate import validate

import partwise

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = ["pip install '.[all]' && partwise demo", "pip install '.[all,test]' && pytest"]
PUBLIC_MODULES = ("belief", "datasets", "io", "metrics", "linalg", "noise", "sources", "starts", "plots")

HEAVY = ("numba", "dask", "distributed", "matplotlib", "polars", "pandas")

# numpydoc's checks that are not ours, with the reason
IGNORED = {
    "GL01": "wants the summary on a line of its own, before numpydoc 1.11",
    "ES01": "many summaries say all there is to say",
    "EX01": "methods are shown in their class's examples",
    "SA01": "'See Also' sections go stale; docs/methods.md compares",
    "SS05": "takes nouns that end in s ('Weights ...') for verbs",
}
# Building blocks whose names and summaries say what they take.
ONE_LINERS = {
    "partwise.sources.add",
    "partwise.sources.brings_own_rows",
    "partwise.sources.inspect",
    "partwise.sources.pairwise_tree",
    "partwise.starts.random_start",
    "partwise.starts.nndsvd_start",
    "partwise.starts.pure_start",
}


def run_python(code: str, *arguments: str) -> str:
    command = [sys.executable, *arguments, "-c", code]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout


def test_run_as_a_module():
    command = [sys.executable, "-m", "partwise", "--version"]
    told = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout
    assert told.split() == ["partwise", partwise.__version__]


def test_lowest_versions_are_those_of_the_project_file():
    told = subprocess.run([sys.executable, ROOT / ".ci" / "lowest"], check=True, capture_output=True, text=True).stdout
    lowest = dict(line.split("==") for line in told.splitlines() if "==" in line)
    assert lowest.keys() >= {"numpy", "scipy", "numba", "typer", "dask", "cloudpickle", "pillow", "pytest"}
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert all(re.search(rf'"{name}(\[\w+\])?>={number}["<,]', project) for name, number in lowest.items())


def test_import_is_light():
    code = "import json, sys, partwise; print(json.dumps(sorted(sys.modules)))"
    loaded = {name.partition(".")[0] for name in json.loads(run_python(code))}
    assert "partwise" in loaded
    assert loaded.isdisjoint(HEAVY)


def test_import_is_fast():
    code = "import sklearn, time; t = time.perf_counter(); import partwise; print(time.perf_counter() - t)"
    # the machine may be busy: one good run of a few is enough
    assert any(float(run_python(code)) < 0.3 for _ in range(5))


def test_public_names_resolve():
    missing = [name for name in partwise.__all__ if not hasattr(partwise, name)]
    assert missing == []
    assert set(partwise.__all__) <= set(dir(partwise))
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        partwise.nonsense  # noqa: B018


@pytest.mark.parametrize("module", PUBLIC_MODULES)
def test_names_of_public_modules_resolve(module: str):
    home = importlib.import_module(f"partwise.{module}")
    assert [name for name in home.__all__ if not hasattr(home, name)] == []


def test_version():
    assert partwise.__version__ == version("partwise")
    assert f"[{partwise.__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(r"^version: (.*)$", citation, re.MULTILINE)[1] == partwise.__version__


@pytest.mark.parametrize("command", COMMANDS)
def test_readme_has_the_commands(command: str):
    assert README.splitlines().count(command) == 1


def test_readme_picture_is_small():
    assert (ROOT / "docs/images/demo.png").stat().st_size < 150_000


def documented(module: str) -> Iterator[str]:
    """Public classes and functions of a module, and the public methods that our classes define."""
    home = importlib.import_module(f"partwise.{module}".rstrip("."))
    for name in home.__all__:
        value = getattr(home, name)
        if not callable(value):
            continue
        path = f"{home.__name__}.{name}"
        yield path
        # sources share the verbs that RowSource documents
        if inspect.isclass(value) and module != "sources":
            for method, function in inspect.getmembers(value, inspect.isfunction):
                if not method.startswith("_") and function.__module__.startswith("partwise."):
                    yield f"{path}.{method}"


@pytest.mark.parametrize("module", ["", *PUBLIC_MODULES], ids=lambda module: module or "partwise")
def test_docstrings(module: str):
    errors = []
    for path in sorted(set(documented(module))):
        ignored = set(IGNORED)
        if path in ONE_LINERS:
            ignored |= {"PR01", "RT01"}
        value = resolve(path)
        if is_dataclass(value) or getattr(value, "_is_protocol", False):
            ignored.add("PR01")  # fields may be described as attributes; nobody calls a protocol
        errors += [f"{path}: {code}: {text}" for code, text in validate(path)["errors"] if code not in ignored]
    assert errors == []


def resolve(path: str) -> Any:
    value: Any = partwise
    for name in path.split(".")[1:]:
        value = getattr(value, name)
    return value


def test_sources_name_no_local_paths():
    pattern = re.compile(r"""["'(\s=](/(?:home|root|Users|work|opt|tmp|mnt|srv)/)|[A-Z]:\\\\Users""")
    found = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in sorted((ROOT / "src").rglob("*.py"))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if pattern.search(line)
    ]
    assert found == []
