"""Why a fit ended, as a value."""

from __future__ import annotations

import json
from typing import Any

import pytest

from partwise.estimators.telling import SENTENCES, reason
from partwise.outcomes import KINDS, Stop


def test_round_trip() -> None:
    stop = Stop("converged", 1e-7, 1e-6, 12, "kkt", before=Stop("floor", 0.1, cause="threshold"))
    values = json.loads(json.dumps(stop.as_dict(), allow_nan=False))
    assert Stop.of_dict(values).as_dict() == stop.as_dict()
    assert values["before"] == {"kind": "floor", "value": 0.1, "n_iter": 0, "cause": "threshold"}


def test_what_is_not_known_in_both_is_equal() -> None:
    stop, same = (Stop("passes", 3, tolerance=float("nan"), n_iter=10) for _ in range(2))
    assert stop == same
    assert len({stop, same}) == 1
    assert stop != Stop("passes", 4, n_iter=10)
    assert stop != "passes"


@pytest.mark.parametrize(
    "values",
    [
        {"kind": "bored"},
        {"kind": "settled", "value": "x"},
        {"kind": "settled", "n_iter": "{x}"},
        {"kind": "settled", "measure": [1]},
        {"kind": "settled", "details": "abc"},
        {"kind": "settled", "details": {"value": 1.0}},
        {"kind": "settled", "details": {"records": "x"}},
        {"kind": "settled", "before": "x"},
    ],
    ids=str,
)
def test_what_no_stop_is_made_of_is_refused(values: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="stop"):
        Stop(**values)


def test_every_kind_has_a_sentence() -> None:
    assert {name.partition("/")[0] for name in SENTENCES} == set(KINDS) - {"converged"}
    assert reason(Stop("settled", cause="cone")) == "it ended (settled)"  # a file may leave out what goes with it
