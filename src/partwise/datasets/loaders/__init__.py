"""Loaders of real data; see `partwise.datasets`."""

from partwise.datasets.loaders.base import Dataset
from partwise.datasets.loaders.biology import load_all_aml, load_brca21, load_cosmic, load_pbmc3k
from partwise.datasets.loaders.corpora import load_bbc, load_nips, load_tdt2
from partwise.datasets.loaders.images import load_cbcl, load_mnist, load_olivetti, load_yale
from partwise.datasets.loaders.mixtures import load_cellmix4, load_sc_dropseq, load_shen_orr
from partwise.datasets.loaders.newsgroups import load_newsgroups
from partwise.datasets.loaders.reuters import load_reuters
from partwise.datasets.loaders.spectra import load_jasper_ridge

__all__ = [
    "Dataset",
    "load_all_aml",
    "load_bbc",
    "load_brca21",
    "load_cbcl",
    "load_cellmix4",
    "load_cosmic",
    "load_jasper_ridge",
    "load_mnist",
    "load_newsgroups",
    "load_nips",
    "load_olivetti",
    "load_pbmc3k",
    "load_reuters",
    "load_sc_dropseq",
    "load_shen_orr",
    "load_tdt2",
    "load_yale",
]
