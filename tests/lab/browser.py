"""Pages of the lab in a browser: what it complains about, whether they fit the screen, whether their figures show."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.browser import BROWSERS, Browser, find_browser

WIDTHS = (1280, 390)
LOOK = """(() => {
  const root = document.documentElement;
  const figures = [...document.querySelectorAll("figure svg")].map(svg => svg.getBoundingClientRect());
  const type = [...document.querySelectorAll("p, td, th, dd")].map(e => parseFloat(getComputedStyle(e).fontSize));
  return {
    wide: root.scrollWidth - root.clientWidth, shown: figures.filter(box => box.width > 200 && box.height > 50).length,
    figures: figures.length, least: Math.min(...type), width: window.innerWidth,
  };
})()"""


def look_at(pages: Mapping[Path, int]) -> None:
    """Nothing goes wrong, nothing sticks out, at least so many figures are there, type can be read."""
    if find_browser() is None:
        pytest.skip(f"no browser: none of {', '.join(BROWSERS)} is installed")
    with Browser() as browser:
        for path, figures in pages.items():
            page = browser.open(path, width=WIDTHS[0])
            for width in WIDTHS:
                where = f"{path} at {width} px"
                page.resize(width)
                found = page.evaluate(LOOK)
                assert found["width"] == width, where
                assert found["wide"] <= 0, f"{where}: the page is wider than the screen"
                assert found["shown"] == found["figures"] >= figures, where
                assert found["least"] >= 12, where
            assert page.problems() == [], path
            assert page.requests() == [], path
            page.close()
