"""The noise of a table in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from partwise.noise.model import NoiseKind

_LOOKS = {
    "white": "white noise: of one size in all entries",
    "rows": "noise whose size differs from row to row",
    "columns": "noise whose size differs from column to column",
    "rows and columns": "noise whose size differs from row to row and from column to column",
    "poisson": "counting noise",
    "over-dispersed": "counting noise with {phi} extra",
    "heavy-tailed": "noise with a few entries far off ({tails} of them)",
}
_BETWEEN = {
    "features": " between the features of a sample",
    "samples": " from sample to sample",
    "both": " from sample to sample and between features",
}


def sentence(noise: NoiseKind) -> str:
    """One sentence on what the noise looks like, without a full stop.

    Parameters
    ----------
    noise : NoiseKind
        What was measured.

    Returns
    -------
    str
        Such as "the noise in this table looks like counting noise with 3% extra".
    """
    return f"{_looks(noise)}{'; ' * bool(noise.clipped)}{cut_off(noise)}"


def cut_off(noise: NoiseKind) -> str:
    """Where readings end, if they do: how many, and in which features most."""
    if not noise.clipped:
        return ""
    where = ", ".join(map(str, noise.clipped_features))
    where = f"feature{'s' * (len(noise.clipped_features) > 1)} {where}"
    return f"readings end at {noise.ceiling:.6g}: {noise.clipped:,} entries are just that, most in {where}"


def _looks(noise: NoiseKind) -> str:
    if noise.kind == "none":
        return f"there is no noise in this table: {noise.k} parts explain it to the last digits"
    if noise.kind == "coloured":
        return (
            f"the noise in this table is not independent{_BETWEEN.get(noise.direction, '')}: what {noise.k} dimensions "
            f"leave reaches {noise.colour:.1f} times as far as independent noise would"
        )
    if noise.kind == "unclear":
        return "it is unclear what the noise in this table looks like: no simple kind fits"
    looks = _LOOKS[noise.kind].format(phi=f"{100.0 * noise.phi:.2g}%", tails=f"{100.0 * noise.tails:.2g}%")
    return f"the noise in this table looks like {looks}"
