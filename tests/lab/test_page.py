"""The page: everything is on it, nothing comes from elsewhere, and a browser shows it without complaint."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from partwise.lab import run_experiment
from partwise.lab.page import write_summary
from tests.lab.browser import look_at
from tests.lab.toys import TOY


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
    assert '<span class="why">because it is 2 &lt; 3</span>' in page
    for verdict in ("reproduced", "not reproduced", "not measured"):
        assert f">{verdict}</span>" in page
    assert "<b>Changed after a run</b>, 2000-01-02: was &lt;= 2; is &gt;= 3. Two is not enough." in page
    assert "2000-01-03: was a claim that zero is one; is none. It failed." in page
    assert "“It is &lt;b&gt;exact&lt;/b&gt;.” (Table 1)" in page
    assert "a claim of this library" in page
    assert "≥ 3<span" in page
    assert "our bound, set on 2000-01-01" in page
    banner = page.index("The literal algorithm does not reproduce</b> all that is published: true-weights 1 of 2.")
    assert banner < page.index("Ours is &lt;another&gt;.") < page.index("<h2>Claims</h2>")
    assert "As published: 1 of 2" in page
    assert "Ours: 2 of 3" in page
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
    assert page.index("As published: 1 of 2") < page.index("Ours: 2 of 3") < page.index("<h2>")
    assert "the truth is exact &lt;i&gt;" in page


def test_full_size_has_no_banner(tmp_path: Path):
    run_experiment(TOY, tmp_path, size="full", seeds=1)
    assert "Smaller than published" not in (tmp_path / "index.html").read_text()


def test_in_a_browser(folder: Path):
    look_at({folder / "index.html": 1, folder.parent / "index.html": 0})
