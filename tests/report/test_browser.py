"""The page in a browser: nothing to complain of, nothing too wide, dark when asked, and names stay text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import partwise as pw
from tests.browser import BROWSERS, Browser, find_browser
from tests.report.models import mixtures, with_components
from tests.report.test_page import HOSTILE

pytestmark = pytest.mark.skipif(
    find_browser() is None, reason=f"no browser: none of {', '.join(BROWSERS)} is installed"
)

VIEWS = ("hostile", "spectra", "signed", "images", "many", "halves")
WIDTHS = (375, 1280)

# Texts along an axis that overlap, and text that is too small to be read.
OVERLAPS = """[...document.querySelectorAll('.x, .y')].filter(axis => {
  const boxes = [...axis.children].map(e => e.getBoundingClientRect());
  return boxes.some((a, i) => boxes.some((b, j) => i < j &&
    a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1));
}).length"""
SMALLEST = """Math.min(...[...document.querySelectorAll('main *')]
  .filter(e => e.firstChild && e.firstChild.nodeType === 3 && e.firstChild.data.trim())
  .map(e => parseFloat(getComputedStyle(e).fontSize)))"""
# Drawings that leave their chart, or have no height.
OUTSIDE = """[...document.querySelectorAll('.chart svg path')].filter(path => {
  const a = path.getBoundingClientRect(), b = path.closest('.plot').getBoundingClientRect();
  return b.width && (b.height < 40 ||
    a.top < b.top - 4 || a.bottom > b.bottom + 4 || a.left < b.left - 4 || a.right > b.right + 4);
}).length"""
WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
# Relative luminance of the page's paper and ink, after W3C's definition.
LUMINANCE = """(name => {
  const c = getComputedStyle(document.body)[name].match(/[\\d.]+/g).slice(0, 3).map(v => v / 255)
  .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  return 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2]; })"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A report of every kind."""
    folder = tmp_path_factory.mktemp("reports")
    pages = {name: folder / f"{name}.html" for name in VIEWS}
    rng = np.random.default_rng(0)
    m = len(HOSTILE)
    model, rows = mixtures(40, m, 4)
    names = [HOSTILE[i % m] for i in range(40)]
    rows[5] = 0.0
    pw.write_report(
        pages["hostile"], model, rows, feature_names=HOSTILE, sample_names=names, title=HOSTILE[0], warnings=HOSTILE,
        about=dict(zip(HOSTILE, HOSTILE, strict=True)), command=" ".join(HOSTILE),
    )  # fmt: skip
    data = pw.datasets.make_topics(n_samples=200, n_features=60, n_components=4, random_state=0)
    units = [f"{400 + 12.5 * i} nm" for i in range(60)]
    pw.write_report(
        pages["spectra"], pw.Facets(4).fit(data.X), data.X, feature_names=units, command="partwise fit a.npy"
    )
    signed, signed_rows = mixtures(60, 30, 5, signed=True)
    pw.write_report(pages["signed"], signed, signed_rows, weights=rng.random((60, 5)))
    digits = pw.datasets.make_digit_mixtures(n_samples=200, n_components=8, per_sample=2, random_state=0)
    pw.write_report(pages["images"], with_components(digits.components), digits.X, image_shape=digits.image_shape)
    many, many_rows = mixtures(100, 30, 300)
    pw.write_report(pages["many"], many, many_rows)
    watched = pw.AND(4, monitor=True, random_state=0, max_iter=30, tol=0.0).fit(data.X)
    pw.write_report(pages["halves"], watched, data.X)
    return pages


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as started:
        yield started


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("view", VIEWS)
def test_layout(browser: Browser, pages: dict[str, Path], view: str, width: int):
    page = browser.open(pages[view], width=width)
    assert page.evaluate("innerWidth") == width
    assert page.problems() == []
    assert page.requests() == []
    assert page.evaluate(WIDE) <= 0, "the page is wider than the screen"
    assert page.evaluate(OVERLAPS) == 0
    assert page.evaluate(OUTSIDE) == 0
    assert page.evaluate(SMALLEST) >= 10.5
    broken = "[...document.images].filter(i => !i.complete || !i.naturalWidth || i.width < 10).length"
    assert page.evaluate(broken) == 0
    page.close()


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_theme(browser: Browser, pages: dict[str, Path], dark: bool):
    page = browser.open(pages["images"], dark=dark)
    paper, ink = (page.evaluate(f"{LUMINANCE}('{name}')") for name in ("backgroundColor", "color"))
    assert (paper < 0.02) if dark else (paper > 0.9)
    contrast = (max(paper, ink) + 0.05) / (min(paper, ink) + 0.05)
    assert contrast > 7.0
    page.close()


def test_print_is_light(browser: Browser, pages: dict[str, Path], tmp_path: Path):
    page = browser.open(pages["spectra"], dark=True, media="print")
    assert page.evaluate(f"{LUMINANCE}('backgroundColor')") == 1.0
    page.pdf(tmp_path / "report.pdf")
    assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF")
    page.close()


def test_injected_names_are_text(browser: Browser, pages: dict[str, Path]):
    page = browser.open(pages["hostile"])
    assert page.evaluate("document.scripts.length") == 1  # the page's own
    assert page.evaluate("document.querySelectorAll('[onerror], [onload], [onmouseover]').length") == 0
    assert page.evaluate("document.querySelector('h1').textContent") == HOSTILE[0]
    text = page.evaluate("document.querySelector('.cards').textContent")
    assert "<script>alert(1)</script>" in text
    assert "</style><img src=x onerror=alert(1)>" in text
    assert page.problems() == []  # a dialog would be one
    page.close()


def test_scripts_could_not_run_anyway(browser: Browser, pages: dict[str, Path], tmp_path: Path):
    """The policy of the page stops what an escape too few would let in."""
    broken = pages["hostile"].read_text(encoding="utf-8")
    broken = broken.replace("<main>", "<main><script>window.done = 1</script><img src=x onerror='window.done = 1'>", 1)
    (tmp_path / "broken.html").write_text(broken, encoding="utf-8")
    page = browser.open(tmp_path / "broken.html")
    assert page.evaluate("window.done === undefined")
    assert any("Content Security Policy" in problem for problem in page.problems())
    page.close()


def test_cards_are_searched_sorted_folded_and_renamed(browser: Browser, pages: dict[str, Path]):
    page = browser.open(pages["spectra"])
    cards = "[...document.querySelectorAll('.card')].filter(c => !c.hidden).map(c => c.querySelector('h3').textContent)"
    assert page.evaluate(cards) == ["Part 1", "Part 2", "Part 3", "Part 4"]
    shares = "[...document.querySelectorAll('.card')].map(c => parseFloat(c.dataset.share))"
    choose = "(s => { s.value = 'largest first'; s.dispatchEvent(new Event('change')); })"
    page.evaluate(f"{choose}(document.querySelector('.tools select'))")
    ordered = page.evaluate(shares)
    assert ordered == sorted(ordered, reverse=True)
    page.evaluate(
        "(s => { s.value = 'part 3'; s.dispatchEvent(new Event('input')); })(document.querySelector('.tools input'))"
    )
    assert page.evaluate(cards) == ["Part 3"]
    page.evaluate("[...document.querySelectorAll('.tools button')][0].click()")
    assert page.evaluate("getComputedStyle(document.querySelector('.card:not([hidden]) .chart')).display") == "none"
    rename = "(h => { h.focus(); h.textContent = '<b>oil</b>'; h.blur(); h.dispatchEvent(new Event('blur')); })"
    page.evaluate(f"{rename}(document.querySelector('#part-3 h3'))")
    assert page.evaluate("document.querySelector('#part-3').dataset.name") == "<b>oil</b>"
    assert page.evaluate("document.querySelectorAll('#part-3 b').length") == page.evaluate(
        "document.querySelectorAll('#part-2 b').length"
    )
    saved = "(() => { let got; HTMLAnchorElement.prototype.click = function () { got = [this.download, this.href]; };"
    saved += " [...document.querySelectorAll('.tools button')][1].click(); return got; })()"
    name, href = page.evaluate(saved)
    assert name == "names.txt"
    assert "%3Cb%3Eoil%3C%2Fb%3E" in href
    assert page.problems() == []
    page.close()


def test_tables_of_a_field_are_sorted_and_saved(browser: Browser, tmp_path: Path):
    data = pw.datasets.make_topics(n_samples=60, n_features=30, n_components=3, random_state=0)
    listing = pw.profiles.Listing("Known", ["part", "cosine"], [["b", "0.9"], ["a", "0.95"], ["c", "0.1"]])
    lines = pw.profiles.Lines("All", np.arange(30.0), ["x", "y"], np.eye(2, 30), "nm", "share")
    maps = pw.profiles.Maps("Maps", ["x"], np.arange(12.0).reshape(1, 3, 4))
    bars = pw.profiles.Bars("Bars", ["x"], np.eye(1, 6), list("abcdef"), [("u", "#123456", 3), ("v", "#654321", 3)])
    path = tmp_path / "a.html"
    pw.write_report(
        path, pw.SPA(3).fit(data.X), data.X, panels=[listing, lines, maps, bars], words=("topic", "text", "word")
    )
    for width in WIDTHS:
        page = browser.open(path, width=width)
        assert page.evaluate(WIDE) <= 0
        assert page.evaluate(SMALLEST) >= 10.5
        column = "[...document.querySelectorAll('.listing tbody tr')].map(r => r.cells[0].textContent).join('')"
        page.evaluate("document.querySelectorAll('.listing th button')[1].click()")
        assert page.evaluate(column) == "cba"
        page.evaluate("document.querySelectorAll('.listing th button')[0].click()")
        assert page.evaluate(column) == "abc"
        assert page.evaluate("document.querySelector('.listing th button').textContent") == "part"
        assert page.problems() == []
        page.close()
