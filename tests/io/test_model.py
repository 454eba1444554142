"""Models as files: the same bits, all or nothing, and nothing believed that a file says."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import warnings
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from safetensors import safe_open
from safetensors.numpy import save_file

import partwise as pw
from partwise import estimators
from partwise.estimators.saving import fingerprint
from partwise.exceptions import InputError, ReaderError
from partwise.io import model_info, write_atomically
from partwise.io.model import KEY, SCHEMA

X = np.random.default_rng(0).random((60, 8))


def fitted(name: str, data: Any = X, **params: Any) -> Any:
    kind = getattr(estimators, name)
    wanted = {"n_components": 3, "random_state": 0, "max_iter": 5, **params}
    model = kind(**{key: value for key, value in wanted.items() if key in kind().get_params()})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(data)


def equal(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray):
        same = type(a) is type(b) and a.dtype == b.dtype and a.shape == b.shape
        return same and (a.tolist() == b.tolist() if a.dtype.kind in "OU" else a.tobytes() == b.tobytes())
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(map(equal, a, b))
    if hasattr(a, "keys"):
        return type(a) is type(b) and list(a) == list(b) and all(equal(a[key], b[key]) for key in a)
    if hasattr(a, "__dict__"):
        return type(a) is type(b) and all(equal(vars(a)[name], vars(b)[name]) for name in vars(a) if name != "_work")
    return type(a) is type(b) and (a == b or (a != a and b != b))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", estimators.__all__)
def test_round_trip(tmp_path: Path, name: str, dtype: Any):
    path = tmp_path / "model.safetensors"
    data = pd.DataFrame(X.astype(dtype), columns=[f"c{j}" for j in range(8)])
    model = fitted(name, data)
    pw.save(model, path)
    again = pw.load(path)
    assert type(again) is type(model)
    for attribute, value in vars(model).items():
        assert equal(vars(again)[attribute], value), attribute
    assert set(vars(again)) == set(vars(model))
    assert model.transform(data).tobytes() == again.transform(data).tobytes()
    other = pw.open_source(sp.csr_array(np.where(X < 0.5, 0.0, X).astype(dtype)))
    assert model.transform(other).tobytes() == again.transform(other).tobytes()
    pw.save(again, tmp_path / "second")
    assert (tmp_path / "second").read_bytes() == path.read_bytes()


@pytest.mark.parametrize("name", estimators.__all__)
def test_not_fitted(tmp_path: Path, name: str):
    model = getattr(estimators, name)()
    pw.save(model, tmp_path / "model")
    assert repr(pw.load(tmp_path / "model").get_params()) == repr(model.get_params())


def test_learning_goes_on_where_it_was_saved(tmp_path: Path):
    model = fitted("ConservativeNMF")
    pw.save(model, tmp_path / "model")
    again = pw.load(tmp_path / "model")
    assert model.partial_fit(X).components_.tobytes() == again.partial_fit(X).components_.tobytes()


def test_parameters(tmp_path: Path):
    path = tmp_path / "model"
    start = np.asfortranarray(X[:3] + 0.1)
    model = fitted("HALS", init=start, l1_W=0.25)
    pw.save(model, path)
    again = pw.load(path)
    assert again.init.tobytes() == start.tobytes()
    assert again.init.flags.f_contiguous
    assert again.l1_W == 0.25
    pw.save(pw.HALS(3, init=model, callbacks=[print], random_state=np.random.default_rng(0)), path)
    np.testing.assert_array_equal(pw.load(path).init, model.components_)
    assert sorted(model_info(path)["notes"]) == [
        "callbacks are not saved",
        "init was a fitted HALS; its components are saved",
        "random_state was a Generator, whose state is not saved",
    ]
    with pytest.raises(InputError, match="init: an estimator that is not fitted cannot be saved"):
        pw.save(pw.HALS(3, init=pw.SPA(3)), path)


def test_a_stream_in_progress_is_noted(tmp_path: Path):
    pw.save(pw.AND(3, init=X[:3]).partial_fit(X), tmp_path / "model")
    assert model_info(tmp_path / "model")["notes"] == ["_online is not saved"]


def test_provenance(tmp_path: Path):
    pw.save(fitted("HALS"), tmp_path / "model", data=X)
    found = model_info(tmp_path / "model")["provenance"]
    assert found["seed"] == 0
    assert found["versions"]["partwise"] == pw.__version__
    assert found["data"]["shape"] == [60, 8]
    assert found["data"] == fingerprint(pw.open_source(X, block_rows=7))
    sparse = fingerprint(pw.open_source(sp.csr_array(X)))
    assert sparse == fingerprint(pw.open_source(sp.csr_array(X), block_rows=7))
    changed = X.copy()
    changed[-1, -1] += 1e-9
    assert found["data"] != fingerprint(pw.open_source(changed))


@pytest.mark.filterwarnings("ignore::partwise.exceptions.DegenerateDataWarning")
def test_what_archetypes_says_of_its_parts(tmp_path: Path):
    for data in (X, np.zeros((9, 5))):  # where there is no rival, an infinite number
        model = pw.Archetypes(3, starts=2, tol=1.0, random_state=0).fit(data)
        pw.save(model, tmp_path / "model")
        again = pw.load(tmp_path / "model")
        for name in ("mass_", "moved_", "rival_", "unlike_"):
            assert equal(getattr(again, name), getattr(model, name)), name
    assert again.rival_ == np.inf
    for name, wrong in {"mass_": np.ones(2), "moved_": 0.5, "rival_": "none"}.items():
        spoilt = copy(model)
        setattr(spoilt, name, wrong)
        pw.save(spoilt, tmp_path / "spoilt")
        with pytest.raises(ReaderError, match=name):
            pw.load(tmp_path / "spoilt")


def test_only_our_estimators(tmp_path: Path):
    class Mine(pw.HALS):
        pass

    for model in (Mine(), object(), {}):
        with pytest.raises(InputError, match="model must be an estimator of partwise, got"):
            pw.save(model, tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def rewritten(path: Path, change: Any) -> Path:
    """The file with its JSON and tensors changed."""
    with safe_open(str(path), framework="np") as file:
        content = json.loads(file.metadata()[KEY])
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    text = change(content, tensors)
    target = path.with_name("changed")
    save_file(tensors, target, {KEY: text if isinstance(text, str) else json.dumps(content)})
    return target


def set_in(*keys: str, value: Any) -> Any:
    def change(content: Any, tensors: Any) -> None:
        for key in keys[:-1]:
            content = content[key]
        content[keys[-1]] = value

    return change


HOSTILE = {
    "newer": (
        set_in("schema", value=SCHEMA + 1),
        f"has schema {SCHEMA + 1}, and this version reads up to {SCHEMA}; install a newer partwise",
    ),
    "no schema": (set_in("schema", value="1"), "has no number of its schema"),
    "class": (set_in("estimator", value="os.system"), "holds a 'os.system', which is no estimator of this version"),
    "module name": (set_in("estimator", value="__all__"), "holds a '__all__', which is no estimator"),
    "parameter": (set_in("parameters", "shell", value="ls"), "HALS has no parameter 'shell'"),
    "bad parameter": (set_in("parameters", "tol", value=-1.0), "is no model .*'tol'"),
    "method": (set_in("fitted", "transform", value=1), "is no model .*'transform' is no fitted attribute"),
    "private": (set_in("fitted", "__class__", value=1), "is no model .*'__class__' is no fitted attribute"),
    "property": (set_in("fitted", "fit_", value={"record": ["Popen", {}]}), "is no model"),
    "unknown kind": (set_in("fitted", "x_", value={"pickle": "gASV"}), "not a readable model .*unknown kind 'pickle'"),
    "no tensor": (set_in("fitted", "components_", value={"array": "t99"}), "not a readable model"),
    "components": (set_in("fitted", "components_", value=3), "its components are no matrix of numbers"),
    "features": (set_in("fitted", "n_features_in_", value=10**9), "n_features_in_ is 1000000000, and the components"),
    "count": (set_in("fitted", "n_components_", value=True), "n_components_ is True"),
    "missing part": (set_in("fitted", value=[]), "fitted is missing or of another type"),
    "not JSON": (lambda content, tensors: "{" * 100, "not a readable model"),
    "deep": (lambda content, tensors: "[" * 100_000, "not a readable model"),
    "constant": (lambda content, tensors: '{"schema": NaN}', "not a readable model .*NaN is not JSON"),
    "history": (
        set_in("fitted", "history_", value={"record": ["History", {"a": {"list": [1]}, "b": {"list": []}}]}),
        "columns of the history have several lengths",
    ),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_files(tmp_path: Path, case: str):
    change, message = HOSTILE[case]
    pw.save(fitted("HALS"), tmp_path / "model")
    with pytest.raises(ReaderError, match=message) as caught:
        pw.load(rewritten(tmp_path / "model", change))
    assert str(tmp_path / "changed") in str(caught.value)


def test_components_must_be_finite(tmp_path: Path):
    pw.save(fitted("HALS"), tmp_path / "model")

    def change(content: Any, tensors: Any) -> None:
        tensors[content["fitted"]["components_"]["array"]][0, 0] = np.nan

    with pytest.raises(ReaderError, match="its components are not finite"):
        pw.load(rewritten(tmp_path / "model", change))


def test_other_files_are_no_models(tmp_path: Path):
    path = tmp_path / "model"
    with pytest.raises(ReaderError, match="there is no such file"):
        pw.load(path)
    for content in (b"", b"hello", pickle.dumps(pw.HALS()), (2**63).to_bytes(8, "little") + b"{}"):
        path.write_bytes(content)
        with pytest.raises(ReaderError, match="not a readable model"):
            pw.load(path)
    save_file({"a": np.ones(3)}, path)
    with pytest.raises(ReaderError, match="holds tensors, but no model of partwise"):
        pw.load(path)
    pw.save(fitted("SPA"), path)
    data = path.read_bytes()
    path.write_bytes(data[:-5])
    with pytest.raises(ReaderError, match="not a readable model"):
        pw.load(path)


def test_writing_is_all_or_nothing(tmp_path: Path):
    path = tmp_path / "a"
    path.write_bytes(b"old")

    def fails(file: Any) -> None:
        file.write(b"half of it")
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        write_atomically(path, fails)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
    write_atomically(path, lambda file: file.write(b"new"))
    assert path.read_bytes() == b"new"
    mask = os.umask(0)
    os.umask(mask)
    assert path.stat().st_mode & 0o777 == 0o666 & ~mask


KILLED = """
import sys, time
from pathlib import Path
from partwise.io.atomic import write_atomically

def slowly(file):
    file.write(b"new" * 1000)
    file.flush()
    print("writing", flush=True)
    time.sleep(60)

write_atomically(Path(sys.argv[1]), slowly)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_killed_write_leaves_the_old_file(tmp_path: Path):
    path = tmp_path / "model"
    pw.save(fitted("SPA"), path)
    before = path.read_bytes()
    with subprocess.Popen([sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"writing\n"
        writer.send_signal(signal.SIGKILL)
        writer.wait(timeout=30)
    assert path.read_bytes() == before
    assert isinstance(pw.load(path), pw.SPA)
