"""The figures of the demo: what they show, and that they need no display."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import partwise as pw
from partwise.exceptions import InputError
from partwise.plots import Recovery, image_grid, recovery_grid


@pytest.fixture
def images() -> np.ndarray:
    return np.random.default_rng(0).random((7, 12))


def texts(figure) -> list[str]:
    return [text.get_text() for text in figure.axes[0].texts]


def test_image_grid(images: np.ndarray):
    before = images.copy()
    figure = image_grid(images, (3, 4), titles=list("abcdefg"), title="Parts", columns=3)
    assert texts(figure) == ["Parts", *"abcdefg"]
    drawn = figure.axes[0].images
    assert len(drawn) == 7
    assert drawn[2].get_array().shape == (3, 4)
    assert drawn[2].get_array().max() == 1.0
    boxes = [image.get_extent() for image in drawn]
    assert boxes[0][0] == boxes[3][0] < boxes[1][0]  # three in a line
    assert boxes[0][3] == boxes[2][3] < boxes[3][3]
    np.testing.assert_array_equal(images, before)


def test_recovery_grid_orders_and_marks(images: np.ndarray):
    cosines = np.array([0.5, 1.0, 0.995, 0.9899, 0.9, 0.2, 0.0])
    perfect = Recovery("ours", images, np.ones(7))
    figure = recovery_grid(images, [perfect, Recovery("theirs", images, cosines)], (3, 4), columns=4)
    shown = texts(figure)
    assert shown.count("ours") == shown.count("theirs") == shown.count("true") == 2  # two bands
    assert "7 of 7" in shown
    assert "2 of 7" in shown
    theirs = [text for text in shown if text.startswith("× ") or text == "0.995"]
    assert theirs == ["0.995", "× 0.989", "× 0.900", "× 0.500", "× 0.200", "× 0.000"]
    # brightness is the truth's: the best of theirs (1.0) comes first
    np.testing.assert_allclose(np.ravel(figure.axes[0].images[0].get_array()), images[1] / images[1].max())


def test_empty_component_is_white(images: np.ndarray):
    figure = recovery_grid(images, [Recovery("nothing", 0.0 * images, np.zeros(7))], (3, 4))
    assert not figure.axes[0].images[1].get_array().any()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda X: image_grid(X, (3, 3)), "n_images, 9"),
        (lambda X: image_grid(X[:0], (3, 4)), "shape"),
        (lambda X: image_grid(X, (3, 4), titles=["one"]), "titles has 1"),
        (lambda X: image_grid(X, (3, 4), columns=0), "columns=0"),
        (lambda X: recovery_grid(X, [], (3, 4)), "found is empty"),
        (
            lambda X: recovery_grid(X, [Recovery("few", X[:2], np.ones(2))], (3, 4)),
            "few must have one",
        ),
    ],
)
def test_bad_input(call, message: str, images: np.ndarray):
    with pytest.raises(InputError, match=message):
        call(images)


def test_no_display_and_no_pyplot(tmp_path):
    code = (
        "import sys, numpy as np, partwise as pw\n"
        f"pw.plots.image_grid(np.eye(4), (2, 2)).savefig({str(tmp_path / 'x.png')!r})\n"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60, env={"PATH": "", "HOME": str(tmp_path)})
    assert (tmp_path / "x.png").stat().st_size > 100


def test_matplotlib_missing(monkeypatch: pytest.MonkeyPatch, images: np.ndarray):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(pw.exceptions.MissingDependencyError, match=r"pip install 'partwise\[cli\]'"):
        image_grid(images, (3, 4))
