"""
Recipe: maps of the materials in a hyperspectral scene
======================================================

What pyMCR and HyperSpy call MCR-ALS, endmembers and abundance maps, and a library match. Two steps: give the file, the
shape of the map and the library; read the tables. Jasper Ridge has 100 x 100 pixels, 198 bands and four materials; it
must be in the folder that PARTWISE_DATA names (jasper_ridge). As a command:

.. code-block:: sh

    partwise fit Jasper.mat --variable Y --as spectra --map-shape 100x100 -k 4 --reference library.csv
"""

# %%
# The library: known spectra, one a line. Here they are those of the scene's ground truth.

import os
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import polars as pl

import partwise as pw
from partwise.cli.app import run
from partwise.exceptions import DataNotFoundError

try:
    scene = pw.datasets.load_jasper_ridge()
except DataNotFoundError as error:
    raise SystemExit(f"skipped: {error}") from None
folder = Path(tempfile.mkdtemp())
known = pl.DataFrame(scene.components, schema=[str(j) for j in range(198)], orient="row")
known.insert_column(0, pl.Series("name", scene.component_names)).write_csv(folder / "library.csv")

# %%
# Step 1: the fit.

file = Path(os.environ["PARTWISE_DATA"]) / "jasper_ridge" / "Jasper.mat"
words = ["fit", str(file), "--variable", "Y", "--as", "spectra", "--map-shape", "100x100", "-k", "4", "-q"]
assert run([*words, "--reference", str(folder / "library.csv"), "-o", str(folder / "out")]) == 0

# %%
# Step 2: the tables. The library's spectrum at the smallest angle to each part:

library = pl.read_csv(folder / "out" / "library.csv")
best = library.filter(pl.col("rank") == 1)
for part, name, angle in best.select("part", "known", "angle_degrees").iter_rows():
    print(f"{part}: {name}, {angle:.1f} degrees")

# %%
# Abundances are shares that sum to one; the last column is what the parts leave of a pixel. MATLAB's pixels run down
# the columns.

abundances = pl.read_csv(folder / "out" / "abundances.csv").drop("sample")
figure, axes = plt.subplots(1, 5, figsize=(12, 2.4), layout="constrained")
for ax, (part, name) in zip(axes, best.select("part", "known").iter_rows(), strict=False):
    shares = ax.imshow(abundances[part].to_numpy().reshape(100, 100, order="F"), vmin=0, vmax=1)
    ax.set(title=f"{part}: {name}", xticks=[], yticks=[])
figure.colorbar(shares, ax=axes[3], label="share")
left = axes[4].imshow(abundances["rms_residual"].to_numpy().reshape(100, 100, order="F"), cmap="magma")
axes[4].set(title="residual", xticks=[], yticks=[])
figure.colorbar(left, ax=axes[4], label="root mean square")
plt.show()

# %%
# The spectra themselves are in the model, and in ``components.csv``; dashed are those of the ground truth.

model = pw.load(folder / "out" / "model.safetensors")
figure, ax = plt.subplots(figsize=(8, 3), layout="constrained")
for j, name in enumerate(best["known"]):
    truth = scene.components[list(scene.component_names).index(name)]
    (line,) = ax.plot(
        model.components_[j] / np.linalg.norm(model.components_[j]), label=f"{model.part_names_[j]}: {name}"
    )
    ax.plot(truth / np.linalg.norm(truth), "--", color=line.get_color(), linewidth=1)
ax.set(xlabel="band", ylabel="reflectance, length one")
ax.legend()
plt.show()
