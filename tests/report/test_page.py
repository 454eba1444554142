"""The page: whole, self-contained, and safe whatever things are called."""

from __future__ import annotations

import re
import sys
import warnings
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import partwise as pw
from partwise.exceptions import InputError, MissingDependencyError
from partwise.io import Table
from partwise.plots import pages
from partwise.report import cards
from partwise.report import page as page_module
from partwise.report.naming import shown
from tests.report.models import H, W, X, mixtures, with_components

HOSTILE = [
    "<script>alert(1)</script>",
    "</style><img src=x onerror=alert(1)>",
    "\"'><svg onload=alert(1)>",
    "' onmouseover='alert(1)",
    "javascript:alert(1)",
    "{{ 7 * 7 }}{% raw %}",
    "&lt;b&gt; &amp;",
    "--><!--",
    "x" * 5000,
    "two\nlines\r\n\ttab",
    "",
    "\x00\x1b[31m",
    "\ud800",
    "\u202eright to left override",
    "שלום עולם",
    "🧬 emoji 🧪",
]


class Structure(HTMLParser):
    """Elements and attributes of a page, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, tuple[str, ...]]] = []
        self.attributes: list[tuple[str, str]] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        # a long name is repeated as a title, where it can be read in full
        names = tuple(name for name, _ in attributes if (tag, name) != ("bdi", "title"))
        self.elements.append((tag, names))
        self.attributes += [(name, value or "") for name, value in attributes]

    def handle_data(self, data: str) -> None:
        if self.lasttag != "style":
            self.texts.append(data)

    @property
    def text(self) -> str:
        """Its pieces, one for every stretch of text between two tags."""
        return "|".join(piece for text in self.texts if (piece := " ".join(text.split())))

    def values(self, *names: str) -> list[str]:
        return [value for name, value in self.attributes if name in names]


def written(tmp_path: Path, model: Any, data: Any, **options: Any) -> str:
    path = pw.write_report(tmp_path / "report.html", model, data, **options)
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]
    return path.read_text(encoding="utf-8")


def named(tmp_path: Path, names: list[str], *, image: bool) -> str:
    """A report in which everything that can have a name has one of these."""
    rng = np.random.default_rng(0)
    m = len(names)
    rows = rng.random((m, m))
    rows[3] = 0.0
    return written(
        tmp_path,
        with_components(rng.random((3, m))),
        rows,
        feature_names=names,
        sample_names=names[::-1],
        image_shape=(4, m // 4) if image else None,
        title=names[0],
        about=dict(pairwise(names)),
        command=f"partwise fit '{names[1]}'",
        warnings=names[:3],
    )


@pytest.mark.parametrize("image", [False, True], ids=["bars", "images"])
def test_names_make_no_markup(tmp_path: Path, image: bool):
    plain = Structure(named(tmp_path, [f"name {i}" for i in range(len(HOSTILE))], image=image))
    hostile_text = named(tmp_path, HOSTILE, image=image)
    hostile = Structure(hostile_text)
    assert hostile.elements == plain.elements
    for name in ("style", "href", "src", "class", "id", "content"):
        assert hostile.values(name) == plain.values(name)
    assert [tag for tag, _ in hostile.elements].count("script") == 1  # the page's own, whose hash its policy names
    assert "<script>alert(1)</script>" in hostile.text
    if not image:
        for name in HOSTILE:
            assert " ".join(shown(name).split()) in hostile.text
    assert "x" * 70 not in hostile.text.replace(HOSTILE[8], "")  # long names are cut, but not what the caller says


def test_nothing_comes_from_elsewhere(tmp_path: Path):
    model, rows = mixtures(60, 16, 4)
    text = written(tmp_path, model, rows, image_shape=(4, 4))
    found = Structure(text)
    assert [tag for tag, _ in found.elements].count("script") == 1
    assert not any(name.startswith("on") for _, names in found.elements for name in names)
    assert all(value.startswith(("#", "data:")) for value in found.values("src", "href"))
    assert "@import" not in text
    assert not re.search(r"url\((?!#)", text)
    assert "http:" not in text
    assert "https:" not in text
    (policy,) = [value for value in found.values("content") if "default-src" in value]
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-")
    assert "img-src data:; base-uri 'none'" in policy


def test_everything_is_told(tmp_path: Path):
    text = written(
        tmp_path,
        with_components(H),
        X,
        weights=W,
        feature_names=["red", "green", "blue"],
        sample_names=["a", "b", "c", "d"],
        title="Colours & more",
        about={"Data": "four samples"},
        command="partwise fit colours.csv -k 2",
        warnings=["Something was skipped"],
    )
    found = Structure(text).text
    for told in (
        "Colours & more",
        "SPA found 2 parts in 4 samples of 3 features. Together they explain 100% of the data.",
        "The method computes its parts directly, without iterations.",
        "Something was skipped",
        "Zero rows.|1 sample is all zero and has no weights: d.",
        "Part 2|57.1%|of the mass|dominant in 2 samples|red|100.0%|Shown best by|a|100.0%|c|75.0%",
        "Part 1|42.9%|of the mass|dominant in 1 sample|green|50.0%|blue|50.0%|Shown best by|b|100.0%",
        "Data|four samples",
        "partwise fit colours.csv -k 2",
        f"partwise {pw.__version__}, numpy {np.__version__}",
        "SPA(n_components=2)",
    ):
        assert told in found


def test_parts_together_have_values_names_and_a_way_there(tmp_path: Path):
    model, data = mixtures(20, 30, 3)
    model.rename_parts(["water", "road", "tree"])
    text = written(tmp_path, model, data, words=("endmember", "spectrum", "band"))
    found = Structure(text).text
    assert found.count("1.00") == 3
    assert "1|water|2|road|3|tree" in found.replace(" ", "")
    assert "Similarity between endmembers" in found
    assert "number of spectra" in found
    links = re.findall(r'<a href="#([a-z-]+)">', text)
    assert links == ["parts", "together", "fit", "run"]
    assert all(f'<section id="{link}">' in text for link in links)


def test_default_title(tmp_path: Path):
    assert "<title>2 parts of 4 samples · partwise</title>" in written(tmp_path, with_components(H), X)


def degenerate() -> dict[str, tuple[Any, Any, dict[str, Any]]]:
    """Models and data at the edges of what is possible."""
    model, rows = mixtures(30, 24, 3)
    signed, signed_rows = mixtures(30, 24, 3, signed=True)
    dead = np.vstack([model.components_, np.zeros(24)])
    many = np.random.default_rng(0).random((300, 40))
    return {
        "k=1": (with_components(H[:1]), X, {}),
        "m=1": (with_components([[1.0]]), np.ones((5, 1)), {}),
        "n=1": (with_components(H), X[:1], {}),
        "k=300": (with_components(many), np.random.default_rng(1).random((50, 40)), {}),
        "dead-part": (with_components(dead), rows, {}),
        "zero-part-image": (with_components(dead), rows, {"image_shape": (4, 6)}),
        "zero-data": (with_components(H), np.zeros((4, 3)), {}),
        "zero-components": (with_components(np.zeros((2, 3))), X, {}),
        "float32": (with_components(model.components_.astype(np.float32)), rows.astype(np.float32), {}),
        "sparse": (model, sp.csr_array(rows), {}),
        "tiny": (with_components(model.components_ * 1e-120), rows * 1e-120, {}),
        "huge": (with_components(model.components_ * 1e120), rows * 1e120, {}),
        "signed-spectra": (signed, signed_rows, {"weights": np.ones((30, 3))}),
        "signed-images": (signed, signed_rows, {"weights": np.ones((30, 3)), "image_shape": (4, 6)}),
        "signed-bars": (
            signed,
            signed_rows,
            {"weights": np.ones((30, 3)), "feature_names": [f"f{i}" for i in range(24)]},
        ),
    }


@pytest.mark.parametrize("case", degenerate())
def test_edges(tmp_path: Path, case: str):
    model, data, options = degenerate()[case]
    text = written(tmp_path, model, data, **options)
    found = Structure(text)
    assert not re.search(r"\b(nan|inf)\b", found.text)
    assert not any(re.search(r"nan|inf", value) for value in found.values("style", "d"))
    assert sum(tag == "article" for tag, _ in found.elements) == len(model.components_)
    ids = found.values("id")
    assert len(ids) == len(set(ids))
    assert {value.removeprefix("#") for value in found.values("href") if value.startswith("#")} <= set(ids)


def test_parts_beyond_the_first_are_told_not_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(cards, "MOST_CARDS", 4)
    model, rows = mixtures(50, 30, 7)
    found = Structure(written(tmp_path, model, rows))
    assert sum(tag == "article" for tag, _ in found.elements) == 4
    assert "The first 4 are shown, 3 more are left out." in found.text


def test_negative_features_point_to_the_left(tmp_path: Path):
    text = written(tmp_path, with_components([[4.0, -2.0, 1.0]]), np.ones((3, 3)), weights=np.ones((3, 1)))
    bars = re.findall(r'<span><i style="([^"]*)"( class="down")?></i></span><b>([^<]*)</b>', text)
    assert bars == [
        ("margin-left:50.0%;width:50.0%", "", "57.1%"),
        ("margin-left:50.0%;width:12.5%", "", "14.3%"),
        ("margin-left:25.0%;width:25.0%", ' class="down"', "−28.6%"),
    ]


def test_a_table_brings_names_and_shape(tmp_path: Path):
    model, rows = mixtures(20, 6, 2)
    table = Table(rows, [f"f{i}" for i in range(6)], [f"s{i}" for i in range(20)], (2, 3))
    text = written(tmp_path, model, table)
    assert 'class="cards of-image"' in text
    assert re.search(r"<bdi>s\d+</bdi>", text)


def test_a_file_brings_names(tmp_path: Path):
    model, rows = mixtures(20, 6, 2)
    file = tmp_path / "data" / "rows.csv"
    file.parent.mkdir()
    lines = ["name," + ",".join(f"f{i}" for i in range(6))]
    lines += [f"s{i}," + ",".join(map(str, row)) for i, row in enumerate(rows.tolist())]
    file.write_text("\n".join(lines))
    text = pw.write_report(tmp_path / "report.html", model, file).read_text(encoding="utf-8")
    assert re.search(r"<bdi>f\d</bdi>", text)
    assert re.search(r"<bdi>s\d+</bdi>", text)


def test_a_data_frame_brings_names(tmp_path: Path):
    pandas = pytest.importorskip("pandas")
    _, rows = mixtures(20, 6, 2)
    frame = pandas.DataFrame(rows, columns=[f"f{i}" for i in range(6)], index=[f"s{i}" for i in range(20)])
    text = written(tmp_path, pw.SPA(2).fit(frame), frame)
    assert re.search(r"<bdi>f\d</bdi>", text)
    assert re.search(r"<bdi>s\d+</bdi>", text)


def test_columns_in_another_order_are_refused(tmp_path: Path):
    pandas = pytest.importorskip("pandas")
    _, rows = mixtures(20, 6, 2)
    frame = pandas.DataFrame(rows, columns=[f"f{i}" for i in range(6)])
    model = pw.SPA(2).fit(frame)
    with pytest.raises(InputError, match="X names column 0 'f5', but SPA was fitted with 'f0' there"):
        pw.write_report(tmp_path / "report.html", model, frame[frame.columns[::-1]])
    assert "SPA found 2 parts" in written(tmp_path, model, rows)


def test_names_in_a_series_go_by_their_place(tmp_path: Path):
    pandas = pytest.importorskip("pandas")
    model, rows = mixtures(20, 6, 2)
    names = [f"s{i}" for i in range(20)]
    series = pandas.Series(names, index=range(19, -1, -1))
    assert written(tmp_path, model, rows, sample_names=series) == written(tmp_path, model, rows, sample_names=names)


def test_weights_may_be_sparse(tmp_path: Path):
    model, weights = with_components(H), sp.csr_array(W)
    assert written(tmp_path, model, X, weights=weights) == written(tmp_path, model, X, weights=W)


def test_samples_learnt_one_by_one_are_no_iterations(tmp_path: Path):
    _, rows = mixtures(50, 6, 2)
    model = pw.ConservativeNMF(2, max_passes=3, random_state=0).fit(rows)
    text = written(tmp_path, model, rows)
    assert "<dt>samples learnt</dt><dd>150</dd>" in text
    assert '<div class="label">samples</div>' in text
    assert "iteration" not in text


@pytest.mark.parametrize("name", [n for n in pw.estimators.__all__ if isinstance(getattr(pw, n, None), type)])
def test_every_estimator_has_a_report(tmp_path: Path, name: str):
    data = pw.datasets.make_topics(n_samples=60, n_features=20, n_components=3, random_state=0)
    rows = np.round(data.X * 200)
    options: dict[str, Any] = {"max_iter": 5} if "max_iter" in getattr(pw, name)().get_params() else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = getattr(pw, name)(3, **options).fit(rows)
    found = Structure(written(tmp_path, model, rows))
    assert f"{name} found {model.n_components_} parts in 60 samples" in found.text
    assert not re.search(r"\b(nan|inf)\b", found.text)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weights": np.ones((4, 3))}, "weights must have shape"),
        ({"feature_names": ["a"]}, "feature_names has 1 names for 3"),
        ({"sample_names": ["a"]}, "sample_names has 1 names for 4"),
        ({"image_shape": (2, 2)}, "image_shape"),
        ({"data": np.ones((4, 5))}, "data has 5 features, but the components have 3"),
        ({"data": X * np.nan, "weights": W}, "hold NaN"),
        ({"data": X * 1e200, "weights": W * 1e200}, "squares leave the range"),
        ({"data": X * 1e-200, "weights": W * 1e-200}, "squares leave the range"),
        ({"sample_names": {"a", "b", "c", "d"}}, "sample_names must be a sequence of names, got set"),
        ({"sample_names": 4}, "sample_names must be a sequence of names, got int"),
        ({"words": ("", "cell", "gene")}, "words must be three words, none of them empty"),
    ],
    ids=["weights", "features", "samples", "image", "data", "nan", "large", "small", "set", "no-names", "no-word"],
)
def test_what_does_not_fit_is_refused(tmp_path: Path, options: dict[str, Any], message: str):
    data = options.pop("data", X)
    with pytest.raises(InputError, match=message):
        pw.write_report(tmp_path / "report.html", with_components(H), data, **options)
    assert list(tmp_path.iterdir()) == []


def test_without_jinja2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    pages.templates.cache_clear()
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingDependencyError, match=r"partwise\[cli\]"):
        pw.write_report(tmp_path / "report.html", with_components(H), X)


def test_the_same_report_twice(tmp_path: Path):
    model, rows = mixtures(80, 20, 4)
    assert written(tmp_path, model, rows) == written(tmp_path, model, rows)


def test_pictures_of_noise_stay_small(tmp_path: Path):
    """Nothing can be compressed here: 100 parts and their samples as large as they are ever shown."""
    rng = np.random.default_rng(0)
    model, rows = with_components(rng.random((100, 160 * 128))), rng.random((400, 160 * 128))
    text = written(tmp_path, model, rows, weights=rng.random((400, 100)), image_shape=(160, 128))
    assert len(text) < 5_000_000


@pytest.mark.parametrize("count", [6, 7, 30])
def test_many_parts_in_red_are_folded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int):
    """Thirty of them stood between the headline and the parts."""
    monkeypatch.setattr(
        page_module, "grave", lambda _: [(f"Part {j + 1} is not determined", "why") for j in range(count)]
    )
    rows = np.random.default_rng(0).random((20, 6))
    page = pw.write_report(tmp_path / "report.html", pw.SPA(2).fit(rows), rows).read_text("utf-8")
    assert page.count("is not determined.") == count
    folded = page.partition('<details class="more">')[2]
    assert folded.count("is not determined.") == max(0, count - 6)
    more = {6: "", 7: "1 more that is not", 30: "24 more that are not"}[count]
    assert more in folded


def test_parts_that_are_negative_or_not_determined_come_first_in_red(tmp_path: Path):
    rng = np.random.default_rng(0)
    H = rng.dirichlet([0.3] * 30, 3)
    X = rng.dirichlet([0.4] * 3, 200) @ H
    model = pw.ANLS(3, random_state=0).fit(X)
    model.components_[0] -= 0.5 * model.components_[1] * model.components_[0].sum() / model.components_[1].sum()
    verdicts = pw.judge(model, X)
    bands = pw.feasible_bands(X, H, starts=0, seconds=0)
    page = pw.write_report(tmp_path / "report.html", model, X, verdicts=verdicts, bands=bands).read_text("utf-8")
    red = page.index('<ul class="warnings grave">')
    assert red < page.index('<section aria-label="Warnings">')
    assert "is negative" in page[red:]
    assert "is not determined" in page[red:]
    assert 'class="band"' in page  # around the parts that have no signs
    assert "No warnings" not in page
    plain = pw.write_report(tmp_path / "plain.html", pw.ANLS(3, random_state=0).fit(X), X).read_text("utf-8")
    assert '<ul class="warnings grave">' not in plain
    with pytest.raises(InputError, match="verdicts has 3 parts, but the model has 2"):
        pw.write_report(tmp_path / "no.html", pw.SPA(2).fit(X), X, verdicts=verdicts)


def test_findings_are_told_in_the_words_of_the_field(tmp_path: Path):
    """A page of endmembers and spectra warned of parts and samples."""
    rng = np.random.default_rng(0)
    rows = np.vstack([rng.random((9, 2)) @ rng.random((2, 6)), np.zeros((1, 6))])
    names = ["sample 1", *(f"s{i}" for i in range(9))]
    model = pw.SPA(2).fit(rows[:9])
    plain = pw.write_report(tmp_path / "a.html", model, Table(rows, sample_names=names)).read_text("utf-8")
    told = pw.write_report(
        tmp_path / "b.html", model, Table(rows, sample_names=names), words=("endmember", "spectrum", "band")
    ).read_text("utf-8")
    assert "1 sample is all zero and has no weights: s8." in plain
    assert "1 spectrum is all zero and has no weights: s8." in told
    warned = re.findall(r"<li><b>.*?</li>", told)
    assert warned
    assert not any(
        re.search(r"\bparts?\b|\bsamples?\b", one.replace("sample 1", "").replace("Part", "")) for one in warned
    )
