"""A fault at some of the calls to the disk of each command; `python -m benchmarks faults` has all of them."""

from __future__ import annotations

import pytest

pytest.importorskip("polars")
faults = pytest.importorskip("benchmarks.faults")
# as many calls as time allows, another one for each fault: the report of a fit costs most
SOME = {"fit": 1, "nmf": 2, "transform": 2, "save": 4, "spool": 2, "tables": 2}
WHOLE: dict[str, tuple[list[tuple[str, str]], dict[str, object]]] = {}


def undisturbed(name: str) -> tuple[list[tuple[str, str]], dict[str, object]]:
    if name not in WHOLE:
        WHOLE[name] = faults.calls(faults.COMMANDS[name])
    return WHOLE[name]


@pytest.mark.filterwarnings("ignore")  # that a checkpoint could not be written, that limits were reached
@pytest.mark.parametrize("fault", faults.FAULTS)
@pytest.mark.parametrize("name", SOME)
def test_no_fault_tears_a_file_or_changes_a_bit(name: str, fault: str):
    made, wanted = undisturbed(name)
    places = [at for kind, at in faults.places(made) if kind == fault]
    first = faults.FAULTS.index(fault) * 7
    for at in {places[(first + i * len(places) // SOME[name]) % len(places)] for i in range(SOME[name])}:
        assert faults.disturbed(name, fault, at, wanted).findings == ()
