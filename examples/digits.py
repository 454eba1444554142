"""Digits from mixtures of digits.

Twelve images are mixed three at a time; from the mixtures alone the images come back. Writes `digits.png` with what was
found under what is true.
"""

import warnings
from pathlib import Path

import partwise as pw
from partwise.exceptions import DegenerateDataWarning


def main() -> None:
    warnings.simplefilter("ignore", DegenerateDataWarning)  # some pixels have no ink in any digit
    data = pw.datasets.make_digit_mixtures(n_samples=2000, n_components=12, per_sample=3, random_state=1)
    found = {
        "Facets": pw.Facets(12, nonnegative=True).fit(data.X).components_,
        "HALS, random start": pw.HALS(12, init="random", random_state=0, max_iter=200, tol=0).fit(data.X).components_,
    }
    rows = []
    for name, components in found.items():
        match = pw.metrics.match_components(components, data.components)
        print(f"{name}: {(match.errors < 0.01).sum()} of 12 recovered, worst relative error {match.errors.max():.1e}")
        rows.append(pw.plots.Recovery(name, match.aligned(components), match.errors))
    pw.plots.recovery_grid(data.components, rows, data.image_shape).savefig("digits.png")
    print(f"digits.png: {Path('digits.png').stat().st_size} bytes")


if __name__ == "__main__":
    main()
