"""
Digits from mixtures of digits
==============================

Twelve images are mixed three at a time; from the mixtures alone the images come back.
"""

import warnings

import matplotlib.pyplot as plt

import partwise as pw
from partwise.exceptions import DegenerateDataWarning

warnings.simplefilter("ignore", DegenerateDataWarning)  # some pixels have no ink in any digit
data = pw.datasets.make_digit_mixtures(n_samples=2000, n_components=12, per_sample=3, random_state=1)
print(data.X.shape)

# %%
# What every method sees:

figure, axes = plt.subplots(1, 12, figsize=(12, 1.2))
pw.plots.plot_parts(data.X[:12], part_names=[""] * 12, image_shape=data.image_shape, axes=axes)
plt.show()

# %%
# The truth, what the facets of the cone of the samples give, and what descent from random numbers gives:

found = {
    "the truth": data.components,
    "Facets": pw.Facets(12, nonnegative=True).fit(data.X).components_,
    "HALS, random start": pw.HALS(12, init="random", random_state=0, max_iter=200, tol=0).fit(data.X).components_,
}
figure, axes = plt.subplots(3, 12, figsize=(12, 4))
for row, (name, components) in zip(axes, found.items(), strict=True):
    match = pw.metrics.match_components(components, data.components)
    print(f"{name}: {(match.errors < 0.01).sum()} of 12 recovered, worst relative error {match.errors.max():.1e}")
    titles = [name, *[""] * 11]
    pw.plots.plot_parts(match.aligned(components), part_names=titles, image_shape=data.image_shape, axes=row)
plt.show()
