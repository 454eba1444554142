"""
Unmixing a hyperspectral scene: pickers and descent
===================================================

Jasper Ridge: 100 x 100 pixels, 198 bands, four materials whose spectra and shares are known. Needs the data set in
the folder that PARTWISE_DATA names (jasper_ridge). Angles are those between true and found spectra; a pixel's shares
are its weights divided by their sum.
"""

import matplotlib.pyplot as plt

import partwise as pw
from partwise.exceptions import DataNotFoundError

try:
    scene = pw.datasets.load_jasper_ridge()
except DataNotFoundError as error:
    raise SystemExit(f"skipped: {error}") from None
models = {
    "SPA": pw.SPA(4),  # picks the brightest pixels first
    "SPA, normalized": pw.SPA(4, normalize=True),  # by direction: dark materials count as much
    "XRAY": pw.XRAY(4),
    "HALS from SPA": pw.HALS(4, init=pw.SPA(4, normalize=True).fit(scene.X), max_iter=100, tol=0),
    "Archetypes": pw.Archetypes(4, random_state=0),  # means of many extreme pixels
}
for name, model in models.items():
    angles = pw.metrics.spectral_angles(model.fit(scene.X).components_, scene.components)
    print(f"{name:16} mean angle {angles.mean():4.1f} degrees, worst {angles.max():4.1f}")

# %%
# The spectra of two of them; dashed is the truth.

figure, axes = plt.subplots(2, 4, figsize=(11, 4), sharex=True, layout="constrained")
for row, name in zip(axes, ["SPA", "Archetypes"], strict=True):
    found = pw.metrics.match_components(models[name].components_, scene.components).aligned(models[name].components_)
    for ax, material, true, spectrum in zip(row, scene.component_names, scene.components, found, strict=True):
        ax.plot(spectrum)
        ax.plot(true, "--", color="gray")
        ax.set_title(f"{name}: {material}", fontsize=9)
figure.supxlabel("band")
figure.supylabel("reflectance (dashed: ground truth)")
plt.show()

# %%

W = models["Archetypes"].transform(scene.X)
shares = W / W.sum(axis=1, keepdims=True)
print("mean share of each material:", shares.mean(axis=0).round(2))
