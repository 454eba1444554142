"""The page: everything is on it, nothing comes from elsewhere, and a browser shows it without complaint."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from partwise.lab import run_experiment
from partwise.lab.page import write_summary
from tests.lab.toys import TOY

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome-headless-shell")
WIDTHS = (1280, 390)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("lab") / "toy"
    result = run_experiment(TOY, path)
    write_summary([("toy/index.html", result)], path.parent)
    return path


def test_everything_is_there(folder: Path):
    page = (folder / "index.html").read_text()
    assert "the truth is exact &lt;i&gt;" in page
    assert "nobody measured this" in page
    for verdict in ("reproduced", "not reproduced", "not measured"):
        assert f">{verdict}</span>" in page
    assert "Smaller than published" in page
    assert "scale 1 &lt;b&gt;" in page
    assert "Two &amp; two." in page
    assert "<script>alert" not in page
    assert page.count("<svg") == 1
    assert "least squares on the true weights" in page  # what each method is


def test_nothing_comes_from_elsewhere(folder: Path):
    for path in (folder / "index.html", folder.parent / "index.html"):
        page = path.read_text()
        assert not re.findall(r"""(?:src|href)\s*=\s*["'](?:https?:)?//""", page)
        assert "@import" not in page
        assert "<script" not in page
        assert not re.findall(r"url\((?!#)", page)


def test_figures_take_the_ink_of_the_page(folder: Path):
    page = (folder / "index.html").read_text()
    svg = page[page.index("<svg") : page.index("</svg>")]
    assert "currentColor" in svg
    assert not re.search(r'<svg[^>]* (width|height)="', svg)
    assert "viewBox" in svg


def test_summary(folder: Path):
    page = (folder.parent / "index.html").read_text()
    assert 'href="toy/index.html"' in page
    assert "the truth is exact &lt;i&gt;" in page


def test_full_size_has_no_banner(tmp_path: Path):
    run_experiment(TOY, tmp_path, size="full", seeds=1)
    assert "Smaller than published" not in (tmp_path / "index.html").read_text()


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
    wide: root.scrollWidth - root.clientWidth, shown: figures.filter(box => box.width > 200 && box.height > 100).length,
    figures: figures.length, least: Math.min(...type), trouble: window.trouble, width: window.innerWidth,
  };
  document.body.setAttribute("data-found", JSON.stringify(found));
});
</script>
"""


@pytest.mark.parametrize("width", WIDTHS)
def test_in_a_browser(folder: Path, tmp_path: Path, width: int):
    import html
    import json

    browser = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if browser is None:
        pytest.skip(f"no browser: none of {', '.join(BROWSERS)} is installed")
    page = (folder / "index.html").read_text()
    # a frame of the wanted width: headless windows have a least width
    (tmp_path / "page.html").write_text(page.replace("</head>", PROBE + "</head>"))
    frame = f'<iframe id="f" src="page.html" style="width:{width}px;height:900px;border:0"></iframe>'
    relay = (
        "<script>addEventListener('load', () => { const page = document.getElementById('f').contentDocument;"
        "document.body.setAttribute('data-found', page.body.getAttribute('data-found')); });</script>"
    )
    (tmp_path / "frame.html").write_text(f"<!doctype html><body>{frame}{relay}</body>")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--allow-file-access-from-files"]
    seen = subprocess.run(
        [browser, *flags, f"--user-data-dir={tmp_path / 'profile'}", "--window-size=1400,1000", "--dump-dom",
         (tmp_path / "frame.html").as_uri()],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    match = re.search(r'<body[^>]* data-found="([^"]*)"', seen.stdout)
    assert match, seen.stderr[-2000:]
    found = json.loads(html.unescape(match[1]))
    assert found["trouble"] == []
    assert found["width"] == width
    assert found["wide"] <= 0, "the page is wider than the screen"
    assert found["shown"] == found["figures"] == 1
    assert found["least"] >= 12
