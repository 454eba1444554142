"""What a penalty or a constraint may need, and who has it; what is missing is refused by name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from partwise.exceptions import InputError

Needs = frozenset[str]

WHOLE = "whole"  # all of the factor, as it was given and in one place: H has that, W lies beside the data
SAMPLES = "samples"  # a row is a sample: W
ADDITIVE = "additive"  # steps of any sign: HALS and ANLS take them, multiplicative updates do not

WORDS = {
    WHOLE: "it needs the factor as a whole, and W lies in blocks beside the data",
    SAMPLES: "it is about samples, and H has none",
    ADDITIVE: "multiplicative updates cannot follow it",
}


class Needy(Protocol):
    """Something that says what it needs."""

    @property
    def name(self) -> str:
        """The parameter that asks for it."""

    @property
    def needs(self) -> Needs:
        """Of the above."""


def check(asked: Iterable[Needy], factor: str, method: str, *, additive: bool) -> None:
    """Refuse what cannot be done for this factor by this method.

    Parameters
    ----------
    asked : iterable
        Penalties and constraints.
    factor : {"W", "H"}
        The factor that they are asked of.
    method : str
        By its public name.
    additive : bool
        Whether its steps may have any sign.
    """
    there = {SAMPLES if factor == "W" else WHOLE} | ({ADDITIVE} if additive else set())
    for one in asked:
        for need in sorted(one.needs - there):
            name = f"{one.name}_{factor}"
            raise InputError(f"{{parameter}} is nothing for {method}: {WORDS[need]}", parameter=name)
