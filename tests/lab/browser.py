"""Pages in headless Chromium: what it complains about, whether they fit the screen, whether their figures show."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome-headless-shell")
WIDTHS = (1280, 390)
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--allow-file-access-from-files",
)  # fmt: skip

PROBE = """
<script>
window.trouble = [];
window.onerror = message => { window.trouble.push(message); };
console.error = (...words) => { window.trouble.push(words.join(" ")); };
window.addEventListener("load", () => {
  const root = document.documentElement;
  const figures = [...document.querySelectorAll("figure svg")].map(svg => svg.getBoundingClientRect());
  const type = [...document.querySelectorAll("p, td, th, dd")].map(e => parseFloat(getComputedStyle(e).fontSize));
  const found = {
    wide: root.scrollWidth - root.clientWidth, shown: figures.filter(box => box.width > 200 && box.height > 50).length,
    figures: figures.length, least: Math.min(...type), trouble: window.trouble, width: window.innerWidth,
  };
  document.body.setAttribute("data-found", JSON.stringify(found));
});
</script>
"""
RELAY = """<script>addEventListener("load", () => {
const found = [...document.querySelectorAll("iframe")].map(f => f.contentDocument.body.getAttribute("data-found"));
document.body.setAttribute("data-found", JSON.stringify(found)); });</script>"""


@dataclass(frozen=True)
class Seen:
    """What a browser made of a page at a width."""

    page: Path
    width: int
    found: dict

    def check(self, figures: int) -> None:
        """Nothing went wrong, nothing sticks out, at least so many figures are there, type can be read."""
        where = f"{self.page} at {self.width} px"
        assert self.found["trouble"] == [], where
        assert self.found["width"] == self.width, where
        assert self.found["wide"] <= 0, f"{where}: the page is wider than the screen"
        assert self.found["shown"] == self.found["figures"] >= figures, where
        assert self.found["least"] >= 12, where


def look(pages: Sequence[Path], scratch: Path) -> list[Seen]:
    """Open every page at every width, in frames of one window: headless windows have a least width."""
    browser = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if browser is None:
        pytest.skip(f"no browser: none of {', '.join(BROWSERS)} is installed")
    views = [(page, width) for page in pages for width in WIDTHS]
    frames = []
    for i, (page, width) in enumerate(views):
        (scratch / f"{i}.html").write_text(page.read_text().replace("</head>", PROBE + "</head>"))
        frames.append(f'<iframe src="{i}.html" style="width:{width}px;height:900px;border:0"></iframe>')
    (scratch / "frames.html").write_text(f"<!doctype html><body>{''.join(frames)}{RELAY}</body>")
    command = [browser, *FLAGS, f"--user-data-dir={scratch / 'profile'}", "--window-size=1400,1000", "--dump-dom"]
    seen = subprocess.run(
        [*command, (scratch / "frames.html").as_uri()], capture_output=True, text=True, timeout=120, check=False
    )
    match = re.search(r'<body[^>]* data-found="([^"]*)"', seen.stdout)
    assert match, seen.stderr[-2000:]
    found = json.loads(html.unescape(match[1]))
    return [Seen(page, width, json.loads(one)) for (page, width), one in zip(views, found, strict=True)]
