"""What was decided for a matrix, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from partwise.parts.methods import Chosen

NO_SIMPLE = "of no simple kind"
UNMEASURED = "not measured: entries are unknown"
REASONS = {
    "asked": "it was asked for by name",
    "signed": "the data has negative entries, and more than noise makes ({negative:.0%} of the squares of the signal), "
    "so parts may have both signs",
    "exact": "there is no noise, so samples in which a part is absent show exactly where it ends",
    "evidence": "noise is independent from entry to entry, or nearly so ({kind}), so parts are averaged over what it "
    "leaves open; a part is absent from {absent:.0%} of the samples, and {sparse:.0%} of its features are zero",
    "counts": "these are counts ({kind}), and the likeliest parts are those that an average over the noise has, within "
    "{moved:.1f} standard errors",
    "wandered": "noise is independent, or nearly so ({kind}), but an average over it wanders {moved:.0f} standard "
    "errors away from where samples without a part say that it ends, and parts have too few zeros ({sparse:.0%}) to "
    "say so themselves",
    "varies": "what is beside the parts is not independent noise ({kind}, colour {colour:.1f}): parts vary from sample "
    "to sample, or noise is shared; means of the purest samples suffer least from that",
    "unclear": "what is beside the parts is no independent noise, and of no simple kind; means of the purest samples "
    "suffer least from that",
    "nothing": "there is nothing in the data",
    "known": "{unknown:.0%} of the entries are unknown, and what is known is fitted by squares",
    "known-counts": "{unknown:.0%} of the entries are unknown, and the others are whole numbers whose noise grows with "
    "their means ({growing:.0%} of it)",
}


def method_sentence(chosen: Chosen) -> str:
    """The method and why."""
    words: dict[str, Any] = {"kind": NO_SIMPLE if chosen.noise == "unclear" else chosen.noise, **chosen.facts}
    sentence = f"{chosen.name}: {REASONS[chosen.reason].format(**words)}"
    if len(chosen.tried) > 1:
        best, *others = sorted(chosen.tried, key=lambda name: -chosen.tried[name])
        below = ", ".join(f"{name} {chosen.tried[best] - chosen.tried[name]:.2g} below" for name in others)
        sentence += f" (starts compared by the log-likelihood of an entry: {best} highest, {below})"
    return sentence


def undetermined(lost: int, count: int) -> str:
    """A warning of parts that are not to be believed; which ones is told where they have their names."""
    are = "is" if lost == 1 else "are"
    return f"Parts: {lost} of {count} parts {are} not determined by the data; verdicts_ says which, and why"


def unsure_of(choice: str, taken: int) -> str:
    """A warning that the number of parts is not known."""
    return f"Parts: the number of parts is not sure ({choice}); {taken} taken, n_components gives another number"
