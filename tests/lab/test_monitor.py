"""What is claimed of the proof monitor: a predictor that knows the error meets it, and none that knows nothing does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from partwise.lab import Measurements, Reproduction, find_experiment

METHOD = "and-watched"
IDS = ("more-than-the-residual", *(f"{what}-{METHOD}" for what in ("typical", "rank", "verdicts", "says-no")))
ERRORS = np.geomspace(1e-3, 0.8, 12)


def judged(predict: Callable[[float], float], apart: Callable[[float], float], method: str = METHOD) -> dict[str, str]:
    """The verdicts, if this is what halves said of these errors; the residual of the fit is the same in all."""
    definition = find_experiment("proof-monitor")
    rows = []
    for i, error in enumerate(ERRORS):
        against = ("noise as large as the data", "a part too many")[i % 2] if error > 0.3 else ""
        cell = {"case": str(i), "method": method, "seed": 0, "n": 100 * (1 + i % 2), "noise": 0.1, "kind": "DIR"}
        cell |= {"median_error": error, "worst_error": error, "predicted": predict(error), "against": against}
        rows.append(cell | {"apart": apart(error), "unexplained": 0.1})
    result = Reproduction(definition, Measurements(rows), Measurements(()), {})
    return {claim.id: claim.judge(result).ours.name for claim in definition.claims if claim.id in IDS}


def test_a_predictor_that_knows_meets_them() -> None:
    found = judged(lambda error: 1.1 * error, lambda error: float(error > 0.05))
    assert set(found.values()) == {"reproduced"}
    assert set(found) == set(IDS)


@pytest.mark.parametrize("said", [1e-6, 0.02, 1.0])
def test_a_constant_meets_none(said: float) -> None:
    """Whatever it says, there is a claim of every kind that it fails."""
    always, never = (judged(lambda error: said, lambda error, apart=apart: apart) for apart in (1.0, 0.0))
    for found in (always, never):
        assert found["rank-and-watched"] == found["more-than-the-residual"] == "not reproduced"
        assert found["verdicts-and-watched"] == "not reproduced"
    assert never["says-no-and-watched"] == "not reproduced"


def test_what_is_wrong_the_other_way_round_meets_none() -> None:
    found = judged(lambda error: 1e-3 / error, lambda error: float(error < 0.05))
    assert set(found.values()) == {"not reproduced"}


def test_methods_that_predict_nothing_are_not_measured() -> None:
    """The start, or zeros in place of parts, say nothing of their error."""
    found = judged(lambda error: float("nan"), lambda error: float("nan"))
    assert set(found.values()) == {"not measured"}


def test_misses_are_explained_with_numbers() -> None:
    definition = find_experiment("proof-monitor")
    claims = {claim.id: claim for claim in definition.claims}
    cells = [
        {"median_error": 0.02, "worst_error": 0.02, "predicted": 0.01, "apart": 1.0, "n": 100},
        {"median_error": 0.03, "worst_error": 0.5, "predicted": 0.01, "apart": 0.0, "n": 400},
    ]
    common = {"seed": 0, "kind": "CTM, correlated", "against": ""}
    rows = [{"case": str(cell["n"]), "method": METHOD} | cell | common for cell in cells]
    for case, least, half in (("100", 0.009, 0.6), ("400", 0.011, 0.2)):
        rows.append({"case": case, "method": "true-weights", "median_error": least, "worst_error": least} | common)
        rows.append({"case": case, "method": "and-half", "lost": half} | common)
    result = Reproduction(definition, Measurements(rows), Measurements(()), {})
    text = claims["correlated-and"].judge(result).ours.why
    assert text.startswith("It is 2 on 100 samples, 3 on 400 samples.")
    assert text.endswith("errs by 1.00 of what the halves predict.")
    text = claims["verdicts-and-watched"].judge(result).ours.why
    assert text.startswith("1 of 1 good fits are doubted, 1 of 1 bad ones are not.")
    assert "Of halves drawn anew 60% lose a part where a good fit is doubted, not measured where it is not" in text
    grown = replace(claims["blind-to-bias"], arguments={"against": ""}, ours=METHOD)
    assert grown.judge(result).ours.value == pytest.approx(1.5)
