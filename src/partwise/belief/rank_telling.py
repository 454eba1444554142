"""A choice of the number of parts in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from partwise.belief.rank_rule import AGAIN, LITTLE, STRONG
from partwise.estimators.telling import samples
from partwise.noise.telling import cut_off

if TYPE_CHECKING:
    from partwise.belief.rank import RankChoice


def sentence(choice: RankChoice, called: Callable[[Sequence[int]], str] = samples) -> str:
    """What was found, why it is believed, or not; which samples had no say, as they are called; where readings end."""
    odd = called(choice.odd_samples) if choice.odd_samples else ""
    found = _found(choice, odd)
    if odd and not _between_odd(choice):
        found += f"; set aside, as unlike all others: {odd}"
    ends = "" if choice.noise is None else cut_off(choice.noise)
    return f"{found}; {ends}" if ends else found


def _between_odd(choice: RankChoice) -> bool:
    """Whether it is decided but for odd samples, which may be a part."""
    decided = choice.verdict == "between" and choice.low == choice.k and choice.weakest >= STRONG
    return decided and choice.basis != "halves" and bool(choice.odd_samples)


def _found(choice: RankChoice, odd: str) -> str:
    k = choice.k
    if choice.basis == "entries":
        return _of_entries(choice)
    if choice.verdict == "exact":
        return f"{_parts(k)}: the data has no noise, and this is its rank"
    if choice.verdict == "decided":
        return f"{_parts(k)}: {_stand_out(choice)}; {_weakest(choice)}"
    if choice.verdict == "between":
        if choice.basis == "halves":
            why = "of one more not all are found again in halves of the samples"
        elif _between_odd(choice):
            why = f"{_stand_out(choice)}; {choice.high} with {odd}, unlike all others"
        else:
            why = f"{_weakest(choice)}, so weaker ones may hide"
        return f"{choice.low} to {choice.high} parts, most likely {k}: {why}"
    start = "cannot be told" if k is None else f"probably {_parts(k)}"
    most = ""
    if k is None and choice.guess is None and choice.taken > choice.low:
        most = f"; of {choice.taken} parts most are found again"
    return f"{start}; {_least(choice)}. {_why(choice)}{most}"


def _of_entries(choice: RankChoice) -> str:
    if choice.k is None:
        most = f"with {choice.table[-1].k}, the most that were asked about"
        return f"cannot be told; at least {choice.low}. Entries that were left out are predicted best {most}"
    why = "entries that were left out are predicted best with so many"
    if choice.low == choice.high:
        return f"{_parts(choice.k)}: {why}"
    return f"{choice.low} to {choice.high} parts, most likely {choice.k}: {why}, and more do not help"


def _parts(k: int | None) -> str:
    return f"{k} part{'' if k == 1 else 's'}"


def _stand_out(choice: RankChoice) -> str:
    if choice.basis == "cliff":
        return "so many stand out from all that is behind them"
    return "so many stand above the noise, which is independent"


def _weakest(choice: RankChoice) -> str:
    return f"the weakest is {choice.weakest:.1f} times as strong as can be seen at all"


def _least(choice: RankChoice) -> str:
    found = " are found again in halves of the samples" if choice.basis == "halves" and choice.low > 1 else ""
    return f"at least {choice.low}{',' * bool(found)}{' which' * bool(found)}{found}"


def _why(choice: RankChoice) -> str:
    why = f"{choice.spectral} directions stand above independent noise"
    if choice.basis == "nothing":
        return f"{why}, and samples (n = {choice.n_samples:,}) are too few to be halved, or were not asked"
    if choice.k is not None and choice.basis == "cliff" and choice.low + 1 < choice.k:
        left = 1.0 - choice.table[choice.low].explained
        if choice.weakest >= STRONG and left <= LITTLE:
            return (
                f"{why}, but {choice.low + 1} leave {left:.2g} of the squares: what is behind them may be what varies"
            )
    if choice.basis == "spectrum" and any(row.k == choice.k and row.least < AGAIN for row in choice.table):
        return f"{why}, but so many parts are not found again in halves of the samples: what varies has directions, too"
    if choice.basis == "spectrum" and choice.k is None and choice.guess is not None:
        return f"{why}; the last one is not found again in halves of the samples, as a part of few samples is not"
    if choice.basis == "spectrum":
        return f"{why}; the last ones are far behind the others, and may be noise that is not what it seems"
    if choice.basis == "rest":
        return f"{why}, but {_rest(choice)}"
    if choice.basis == "cliff":
        asked = any(row.least == row.least for row in choice.table)
        but = "do not confirm" if asked else "were not asked to confirm"
        return f"{why}; {choice.k} of them stand out from the others, which halves of the samples {but}"
    if choice.k is not None:
        return f"{why}; of {choice.k + 1} parts not all are found again"
    return f"{why}, and what is found again has no clear end"


def _rest(choice: RankChoice) -> str:
    more = choice.guess is not None and choice.table[choice.guess - 1].least >= AGAIN
    k = choice.k or (choice.low + 1 if more else choice.guess) or choice.low + 1
    left = f"{k} of them leave {1.0 - choice.table[k - 1].explained:.2g} of the squares"
    if more:
        again = f"{choice.guess} parts are found again in halves of the samples"
        return f"{left}, and {again}: the last may be one that varies"
    if choice.k is not None:
        return f"{left}, and so many parts are found again in halves of the samples: what is behind them is little"
    return f"{left}; whether the last is a part halves of the samples do not say"
