"""Fits that are watched: bars, and records."""

from __future__ import annotations

import io
import logging
import sys
import types

import numpy as np
import pytest
from sklearn.base import clone

import partwise as pw
from partwise.algorithms.loop import WATCHERS

X = np.random.default_rng(0).random((40, 12))


def test_a_line_is_drawn_and_the_watcher_goes():
    stream = io.StringIO()
    with pw.show_progress(stream):
        model = pw.HALS(3, max_iter=20, tol=1e-12).set_params(tol=0.0).fit(X)
        pw.HALS(2, tol=1e-3).fit(X)
    text = stream.getvalue()
    assert f"iteration {model.n_iter_}, objective" in text
    assert "#" * 24 in text  # full at the end
    assert "fit 2, iteration" in text
    assert text.endswith("\n")
    assert WATCHERS == []


def test_nothing_is_written_where_nobody_looks(capsys: pytest.CaptureFixture[str]):
    with pw.show_progress():
        pw.HALS(2, tol=1e-3).fit(X)
    assert capsys.readouterr() == ("", "")


def test_a_watcher_goes_after_an_error():
    with pytest.raises(pw.exceptions.InputError), pw.show_progress(io.StringIO()):
        pw.HALS(2).fit(-X)
    assert WATCHERS == []


def test_a_notebook_gets_one_bar_that_is_updated(monkeypatch: pytest.MonkeyPatch):
    shown = []

    class Handle:
        def update(self, data: dict[str, str], raw: bool) -> None:
            shown.append(data["text/html"])

    def display(data: dict[str, str], raw: bool, display_id: bool) -> Handle:
        shown.append(data["text/html"])
        return Handle()

    shell = types.SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", types.SimpleNamespace(display=display))
    with pw.show_progress():
        pw.HALS(2, tol=1e-3).fit(X)
    assert shown[-1].startswith('<progress value="1.000" max="1">')


def test_logging_has_every_fit_and_every_iteration(caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.INFO, "partwise"):
        model = pw.HALS(3, tol=1e-3).fit(X)
    (record,) = caplog.records
    assert record.getMessage().startswith(f"HALS: {model.stop_reason_}; {model.n_iter_} iterations")
    caplog.clear()
    with caplog.at_level(logging.DEBUG, "partwise"):
        pw.HALS(3, tol=1e-3).fit(X)
    assert [one.levelname for one in caplog.records].count("DEBUG") == model.n_iter_ + 1


@pytest.mark.parametrize("make", [pw.HALS, pw.MinVol, pw.Facets], ids=lambda kind: kind.__name__)
def test_verbose_shows_the_fits_of_a_model_and_of_its_clones(make: type, monkeypatch: pytest.MonkeyPatch):
    stream = io.StringIO()
    stream.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", stream)
    model = make(2, max_iter=5, tol=0.0, verbose=1) if make is not pw.Facets else make(2, verbose=1)
    assert "verbose" not in model.get_params()
    for one in (model, clone(model)):
        for fit in (one.fit, one.fit_transform):
            stream.truncate(0)
            fit(X)
            assert "iteration" in stream.getvalue()
    stream.truncate(0)
    make(2).fit(X)
    assert (stream.getvalue(), WATCHERS) == ("", [])
