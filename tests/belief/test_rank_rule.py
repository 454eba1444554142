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
    unconfirmed,
)


def seen(strengths: list[float], count: int, sampled: int, kind: str = "white", **more: object) -> Seen:
    facts = {"capped": False, "variance": 1.0, "chance": 0.5} | more
    return Seen(np.array(strengths), count, kind=kind, sampled=sampled, **facts)


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
        # a tail without end, as real counts have it
        (seen([30, 7, 6, 4, 3.5, 3.4, 2.6, 2.1, 1.7, 1.3, 1.0], 10, 6, "over-dispersed"), None),
    ],
)
def test_what_a_spectrum_decides(spectrum: Seen, answer: Answer | None):
    assert by_spectrum(spectrum) == answer


NO_END = seen([30, 7, 6, 4, 3.5, 3.4, 2.6, 2.1, 1.7, 1.3, 1.0], 10, 6, "over-dispersed")
GOOD = Agreement((0.98, 0.985, 0.99, 0.992, 0.987), (3,) * 5)
BAD = Agreement((0.7, 0.72, 0.6, 0.65, 0.71), (3,) * 5)


def test_the_cliff_of_halves_is_the_number():
    assert by_halves(NO_END, {2: GOOD, 3: GOOD, 4: BAD, 5: BAD}) == Answer(3, 3, None, "undecided", "halves")


@pytest.mark.parametrize(
    ("case", "found"),
    [
        ("nothing behind it", {2: GOOD, 3: GOOD}),
        ("no fall", {3: GOOD, 4: Agreement((0.948, 0.947, 0.946, 0.949, 0.948), (3,) * 5)}),
        ("by chance", {3: GOOD, 4: Agreement((0.99, 0.991, 0.2, 0.993, 0.3), (4,) * 5)}),
        ("many more found again", {3: GOOD, 4: BAD, 5: BAD, 6: Agreement(BAD.least, (5,) * 5)}),
    ],
)
def test_without_a_cliff_there_is_no_number(case: str, found: dict[int, Agreement]):
    answer = by_halves(NO_END, found)
    assert (answer.k, answer.low, answer.high) == (None, 3, None), case


def test_nothing_found_again_is_at_least_one():
    assert by_halves(NO_END, {2: BAD, 3: BAD}) == Answer(None, 1, None, "undecided", "halves")


EVERY = Agreement((0.92, 0.95, 0.96, 0.94, 0.93, 0.95, 0.96, 0.95), (7,) * 8)


def test_parts_that_every_split_finds_again_need_not_be_the_same():
    found = {6: BAD, 7: EVERY, 8: Agreement((0.4, 0.3, 0.5, 0.4, 0.6, 0.4, 0.4, 0.5), (5,) * 8)}
    assert last_found(found) == 7
    assert by_halves(NO_END, found).k == 7


@pytest.mark.parametrize(
    ("again", "splits", "number", "open_"),
    [(1, 8, 3, False), (2, 8, None, True), (4, 16, 3, False), (6, 16, None, True)],
)
def test_one_part_more_is_found_again_in_fewer_than_every_second_split(
    again: int, splits: int, number: int | None, open_: bool
):
    next_ = Agreement((0.99,) * again + (0.5,) * (splits - again), (3,) * splits)
    found = {3: GOOD, 4: next_}
    assert by_halves(NO_END, found).k == number
    assert is_open(3, found) == open_


def test_a_spectrum_that_halves_contradict_is_not_sure():
    answer = Answer(5, 4, 8, "between", "spectrum")
    assert not contradicted(answer, {5: GOOD})
    assert contradicted(answer, {5: BAD})
    assert unconfirmed(answer, {2: GOOD, 3: GOOD, 4: BAD, 5: BAD}) == Answer(5, 3, None, "undecided", "spectrum")
