"""Gene programs of blood cells, in and out of an AnnData.

Three steps: make or read an AnnData of counts; fit; `pw.annotate`. Usages are then in `obsm`, where scanpy takes them
from. Needs the data set pbmc3k in the folder that PARTWISE_DATA names, and anndata. As a command, from a file:
`partwise fit cells.h5ad --as cells -k 8`.
"""

import warnings

import numpy as np

import partwise as pw
from partwise.exceptions import DataNotFoundError


def main() -> None:
    warnings.simplefilter("ignore")  # of anndata about pandas
    try:
        import anndata

        data = pw.datasets.load_pbmc3k()
    except (ImportError, DataNotFoundError) as error:
        print(f"skipped: {error}")
        return
    # step 1
    adata = anndata.AnnData(data.X.astype(np.float32))
    adata.var_names = data.feature_names
    # step 2: on the 2,000 genes that vary most for their mean, as is usual in the field
    counts = data.X.astype(float)
    mean = np.asarray(counts.mean(axis=0)).ravel()
    spread = np.asarray(counts.power(2).mean(axis=0)).ravel() - mean**2
    varying = np.sort(np.argsort(-spread / np.maximum(mean, 1e-3))[:2000])
    model = pw.Likelihood(8, random_state=0).fit(adata[:, varying])
    model.rename_parts([f"Program {j + 1}" for j in range(8)])
    # step 3
    pw.annotate(adata, model)
    print({name: adata.obsm[name].shape for name in adata.obsm}, {name: adata.varm[name].shape for name in adata.varm})
    scores = np.nan_to_num(adata.varm["partwise_specificity"])  # NaN for genes that were left out
    for j, name in enumerate(adata.uns["partwise"]["names"]):
        print(f"{name}: {', '.join(adata.var_names[np.argsort(-scores[:, j])[:6]])}")


if __name__ == "__main__":
    main()
