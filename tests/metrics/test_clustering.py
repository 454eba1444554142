from __future__ import annotations

import numpy as np
import pytest

from partwise.exceptions import InputError
from partwise.metrics.clustering import clustering_accuracy, nmi


def test_names_of_clusters_do_not_matter():
    labels = np.array(["a"] * 5 + ["b"] * 3 + ["c"] * 2)
    assigned = np.array([7] * 5 + [1] * 3 + [4] * 2)
    assert clustering_accuracy(labels, assigned) == 1.0
    assert nmi(labels, assigned) == pytest.approx(1.0)


def test_best_naming_is_found():
    # greedy by size would take (a, 0) and lose
    labels = ["a"] * 5 + ["b"] * 4
    assigned = [0] * 3 + [1] * 2 + [0] * 4
    assert clustering_accuracy(labels, assigned) == pytest.approx(6 / 9)


@pytest.mark.parametrize(("n_clusters", "expected"), [(1, 0.5), (4, 0.5)])
def test_other_numbers_of_clusters(n_clusters, expected):
    labels = [0, 0, 1, 1]
    assert clustering_accuracy(labels, [i % n_clusters for i in range(4)]) == expected


def test_any_labels():
    mixed = [1, "1", None, (2, 3)]
    assert clustering_accuracy(mixed, [0, 1, 2, 3]) == 1.0
    assert clustering_accuracy(np.array(mixed, dtype=object), [0, 1, 2, 3]) == 1.0
    assert nmi([0.5, 0.5, 1.5], ["x", "x", "y"]) == pytest.approx(1.0)
    assert clustering_accuracy(np.array([True, False]), np.array([0.0, 1.0], dtype=np.float32)) == 1.0


def test_nmi_formulas():
    rng = np.random.default_rng(0)
    labels, assigned = rng.integers(4, size=300), rng.integers(3, size=300)
    joint = np.histogram2d(labels, assigned, bins=(4, 3))[0] / 300
    p, q = joint.sum(axis=1), joint.sum(axis=0)
    information = np.sum(joint * np.log(joint / np.outer(p, q)))
    Hp, Hq = -np.sum(p * np.log(p)), -np.sum(q * np.log(q))
    averages = {
        "arithmetic": (Hp + Hq) / 2,
        "geometric": np.sqrt(Hp * Hq),
        "min": min(Hp, Hq),
        "max": max(Hp, Hq),
    }
    for average, value in averages.items():
        assert nmi(labels, assigned, average) == pytest.approx(information / value)


@pytest.mark.parametrize("measure", [clustering_accuracy, nmi])
@pytest.mark.parametrize(
    ("labels", "assigned", "word"),
    [
        ([1, 2], [1], "labels has 2"),
        ([], [], "labels is empty"),
        (np.eye(2), [0, 1], "labels has shape"),
        ([0, 1], "ab", "assigned is a str"),
        (3, [0], "labels is a int"),
        ([[1], [2]], [0, 1], "labels has entries"),
    ],
)
def test_bad_input_is_named(measure, labels, assigned, word):
    with pytest.raises(InputError, match=word):
        measure(labels, assigned)


def test_unknown_average():
    with pytest.raises(InputError, match="average"):
        nmi([0, 1], [0, 1], "harmonic")
