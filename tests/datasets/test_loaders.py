"""Loaders against the counts that are known for each data set."""

from __future__ import annotations

import gzip
import io
import tarfile
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csr_array

import partwise.datasets as datasets
from partwise.datasets.loaders.images import read_idx, upright
from partwise.datasets.loaders.newsgroups import subject_and_body
from partwise.datasets.loaders.text import count_words, weigh
from partwise.exceptions import DataNotFoundError, InputError

LOADERS = [name for name in datasets.__all__ if name.startswith("load_")]


def sizes(labels):
    names, counts = np.unique(labels, return_counts=True)
    return dict(zip(names.tolist(), counts.tolist(), strict=True))


@pytest.mark.parametrize("name", LOADERS)
def test_missing_data_says_where_and_what(name, tmp_path, monkeypatch):
    load = getattr(datasets, name)
    with pytest.raises(DataNotFoundError, match="PARTWISE_DATA") as caught:
        load(data_home=tmp_path)
    assert str(tmp_path) in str(caught.value)
    assert ("download=True" in str(caught.value)) == (name in ("load_mnist", "load_newsgroups"))
    monkeypatch.delenv("PARTWISE_DATA", raising=False)
    with pytest.raises(DataNotFoundError, match="PARTWISE_DATA"):
        load()


def test_environment_variable_is_used(data_home, monkeypatch):
    monkeypatch.setenv("PARTWISE_DATA", str(data_home))
    assert datasets.load_cbcl().X.shape == (2429, 361)


def test_mnist(data_home):
    mnist = datasets.load_mnist("all", data_home=data_home)
    assert mnist.X.shape == (70000, 784)
    assert mnist.X.dtype == np.uint8
    assert mnist.image_shape == (28, 28)
    train = [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
    test = [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    assert np.bincount(mnist.labels[:60000]).tolist() == train
    assert np.bincount(mnist.labels[60000:]).tolist() == test
    assert mnist.X[:60000].mean() / 255 == pytest.approx(0.13066, abs=1e-5)


def test_newsgroups(data_home):
    news = datasets.load_newsgroups(data_home=data_home)
    assert news.X.shape == (18846, len(news.feature_names))
    assert isinstance(news.X, csr_array)
    assert len(news.texts) == 18846
    known = sizes(news.labels[:11314])
    assert len(known) == 20
    assert known["alt.atheism"] == 480
    assert known["rec.sport.hockey"] == 600
    assert news.X.sum(axis=0).min() >= 5
    assert not any(text.startswith("From:") for text in news.texts)
    assert "Message-ID" not in news.texts[0]
    assert {"the", "and"}.isdisjoint(news.feature_names)


def test_newsgroups_options(data_home):
    news = datasets.load_newsgroups("test", headers=True, weighting="tfidf", min_count=50, data_home=data_home)
    assert news.X.shape[0] == 7532
    assert all(text[:200].lower().count(":") for text in news.texts)
    norms = np.sqrt(news.X.multiply(news.X).sum(axis=1))
    np.testing.assert_allclose(norms[norms > 0], 1.0)


def test_reuters(data_home):
    reuters = datasets.load_reuters(data_home=data_home)
    known = sizes(reuters.labels)
    assert reuters.X.shape[0] == 8293
    assert len(known) == 65
    five = {"earn": 3713, "acq": 2055, "crude": 321, "trade": 298, "money-fx": 245}
    assert {name: known[name] for name in five} == five
    ten = datasets.load_reuters(10, weighting="tfidf", data_home=data_home)
    largest = sorted(known.values(), reverse=True)
    assert ten.X.shape[0] == sum(largest[:10])
    assert sorted(sizes(ten.labels).values(), reverse=True) == largest[:10]
    assert not any("&lt;" in text or "&#3;" in text for text in ten.texts)


def test_tdt2(data_home):
    tdt2 = datasets.load_tdt2(data_home=data_home)
    assert tdt2.X.shape == (9394, 36771)
    assert tdt2.X.nnz == 1224135
    assert tdt2.X.max() == 52
    expected = (
        "1844 1828 1222 811 441 407 272 238 226 167 160 145 141 140 131 123 123 120 104 98 76 74 72 71 66 65 "
        "63 58 56 52"
    )
    assert sorted(sizes(tdt2.labels).values(), reverse=True) == [int(size) for size in expected.split()]
    assert datasets.load_tdt2(drop_empty=True, data_home=data_home).X.shape == (9394, 36771 - 678)


@pytest.mark.parametrize("size", [32, 64])
def test_yale(data_home, size):
    yale = datasets.load_yale(size, data_home=data_home)
    assert yale.X.shape == (165, size**2)
    assert set(sizes(yale.labels).values()) == {11}
    assert_upright(yale)


def test_olivetti_and_cbcl(data_home):
    olivetti = datasets.load_olivetti(data_home=data_home)
    assert olivetti.X.shape == (400, 4096)
    assert set(sizes(olivetti.labels).values()) == {10}
    assert_upright(olivetti)
    cbcl = datasets.load_cbcl(data_home=data_home)
    assert cbcl.X.shape == (2429, 361)
    assert_upright(cbcl)


def assert_upright(faces):
    """An average face is alike left and right, and not alike above and below."""
    mean = faces.X.mean(axis=0).reshape(faces.image_shape)
    mean -= mean.mean()
    assert np.linalg.norm(mean - mean[:, ::-1]) < 0.7 * np.linalg.norm(mean - mean[::-1])


def test_nips(data_home):
    nips = datasets.load_nips(data_home=data_home)
    assert nips.X.shape == (1500, 7605)
    assert nips.X.nnz == 709477
    assert nips.X.sum() == 1870706
    assert nips.X.sum(axis=0).min() == 21
    assert len(nips.feature_names) == 7605


def test_jasper_ridge(data_home):
    scene = datasets.load_jasper_ridge(data_home=data_home)
    assert scene.X.shape == (10000, 198)
    assert scene.components.shape == (4, 198)
    assert scene.weights.shape == (10000, 4)
    assert scene.X.max() == 5437
    np.testing.assert_allclose(scene.weights.sum(axis=1), 1.0, atol=1e-3)
    error = np.linalg.norm(scene.X - 5367 * scene.weights @ scene.components) / np.linalg.norm(scene.X)
    assert error == pytest.approx(0.161, abs=1e-3)
    from scipy.io import loadmat

    maps = loadmat(data_home / "jasper_ridge" / "Jasper.mat")["S_GT"]
    np.testing.assert_array_equal(scene.weights[:, 2].reshape(scene.scene_shape), maps[:, :, 2])


@pytest.mark.parametrize(("version", "k"), [("2", 30), ("3", 67), ("3.4", 86), ("3.5", 97)])
def test_cosmic(data_home, version, k):
    cosmic = datasets.load_cosmic(version, data_home=data_home)
    assert cosmic.X is None
    assert cosmic.components.shape == (k, 96)
    assert len(cosmic.component_names) == k
    assert cosmic.components.min() >= 0
    np.testing.assert_allclose(cosmic.components.sum(axis=1), 1.0, atol=1e-4)


def test_brca21(data_home):
    brca = datasets.load_brca21(data_home=data_home)
    assert brca.X.shape == (21, 96)
    assert brca.X.sum() == 183916
    assert brca.feature_names == datasets.load_cosmic(data_home=data_home).feature_names
    assert len(brca.sample_names) == 21


def test_pbmc3k(data_home):
    cells = datasets.load_pbmc3k(data_home=data_home)
    assert cells.X.shape == (2700, 13714)
    assert cells.X.nnz == 2282976
    assert cells.X.sum() == 6386518
    known = sizes(cells.labels)
    assert (known["B"], known["Platelet"], known["nan"]) == (344, 14, 62)
    marker = cells.feature_names.index("PPBP")
    assert cells.X[np.flatnonzero(cells.labels == "Platelet"), :][:, [marker]].mean() == pytest.approx(40.8, abs=0.1)


def test_all_aml(data_home):
    leukemia = datasets.load_all_aml(data_home=data_home)
    assert leukemia.X.shape == (38, 5000)
    assert (leukemia.X.min(), leukemia.X.max()) == (20, 61225)
    assert sizes(leukemia.labels) == {"ALL B-cell": 19, "ALL T-cell": 8, "AML": 11}
    assert len(leukemia.feature_names) == 5000
    assert len(leukemia.sample_names) == 38


def test_bbc(data_home):
    bbc = datasets.load_bbc(data_home=data_home)
    assert bbc.X.shape == (2225, 9635)
    assert bbc.X.nnz == 286774
    known = {"business": 510, "entertainment": 386, "politics": 417, "sport": 511, "tech": 401}
    assert sizes(bbc.labels) == known
    assert len(bbc.feature_names) == 9635
    assert all(name.startswith(label) for name, label in zip(bbc.sample_names, bbc.labels, strict=True))


def test_download_is_asked_for_only_on_demand(tmp_path, monkeypatch):
    calls = []

    def fetch_openml(*args, **kwargs):
        calls.append(kwargs)
        target = np.array(["7"] * 70000)
        return SimpleNamespace(data=np.zeros((70000, 2)), target=target)

    def fetch_20newsgroups(*, subset, **kwargs):
        calls.append(kwargs)
        text = f"Subject: {subset}\n\nwords words"
        return SimpleNamespace(data=[text], target=[0], target_names=["sci.space"])

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch_openml)
    monkeypatch.setattr("sklearn.datasets.fetch_20newsgroups", fetch_20newsgroups)
    with pytest.raises(DataNotFoundError):
        datasets.load_mnist(data_home=tmp_path)
    assert calls == []
    assert datasets.load_mnist("test", data_home=tmp_path, download=True).X.shape == (10000, 2)
    assert calls[0]["cache"] is False
    news = datasets.load_newsgroups(data_home=tmp_path, download=True, min_count=1)
    assert news.texts == ["train\nwords words", "test\nwords words"]
    assert list(tmp_path.iterdir()) == []


def test_newsgroup_archive_members_stay_in_the_archive(tmp_path):
    folder = tmp_path / "20newsgroups"
    folder.mkdir()
    with tarfile.open(folder / "20news-bydate.tar.gz", "w:gz") as archive:
        for name in ("../../20news-bydate-train/sci.space/2", "20news-bydate-test/sci.med/1"):
            content = b"From: a\r\nSubject: moon\r\n\r\nrocket rocket"
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    news = datasets.load_newsgroups(data_home=tmp_path, min_count=2)
    assert news.labels.tolist() == ["sci.space", "sci.med"]  # training first
    assert news.feature_names == ["moon", "rocket"]
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["20news-bydate.tar.gz", "20newsgroups"]


def test_header_is_cut_and_subject_kept():
    post = "From: me@host\nSubject: A long\n subject\nLines: 3\n\nBody\n\nmore"
    assert subject_and_body(post) == "A long\n subject\nBody\n\nmore"
    assert subject_and_body("From: me\n\nBody") == "Body"


def test_counting_and_weighing():
    counts, words = count_words(["Red red RED fish 42", "a_b fish"], min_count=2)
    assert words == ["fish", "red"]
    assert counts.toarray().tolist() == [[1, 3], [1, 0]]
    weighted = weigh(counts, "tfidf").toarray()
    idf = 1 + np.log(3 / np.array([3, 2]))
    row = idf * [1, 1 + np.log(3)]
    np.testing.assert_allclose(weighted[0], row / np.linalg.norm(row))
    with pytest.raises(InputError, match="min_count"):
        count_words(["red"], min_count=9)
    with pytest.raises(InputError, match="weighting"):
        weigh(counts, "bm25")


def test_idx_files(tmp_path):
    path = tmp_path / "a.gz"
    header = b"\x00\x00\x08\x02" + np.array([2, 3], dtype=">i4").tobytes()
    path.write_bytes(gzip.compress(header + bytes(range(6))))
    assert read_idx(path).tolist() == [[0, 1, 2], [3, 4, 5]]
    path.write_bytes(gzip.compress(header + b"\x00"))
    with pytest.raises(InputError, match="announces"):
        read_idx(path)
    path.write_bytes(gzip.compress(b"hello"))
    with pytest.raises(InputError, match="idx"):
        read_idx(path)


def test_upright_images_that_are_not_square():
    image = np.arange(6).reshape(2, 3)
    stored = image.ravel(order="F")[None]
    np.testing.assert_array_equal(upright(stored, (2, 3)).reshape(2, 3), image)


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: datasets.load_mnist("train2"), "subset"),
        (lambda: datasets.load_newsgroups("valid"), "subset"),
        (lambda: datasets.load_newsgroups(weighting="bm25"), "weighting"),
        (lambda: datasets.load_reuters(1), "n_classes"),
        (lambda: datasets.load_yale(16), "size"),
        (lambda: datasets.load_cosmic("4"), "version"),
    ],
)
def test_bad_arguments_are_named(call, word):
    with pytest.raises(InputError, match=word):
        call()


@pytest.mark.parametrize("slope", [0.0, 0.5, 1.0])
def test_slope_divides_the_length_out(slope):
    counts = csr_array(np.random.default_rng(0).poisson(1.0, (30, 8)))
    raw, found = weigh(counts, "tfidf", 0.0).toarray(), weigh(counts, "tfidf", slope).toarray()
    before, after = np.linalg.norm(raw, axis=1), np.linalg.norm(found, axis=1)
    # a row is divided by (1 - slope) mean + slope length, and raw rows have a mean length of 1 already
    np.testing.assert_allclose(after, before / ((1 - slope) + slope * before), rtol=1e-12)


def test_shen_orr(data_home):
    arrays = datasets.load_shen_orr(data_home=data_home)
    assert arrays.X.shape == (42, 600)
    assert arrays.component_names == ["Liver", "Brain", "Lung"]
    np.testing.assert_allclose(arrays.weights.sum(axis=1), 1.0)
    assert len({tuple(row) for row in arrays.weights.round(6).tolist()}) == 14
    np.testing.assert_allclose(arrays.components[0], arrays.X[arrays.weights[:, 0] == 1.0].mean(axis=0))


def test_cellmix4(data_home):
    wells = datasets.load_cellmix4(data_home=data_home)
    assert wells.X.shape == (len(wells.sample_names), len(wells.feature_names)) == (288, 15149)
    np.testing.assert_array_equal(wells.X, wells.X.round())
    well = wells.sample_names.index("L19")  # 7, 0 and 2 cells, says the file
    np.testing.assert_allclose(wells.weights[well], [7 / 9, 0.0, 2 / 9])
    np.testing.assert_allclose(wells.weights.sum(axis=1), 1.0)
