"""Data with a known truth, and real data.

Generators (``make_*``) return a `Mixture`, noise (``add_*``) turns one mixture into another, and loaders
(``load_*``, `read_texts` for files of your own) return a `Dataset`. Samples are rows, everywhere.
"""

from partwise.datasets.binary import make_binary_mixtures, make_independent_mixtures
from partwise.datasets.catalogues import make_catalogues
from partwise.datasets.correlated import make_correlated_mixtures
from partwise.datasets.digits import make_digit_mixtures
from partwise.datasets.loaders.base import Dataset
from partwise.datasets.loaders.biology import load_all_aml, load_brca21, load_cosmic, load_pbmc3k
from partwise.datasets.loaders.corpora import load_bbc, load_nips, load_tdt2
from partwise.datasets.loaders.images import load_cbcl, load_mnist, load_olivetti, load_yale
from partwise.datasets.loaders.mixtures import load_cellmix4, load_sc_dropseq, load_shen_orr
from partwise.datasets.loaders.newsgroups import load_newsgroups
from partwise.datasets.loaders.reuters import load_reuters
from partwise.datasets.loaders.spectra import load_jasper_ridge
from partwise.datasets.mixture import Mixture
from partwise.datasets.noise import (
    add_adversarial_noise,
    add_correlated_noise,
    add_corruption,
    add_gaussian_noise,
    add_multinomial_noise,
    add_unbiased_noise,
)
from partwise.datasets.scenes import make_scene
from partwise.datasets.separable import make_dominant, make_laurberg, make_separable, make_strictly_dominant
from partwise.datasets.text import read_texts
from partwise.datasets.topics import make_topics
from partwise.datasets.visual import count_visual_words
from partwise.datasets.words import stop_words

__all__ = [
    "Dataset",
    "Mixture",
    "add_adversarial_noise",
    "add_correlated_noise",
    "add_corruption",
    "add_gaussian_noise",
    "add_multinomial_noise",
    "add_unbiased_noise",
    "count_visual_words",
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
    "make_binary_mixtures",
    "make_catalogues",
    "make_correlated_mixtures",
    "make_digit_mixtures",
    "make_dominant",
    "make_independent_mixtures",
    "make_laurberg",
    "make_scene",
    "make_separable",
    "make_strictly_dominant",
    "make_topics",
    "read_texts",
    "stop_words",
]
