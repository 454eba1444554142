"""
Recipe: gene programs of blood cells
====================================

What cNMF and GeneNMF call gene expression programs and usages. Three steps: make or read an AnnData of counts; fit;
``pw.annotate``, after which usages are in ``obsm``, where scanpy takes them from. The 2,700 cells of pbmc3k must be in
the folder that PARTWISE_DATA names (pbmc3k). As a command, from a file:

.. code-block:: sh

    partwise fit cells.h5ad --as cells -k 8
"""

# %%
# Step 1: an AnnData, as ``anndata.read_h5ad`` gives it.

import warnings

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp

import partwise as pw
from partwise.exceptions import DataNotFoundError

warnings.simplefilter("ignore")  # of anndata about pandas
try:
    import anndata

    data = pw.datasets.load_pbmc3k()
except (ImportError, DataNotFoundError) as error:
    raise SystemExit(f"skipped: {error}") from None
adata = anndata.AnnData(sp.csr_matrix(data.X, dtype=np.float32))
adata.var_names = data.feature_names
print(adata.shape)

# %%
# Step 2: the fit, on all genes: a likelihood gives rare ones the little weight that their counts have.

model = pw.Likelihood(8, random_state=0).fit(adata)
model.rename_parts([f"Program {j + 1}" for j in range(8)])

# %%
# Step 3: into the AnnData. cNMF scores genes by how they go with the use of a program from cell to cell; their
# specificity is this score times the share of the gene that is the program's, so that markers lead.

pw.annotate(adata, model)
print({name: adata.obsm[name].shape for name in adata.obsm}, {name: adata.varm[name].shape for name in adata.varm})
for j, name in enumerate(adata.uns["partwise"]["names"]):
    print(f"{name}: {', '.join(adata.var_names[np.argsort(-adata.varm['partwise_specificity'][:, j])[:8]])}")

# %%
# Usages of the cells, each at its largest program.

usages = adata.obsm["X_partwise"] / adata.obsm["X_partwise"].sum(axis=1, keepdims=True)
order = np.lexsort((-usages.max(axis=1), usages.argmax(axis=1)))
figure, ax = plt.subplots(figsize=(9, 2.6), layout="constrained")
image = ax.imshow(usages[order].T, aspect="auto", cmap="Blues", interpolation="nearest", vmin=0, vmax=1)
ax.set(xlabel="cells", yticks=range(8), yticklabels=adata.uns["partwise"]["names"])
figure.colorbar(image, label="share of the cell")
plt.show()
