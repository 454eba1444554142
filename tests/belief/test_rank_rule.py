"""What is made of a spectrum and of halves: rules by themselves."""

from __future__ import annotations

import numpy as np
import pytest

from partwise.belief.rank_rule import (
    Agreement,
    Answer,
    Seen,
    by_halves,
    by_spectrum,
    contradicted,
    is_open,
    last_found,
    to_take,
    unasked,
    unconfirmed,
)


def seen(strengths: list[float], count: int, sampled: int, kind: str = "white", **more: object) -> Seen:
    facts = {"capped": False, "variance": 1.0, "chance": 0.5, "left": np.array([1.0, 0.5, 0.4, 0.35])} | more
    return Seen(np.array(strengths), count, kind=kind, sampled=sampled, **facts)


VARIES = [46, 28, 40, 37, 20, 15, 9.8, 5.9, 2.6, 0.9, 0.9]
LEFT = np.array([1.0, 0.17, 0.053, 0.009, 0.0018, 0.0008, 0.0005, 0.0004, 0.0004, 0.0004])


@pytest.mark.parametrize(
    ("spectrum", "answer"),
    [
        (seen([20, 9, 8, 0.9, 0.8], 3, 3), Answer(3, 3, 3, "decided", "spectrum")),
        (seen([20, 9, 3, 0.9, 0.8], 3, 3), Answer(3, 2, 5, "between", "spectrum")),
        # the last one just rises above noise, far behind the others
        (seen([20, 9, 8, 1.3, 0.8, 0.7], 4, 4), Answer(3, 3, 3, "decided", "spectrum")),
        # behind a large step it may be noise that is not what it seems
        (seen([80, 26, 5, 0.9, 0.8], 3, 3), Answer(3, 2, 5, "between", "spectrum")),
        # coloured noise: many directions, the cliff is where the sample's noise begins
        (seen([20, 9, 10, 2.0, 1.9, 1.8, 1.7], 5, 3, "coloured", variance=0.3), Answer(3, 3, 3, "decided", "cliff")),
        (seen([20, 6, 4, 2.0, 1.9, 1.8, 1.7], 5, 3, "coloured", variance=0.3), Answer(3, 2, 5, "between", "cliff")),
        # the end of the table itself is no cliff, neither are directions that leave nothing
        (seen([1, 1, 1.6, 2.8, 2e7, 0], 5, 0, "unclear", variance=0.0, capped=True), None),
        (seen([1, 2, np.inf, np.inf, np.inf], 5, 5, "unclear", variance=0.0, capped=True), None),
        # two cliffs are none
        (seen([24, 13, 60, 18, 6, 5, 3], 5, 6, "coloured", variance=0.7), None),
        # nine directions of which four leave next to nothing: parts that vary
        (seen(VARIES, 9, 9, left=LEFT), Answer(4, 3, None, "undecided", "rest")),
        # as much is left as strong noise leaves: more parts may be in it
        (seen(VARIES, 9, 9, left=20 * LEFT), Answer(9, 8, 13, "between", "spectrum")),
        # what is decided stays so
        (
            seen([20, 9, 8, 0.9, 0.8], 3, 3, left=np.array([1.0, 0.1, 0.01, 0.009])),
            Answer(3, 3, 3, "decided", "spectrum"),
        ),
        # but not beside noise that is not what it seems: what varies within a part has several directions, and a cliff
        (
            seen([46, 13, 27, 18, 17, 19, 1.4, 1.3], 7, 6, "coloured", variance=0.3, left=LEFT),
            Answer(6, 2, None, "undecided", "cliff"),
        ),
        # a tail without end, as real counts have it
        (seen([30, 7, 6, 4, 3.5, 3.4, 2.6, 2.1, 1.7, 1.3, 1.0], 10, 6, "over-dispersed"), None),
    ],
)
def test_what_a_spectrum_decides(spectrum: Seen, answer: Answer | None):
    assert by_spectrum(spectrum) == answer


NO_END = seen([30, 7, 6, 4, 3.5, 3.4, 2.6, 2.1, 1.7, 1.3, 1.0], 10, 6, "over-dispersed")


def agreement(least: tuple[float, ...], again: int, mean: float | None = None) -> Agreement:
    """Splits with these worst partners, and as many parts found again; the others agree."""
    n = len(least)
    means = [(again + one) / (again + 1) for one in least] if mean is None else [mean] * n
    return Agreement(least, (again,) * n, tuple(means))


GOOD = agreement((0.98, 0.985, 0.99, 0.992, 0.987), 3)
BAD = agreement((0.7, 0.72, 0.6, 0.65, 0.71), 3)


def test_the_cliff_of_halves_is_the_number():
    assert by_halves(NO_END, {2: GOOD, 3: GOOD, 4: BAD, 5: BAD}) == Answer(3, 3, None, "undecided", "halves")


@pytest.mark.parametrize(
    ("case", "found"),
    [
        ("nothing behind it", {2: GOOD, 3: GOOD}),
        ("no fall", {3: GOOD, 4: agreement((0.948, 0.947, 0.946, 0.949, 0.948), 3)}),
        ("by chance", {3: GOOD, 4: agreement((0.99, 0.991, 0.2, 0.993, 0.3), 4)}),
        ("many more found again", {3: GOOD, 4: BAD, 5: BAD, 6: agreement(BAD.least, 5)}),
        ("groups: more parts agree better again", {3: GOOD, 4: BAD, 5: BAD, 8: agreement(BAD.least, 4, 0.95)}),
    ],
)
def test_without_a_cliff_there_is_no_number(case: str, found: dict[int, Agreement]):
    answer = by_halves(NO_END, found)
    assert (answer.k, answer.low, answer.high) == (None, 3, None), case


EVERY_TENTH = agreement((0.92, 0.93, 0.91), 2, 0.95)
APART = {3: GOOD, 4: agreement((0.4, 0.6), 3), 6: agreement((0.3,), 4, 0.8)}
# found again in every other split
SOME = agreement((0.99, 0.991, 0.2, 0.3, 0.99, 0.4, 0.5, 0.2), 4, 0.9)


def test_a_number_on_which_halves_agree_four_times_as_well_as_on_its_neighbours_and_on_more_is_it():
    assert by_halves(NO_END, APART | {2: BAD, 4: SOME}) == Answer(3, 3, None, "undecided", "halves")


@pytest.mark.parametrize(
    ("case", "found"),
    [
        ("they agree on one less: groups may have been joined", {2: GOOD}),
        ("one less was not asked about", {}),
        ("they agree on many more", {2: BAD, 8: agreement((0.92,), 4, 0.97)}),
        ("of many more they find more again", {2: BAD, 8: agreement((0.1,), 5, 0.8)}),
    ],
)
def test_a_number_beside_others_on_which_halves_agree_is_none(case: str, found: dict[int, Agreement]):
    assert by_halves(NO_END, APART | {4: SOME} | found).k is None, case


def test_noise_that_depends_on_itself_has_variants_so_no_number_stands_out():
    coloured = seen(list(NO_END.strengths), 10, 6, "coloured")
    assert by_halves(coloured, APART | {2: BAD, 4: SOME}).k is None


CLIFF = seen([30, 12, 11, 10, 9, 8, 1.9, 1.8, 1.8, 1.7, 1.7, 1.6, 1.6], 9, 4, "unclear")


@pytest.mark.parametrize(
    ("case", "found", "k"),
    [
        ("nothing is found again", {2: BAD, 3: BAD, 6: BAD, 7: BAD}, 6),
        ("halves agree far better on fewer parts", {2: GOOD, 3: BAD, 6: BAD, 7: BAD}, None),
        ("little better", {2: EVERY_TENTH, 3: BAD, 6: agreement((0.85, 0.8, 0.88), 5), 7: BAD}, 6),
        ("halves agree better again on more parts", {2: BAD, 6: BAD, 7: BAD, 9: agreement((0.8,), 8)}, None),
    ],
)
def test_a_cliff_of_strengths_that_halves_speak_against_is_no_number(case: str, found: dict[int, Agreement], k: int):
    assert CLIFF.cliff == 6
    assert by_halves(CLIFF, found).k == k, case


def test_no_more_parts_are_sure_than_there_are_directions():
    found = dict.fromkeys(range(2, 7), GOOD) | {7: BAD}
    few = seen([78, 11, 14, 2.9, 2.5, 2.4, 0.9], 5, 6, "unclear")
    assert by_halves(few, found) == Answer(None, 5, None, "undecided", "halves")


def test_nothing_found_again_is_at_least_one():
    assert by_halves(NO_END, {2: BAD, 3: BAD}) == Answer(None, 1, None, "undecided", "halves")


EVERY = agreement((0.92, 0.95, 0.96, 0.94, 0.93, 0.95, 0.96, 0.95), 7)


def test_parts_that_every_split_finds_again_need_not_be_the_same():
    found = {6: BAD, 7: EVERY, 8: agreement((0.4, 0.3, 0.5, 0.4, 0.6, 0.4, 0.4, 0.5), 5)}
    assert last_found(found) == 7
    assert by_halves(NO_END, found).k == 7


@pytest.mark.parametrize(
    ("again", "splits", "number", "open_"),
    [(1, 8, 3, False), (2, 8, None, True), (4, 16, 3, False), (6, 16, None, True)],
)
def test_one_part_more_is_found_again_in_fewer_than_every_second_split(
    again: int, splits: int, number: int | None, open_: bool
):
    next_ = agreement((0.99,) * again + (0.5,) * (splits - again), 3)
    found = {3: GOOD, 4: next_}
    assert by_halves(NO_END, found).k == number
    assert is_open(3, found) == open_


def test_a_spectrum_that_halves_contradict_is_not_sure():
    answer = Answer(5, 4, 8, "between", "spectrum")
    assert not contradicted(answer, {5: GOOD})
    assert contradicted(answer, {5: BAD})
    weak = dict.fromkeys((2, 3), agreement((0.95, 0.96, 0.95), 2, 0.96))
    assert unconfirmed(answer, "white", weak | {4: BAD, 5: BAD}) == Answer(5, 3, None, "undecided", "spectrum")


def test_fewer_parts_that_halves_agree_on_far_better_are_against_a_spectrum():
    answer = Answer(5, 4, 8, "between", "spectrum")
    no_number = Answer(None, 3, None, "undecided", "halves")
    assert unconfirmed(answer, "white", {2: GOOD, 3: GOOD, 4: BAD, 5: BAD}) == no_number
    peak = {2: BAD, 3: GOOD, 4: BAD, 5: BAD}
    assert unconfirmed(answer, "white", peak) == Answer(3, 3, None, "undecided", "halves")
    assert unconfirmed(answer, "coloured", peak) == no_number


def test_that_little_is_left_is_a_number_where_halves_say_so():
    answer = Answer(4, 3, None, "undecided", "rest")
    assert not contradicted(answer, {4: GOOD})
    assert unasked(answer) == Answer(None, 3, None, "undecided", "rest")
    left = unconfirmed(answer, "coloured", {2: GOOD, 3: BAD, 4: BAD})
    assert left == Answer(None, 2, None, "undecided", "rest", guess=4)


@pytest.mark.parametrize(
    ("again", "low", "taken"),
    [
        ({}, 3, 3),
        ({2: 2.0, 3: 3.0, 4: 2.0}, 3, 3),
        ({2: 2.0, 3: 1.2, 5: 4.0, 6: 3.1}, 2, 5),
        ({4: 4.0, 8: 6.0, 10: 8.0, 20: 11.0}, 4, 10),  # twelve more, of which three are found again
    ],
    ids=["nothing asked", "no more than is sure", "behind a gap", "not as many as possible"],
)
def test_parts_to_take_are_those_of_which_most_are_found_again(again: dict[int, float], low: int, taken: int):
    assert to_take(again, low) == taken
