"""One half measured by the other: planted differences are read back, equal halves do not differ at all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import partwise as pw
from partwise.algorithms.loop import Ending, Progress, under
from partwise.algorithms.monitor import BETA, COLUMN, STATE, Halves, Reference, Watch, fall, monitored, split
from partwise.metrics import correlation_conditions
from partwise.outcomes import Stop
from partwise.sources import MemorySource

K, M = 4, 30
RNG = np.random.default_rng(3)
TRUTH = np.abs(RNG.standard_normal((K, M)))
WEIGHTS = (RNG.random((400, K)) < 0.4).astype(float)
WEIGHTS[0] = 1.0  # every part is somewhere, and the largest sum of weights is known
HELD = MemorySource(WEIGHTS @ TRUTH, block_rows=64)
ORDER = np.array([2, 0, 3, 1])


def reference() -> Reference:
    return Reference.of(TRUTH, HELD)


def mixed(size: float) -> tuple[np.ndarray, np.ndarray]:
    """Components ``(Sigma + E).T @ truth`` in another order and scale, and the E divided by Sigma."""
    E = size * np.random.default_rng(5).uniform(-1.0, 1.0, (K, K))
    np.fill_diagonal(E, 0.0)
    sigma = np.array([1.0, 2.0, 0.5, 4.0])
    return ((np.diag(sigma) + E * sigma).T @ TRUTH)[ORDER], E


def watched(*components: np.ndarray) -> list[dict[str, float]]:
    watch = Watch(reference(), HELD, iter([Progress(H, 0.0) for H in components]))
    return [{name[len(COLUMN) :]: value for name, value in watch.step().items()} for _ in components]


def symmetrised(E: np.ndarray) -> float:
    return max(np.abs(E).sum(axis=0).max(), np.abs(E).sum(axis=1).max())


def test_a_planted_difference_is_read_back() -> None:
    H, E = mixed(0.05)
    [found] = watched(H)
    a, b = symmetrised(np.maximum(E, 0.0)), symmetrised(np.maximum(-E, 0.0))
    expected = {
        "E_2": np.linalg.norm(E, 2),
        "E_s": symmetrised(E),
        "E_plus": a,
        "E_minus": b,
        "potential": a + BETA * b,
    }
    # Sigma + E is solved for in a basis of condition below 10: some hundred roundings
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, rel=1e-12), name
    assert found["N_2"] < 1e-13
    assert np.isnan(found["contraction"])


def test_what_lies_outside_the_span_of_the_other_half_is_N() -> None:
    beyond = np.random.default_rng(6).standard_normal((K, M))
    beyond -= beyond @ np.linalg.pinv(TRUTH) @ TRUTH
    [found] = watched(TRUTH + beyond)
    assert found["N_2"] == pytest.approx(np.linalg.norm(beyond, 2), rel=1e-12)
    assert found["E_s"] < 1e-12


def test_equal_halves_do_not_differ() -> None:
    """In another order and twice the size: powers of two change no digit."""
    watch = Watch(reference(), HELD, iter([Progress(2.0 * TRUTH[ORDER], 0.0)]))
    found = watch.step()
    assert found[f"{COLUMN}decoding"] == 0.0
    assert watch.halves(TRUTH[::-1]).disagreement.tolist() == [0.0] * K
    assert found[f"{COLUMN}E_s"] < 1e-14  # a solve, rounded


def test_contraction_is_that_of_the_potential() -> None:
    columns = watched(mixed(0.08)[0], mixed(0.02)[0], mixed(0.02)[0])
    assert [row["contraction"] for row in columns[1:]] == pytest.approx([0.25, 1.0], rel=1e-11)


def test_decoding_is_the_difference_of_the_weights_of_the_held_rows() -> None:
    H, _ = mixed(0.05)
    [found] = watched(H)
    # each component scaled to be nearest to the one that it is matched with
    ours = np.array([h * (h @ t) / (h @ h) for h, t in zip(H[np.argsort(ORDER)], TRUTH, strict=True)])
    one, other = (np.maximum(HELD.X @ np.linalg.pinv(C), 0.0) for C in (ours, TRUTH))
    assert found["decoding"] == pytest.approx(np.linalg.norm(one - other) / np.linalg.norm(other), rel=1e-10)


def test_threshold_by_theorem_4() -> None:
    """In the unit of the weights of the half: components twice as long have weights half as large."""
    uniform = MemorySource(np.random.default_rng(0).random((3000, K)) @ TRUTH)
    against = Reference.of(TRUTH, uniform)
    assert 0.9 < against.q < 1.3  # uniform weights have order 1
    H, _ = mixed(0.05)
    rows = [Watch(against, uniform, iter([Progress(C, 0.0)])).step() for C in (H, 2.0 * H)]
    scales = pw.metrics.match_components(H, against.H).scales
    expected = (against.lam * rows[0][f"{COLUMN}E_2"] / against.r) ** (2.0 / (against.q + 1.0)) * np.median(scales)
    alphas = [row[f"{COLUMN}alpha"] for row in rows]
    assert alphas == pytest.approx([expected, expected / 2.0], rel=1e-12)


def test_threshold_of_weights_of_zero_and_one_is_that_of_theorem_1() -> None:
    assert Reference(TRUTH, 3.0, 1.0, np.inf).alpha(0.01) == 0.25
    assert np.isnan(Reference(TRUTH, 0.0, np.nan, np.inf).alpha(0.01))  # no weights at all


@pytest.mark.parametrize("unit", [1.0, 7.0])
def test_the_reference_has_weights_of_at_most_one(unit: float) -> None:
    found = Reference.of(TRUTH / unit, HELD)
    np.testing.assert_allclose(found.H, TRUTH, rtol=1e-12)
    known = correlation_conditions(WEIGHTS)
    assert (found.r, found.lam) == pytest.approx((K, known.lam), rel=1e-9)
    assert found.q > 100.0  # weights are 0 or 1, to rounding


def test_a_watch_goes_on_from_its_state() -> None:
    parts = [Progress(mixed(size)[0], 0.0, state={"size": size}) for size in (0.08, 0.04, 0.02)]
    whole = Watch(reference(), HELD, iter(parts))
    rows = [whole.step() for _ in parts]
    broken = Watch(reference(), HELD, iter(parts[:2]))
    for _ in range(2):
        broken.step()
    state = under(STATE, broken.state())
    assert under("own.", state) == {"size": 0.04}
    again = Watch(Reference.from_state(state), HELD, iter(parts[2:]), state)
    assert again.step() == rows[2]
    ended = Watch(Reference.from_state(state), HELD, iter(()), state)  # this half had come to its end
    assert ended.step() == rows[1] | {f"{COLUMN}contraction": 1.0}


def test_the_iterations_stay_what_they_are() -> None:
    def algorithm() -> Any:
        yield Progress(TRUTH, 3.0, 0.5, details={"threshold": 0.1}, state={"at": 0})
        yield Progress(TRUTH, 2.0, 0.1)
        return Stop("settled", cause="change")

    ending = Ending(monitored(algorithm(), Watch(reference(), HELD, iter([Progress(mixed(0.1)[0], 0.0)]))))
    first, second = ending
    assert (first.objective, first.residual, first.details["threshold"], first.state["at"]) == (3.0, 0.5, 0.1, 0)
    assert f"{STATE}reference" in first.state
    assert second.state == {}  # what cannot be gone on from stays so
    assert second.details[f"{COLUMN}contraction"] == 1.0
    assert ending.stop == Stop("settled", cause="change")


def test_parts_that_are_not_numbers_or_depend_on_each_other_measure_nothing() -> None:
    [found] = watched(np.full((K, M), np.nan))
    assert all(np.isnan(value) for value in found.values())
    twice = Reference(np.vstack([TRUTH[:1], TRUTH[:3]]), 1.0, 1.0, 1.0)
    watch = Watch(twice, HELD, iter([Progress(TRUTH, 0.0)]))
    assert np.isnan(watch.step()[f"{COLUMN}E_2"])
    assert watch.halves(TRUTH).disagreement.max() > 0.1


def test_parts_that_the_data_has_not_got_have_nothing_in_common() -> None:
    """AND has zeros in their place; the others are matched as ever."""
    fewer = np.vstack([TRUTH[:3], np.zeros((1, M))])
    watch = Watch(Reference.of(fewer, HELD), HELD, iter([Progress(fewer[ORDER], 0.0)]))
    assert watch.step()[f"{COLUMN}decoding"] == 0.0
    assert watch.halves(fewer[::-1]).disagreement.tolist() == [1.0, 0.0, 0.0, 0.0]


def test_a_half_that_takes_longer_comes_to_its_end() -> None:
    parts = [Progress(mixed(size)[0], 0.0) for size in (0.08, 0.04, 0.02, 0.01)]
    watch = Watch(reference(), HELD, iter(parts))
    watch.step()
    watch.finish(2)
    assert watch.halves(TRUTH).E_s == pytest.approx(symmetrised(mixed(0.02)[1]), rel=1e-11)
    watch.finish(100)
    assert watch.halves(TRUTH).E_s == pytest.approx(symmetrised(mixed(0.01)[1]), rel=1e-11)


def test_halves_are_halves() -> None:
    for n in (10, 11):
        chosen = split(n, np.random.default_rng(0))
        assert (chosen.dtype, chosen.shape, chosen.sum()) == (bool, (n,), n // 2)
    assert not np.array_equal(split(50, np.random.default_rng(0)), split(50, np.random.default_rng(1)))


def test_what_halves_say_of_the_error() -> None:
    halves = Halves(np.array([0.02, 0.1, 0.3]), 1.0, 1.0, 1.0, 1.0)
    assert halves.error.tolist() == [0.01, 0.05, 0.15]
    assert halves.agree.tolist() == [True, True, False]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([np.nan, 8.0, 2.0, 0.5, 0.4, 0.6], (8.0, 0.6, 0.25)),
        ([1.0, 0.9], (1.0, 0.9, np.nan)),  # not by a factor of 2
        ([4.0, 1.0, 5.0], (4.0, 5.0, np.nan)),  # down, and up again beyond the start
        ([np.nan], (np.nan, np.nan, np.nan)),
    ],
)
def test_fall(values: list[float], expected: tuple[float, ...]) -> None:
    np.testing.assert_allclose(fall(values), expected)
