"""
Recipe: mutational signatures of 21 breast cancers, named by COSMIC
===================================================================

What SigProfilerExtractor and MuSiCal call signatures, activities and decomposition. Two steps: give the matrix as
SigProfiler writes it and the file of COSMIC's signatures; read the tables. Both must be in the folder that
PARTWISE_DATA names (brca21, cosmic_sbs). As a command:

.. code-block:: sh

    partwise fit Samples_SBS.txt --as signatures -k 4 --reference COSMIC_v3.4_SBS_GRCh37.txt
"""

# %%
# Step 1: the fit.

import os
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import polars as pl

from partwise.cli.app import run

data = Path(os.environ.get("PARTWISE_DATA", "."))
matrix, cosmic = data / "brca21" / "Samples_SBS.txt", data / "cosmic_sbs" / "COSMIC_v3.4_SBS_GRCh37.txt"
if not matrix.exists() or not cosmic.exists():
    raise SystemExit("skipped: needs brca21 and cosmic_sbs in PARTWISE_DATA")
folder = Path(tempfile.mkdtemp())
words = ["fit", str(matrix), "--as", "signatures", "-k", "4", "--reference", str(cosmic), "-q", "-o", str(folder)]
assert run(words) == 0

# %%
# Step 2: the tables. Each signature's most similar known one, and its decomposition into known ones:

matches, sums = pl.read_csv(folder / "matches.csv"), pl.read_csv(folder / "decomposition.csv")
for name, known, cosine in matches.filter(pl.col("rank") == 1).select("signature", "known", "cosine").iter_rows():
    parts = sums.filter(pl.col("signature") == name).select("share", "known").iter_rows()
    print(f"{name:25} most like {known} (cosine {cosine:.3f}); {' + '.join(f'{s:.0%} {one}' for s, one in parts)}")

# %%
# The signatures in the order of drawing, and how many mutations of each a tumour has.

signatures, exposures = pl.read_csv(folder / "signatures.csv"), pl.read_csv(folder / "exposures.csv")
kinds = [kind[2:5] for kind in signatures["MutationType"]]
colours = dict(
    zip(dict.fromkeys(kinds), ["#03bcee", "#010101", "#e32926", "#999999", "#a1ce63", "#ebc6c4"], strict=True)
)
figure, axes = plt.subplots(4, 1, figsize=(10, 6), sharex=True, layout="constrained")
for ax, name in zip(axes, signatures.columns[1:], strict=True):
    ax.bar(range(96), signatures[name], color=[colours[kind] for kind in kinds])
    ax.set_title(name, loc="left", fontsize=9)
    ax.set_ylabel("share")
axes[-1].set_xticks(range(8, 96, 16), list(colours))
plt.show()

# %%

figure, ax = plt.subplots(figsize=(10, 3), layout="constrained")
below = np.zeros(len(exposures))
for name in exposures.columns[1:]:
    ax.bar(exposures["sample"], exposures[name], bottom=below, label=name)
    below += exposures[name].to_numpy()
ax.set_ylabel("mutations")
ax.tick_params(axis="x", rotation=90)
ax.legend()
plt.show()
