"""Models whose headers are changed: refused when they are loaded, or as good as any other."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

import partwise as pw
from partwise.exceptions import InputError, ReaderError
from partwise.report import write_report

structured = pytest.importorskip("benchmarks.structured")
RNG = np.random.default_rng(0)
X = RNG.gamma(0.5, size=(40, 3)) @ RNG.gamma(0.5, size=(3, 10)) + 0.01
MODELS = {
    "HALS": lambda: pw.HALS(3, max_iter=20, tol=1e-2),
    "AND": lambda: pw.AND(3, max_iter=10, tol=1e-2),
    "ConservativeNMF": lambda: pw.ConservativeNMF(3),
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", MODELS)
def test_a_damaged_model_is_refused_or_does_its_work(tmp_path: Path, name: str):
    path, loaded, refused = tmp_path / "model.safetensors", 0, 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pw.save(MODELS[name]().fit(X), path)
        good = path.read_bytes()
        for number in range(80):
            path.write_bytes(structured.change(path.name, good, np.random.default_rng([1, number])) or good)
            try:
                model = pw.load(path)
            except ReaderError:
                refused += 1
                continue
            loaded += 1
            few = {"max_iter": 2} if "max_iter" in model.get_params() else {}
            for work in (
                lambda model=model: model.transform(X),
                lambda model=model: write_report(tmp_path / "report.html", model, data=pw.open_source(X)),
                lambda model=model, few=few: model.set_params(**few).fit(X),
            ):
                try:
                    work()
                except InputError:  # said by name; any other error would be a fault
                    continue
    assert loaded
    assert refused
