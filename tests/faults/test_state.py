"""All or nothing: a call that fails leaves the object as it was, whichever block it fails in."""

from __future__ import annotations

import sys
import warnings
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

import joblib
import numpy as np
import pytest

import partwise as pw
from partwise.estimators.base import Factorization
from partwise.exceptions import InputError
from partwise.sources.memory import MemorySource

RNG = np.random.default_rng(0)
X = RNG.gamma(0.5, size=(60, 4)) @ RNG.gamma(0.5, size=(4, 12)) + 0.01
METHODS = [
    name for name in pw.__all__ if isinstance(getattr(pw, name), type) and issubclass(getattr(pw, name), Factorization)
]


class Failing(MemorySource):
    """Rows whose n-th block cannot be read."""

    def __init__(self, rows: np.ndarray, error: type[Exception], at: float = np.inf) -> None:
        super().__init__(rows)
        self.error, self.at, self.calls = error, at, 0

    def block(self, i: int) -> Any:
        self.calls += 1
        if self.calls >= self.at:
            raise self.error("on purpose")
        return super().block(i)


class Lying(Failing):
    """Rows that are others from the n-th block on."""

    def __init__(self, rows: np.ndarray, lie: Any, at: float = np.inf) -> None:
        super().__init__(rows, OSError)
        self.lie, self.from_ = lie, at

    def block(self, i: int) -> Any:
        rows = super().block(i)
        return self.lie(rows) if self.calls >= self.from_ else rows


LIES = {
    "nan": lambda rows: rows * np.where(np.arange(rows.shape[1]) == 5, np.nan, 1.0),
    "zero": lambda rows: rows * 0.0,
    "short": lambda rows: rows[:-1],
}


def limited(name: str) -> Any:
    """A model that is soon done, by the same passes each time."""
    model = getattr(pw, name)(3)
    wanted = {"max_iter": 3, "starts": 2, "random_state": 0}
    return model.set_params(**{key: value for key, value in wanted.items() if key in model.get_params()})


@cache
def blocks_read(name: str) -> int:
    """How many blocks a whole fit asks for."""
    whole = Failing(X, OSError)
    limited(name).fit(whole)
    return whole.calls


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", METHODS)
def test_a_fit_that_fails_in_any_pass_changes_nothing(name: str):
    calls = blocks_read(name)
    fitted = limited(name).fit(X[::2])
    before = {key: np.array(value, copy=True) for key, value in vars(fitted).items() if isinstance(value, np.ndarray)}
    for number, at in enumerate(sorted({1, 2, calls // 2, calls - 1, calls} - {0})):
        for which, model in enumerate((limited(name), fitted)):
            error = (OSError, MemoryError)[(number + which) % 2]  # both in early and late passes, of both models
            known = dict(vars(model))
            with pytest.raises(error, match="on purpose"):
                model.fit(Failing(X, error, at))
            assert vars(model) == known or all(vars(model)[key] is known[key] for key in known)
            assert set(vars(model)) == set(known)
    for key, value in before.items():
        np.testing.assert_array_equal(vars(fitted)[key], value)


class Calls:
    """Calls of functions of the package, of which the n-th fails: in a pass, behind the last one, anywhere."""

    home = str(Path(pw.__file__).parent)

    def __init__(self, error: type[Exception] = OSError, at: int = 0) -> None:
        self.error, self.at, self.count, self.where = error, at, 0, ""

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_name == "_tell":  # all is done but for warnings
            sys.setprofile(None)
        elif event == "call" and frame.f_code.co_filename.startswith(self.home):
            self.count += 1
            if self.count == self.at:
                self.where = f"{Path(frame.f_code.co_filename).stem}.{frame.f_code.co_name}"
                sys.setprofile(None)
                raise self.error("on purpose")

    def __enter__(self) -> Calls:
        sys.setprofile(self)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)


LAST, FEW = 15, X[:24]  # the last calls, most of them behind the components
STREAMED = [name for name in METHODS if hasattr(getattr(pw, name), "partial_fit")]
WAYS = [(name, "fit_transform") for name in METHODS] + [(name, "partial_fit") for name in STREAMED]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "way"), WAYS)
def test_a_call_that_fails_anywhere_changes_nothing(name: str, way: str):
    def made() -> Any:
        model = limited(name)
        return model.partial_fit(FEW[::2]) if way == "partial_fit" else model.fit(FEW[::2])

    for _ in range(2):  # the first one compiles and imports
        model = made()
        with Calls() as whole:
            getattr(model, way)(FEW)
    model, torn = made(), []
    some = [int(at) for at in np.linspace(1, whole.count - LAST, 4, endpoint=False)]
    for at in [*some, *range(whole.count - LAST, whole.count + 1)]:
        failing, known = Calls((OSError, MemoryError)[at % 2], at), joblib.hash(vars(model))
        try:
            with failing:
                getattr(model, way)(FEW)
        except (OSError, MemoryError):
            if joblib.hash(vars(model)) == known:
                continue
            torn.append(failing.where)
        model = made()  # that one has caught it, or is torn
    assert torn == []


@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("name", METHODS)
def test_rows_that_change_between_passes_are_refused(name: str, lie: str):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for at in {2, blocks_read(name)}:
            model = limited(name)
            with np.errstate(all="ignore"), pytest.raises(InputError, match="is not what it was") as caught:
                model.fit(Lying(X, LIES[lie], at))
            assert caught.value.kind == "changed"
            assert not hasattr(model, "components_")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("what", ["weights of samples", "holes"])
def test_rows_that_change_beside_weights_and_holes_are_refused(what: str):
    rows, told = X.copy(), {"sample_weight": np.arange(1.0, len(X) + 1.0)} if what == "weights of samples" else {}
    model = pw.HALS(2, max_iter=3, random_state=0)
    if what == "holes":
        rows[2, 1] = np.nan
        model.set_params(missing="nan")
    whole = Failing(rows, OSError)
    model.fit(whole, **told)
    with np.errstate(all="ignore"), pytest.raises(InputError, match="is not what it was"):
        model.fit(Lying(rows, lambda block: 1.5 * block, whole.calls), **told)


@pytest.mark.filterwarnings("ignore")
def test_a_matrix_that_was_changed_is_looked_at_again():
    """A source remembers what was seen of it; what the caller writes into its array since is no part of that."""
    rows = X.copy()
    source = pw.open_source(rows)
    pw.HALS(3, max_iter=3).fit(source)
    rows[3, 4] = np.nan
    with pytest.raises(InputError, match="is not what it was"):
        pw.HALS(3, max_iter=3).fit(source)
    with pytest.raises(InputError, match="row 3, column 4"):
        pw.HALS(3, max_iter=3).fit(source)


def test_a_callback_cannot_change_the_fit():
    def spoil(progress: Any) -> None:
        try:
            progress.components[...] = 7.0
        except ValueError:
            tried.append(progress.n_iter)

    tried: list[int] = []
    plain = pw.HALS(3, max_iter=5, tol=0.0).fit(X)
    spoilt = pw.HALS(3, max_iter=5, tol=0.0, callbacks=[spoil]).fit(X)
    np.testing.assert_array_equal(plain.components_, spoilt.components_)
    assert tried
    spoilt.components_ *= 2.0  # those of the model are the caller's own


@pytest.mark.parametrize("kind", ["dates", "spans", "records"])
def test_times_and_records_are_refused(kind: str):
    rows = np.arange(40).reshape(10, 4)
    bad = {
        "dates": lambda: rows.astype("datetime64[s]"),
        "spans": lambda: rows.astype("timedelta64[s]"),
        "records": lambda: np.ones((10, 1), [("a", float)]),
    }[kind]()
    for call in (pw.HALS(1).fit, pw.open_source):
        with pytest.raises(InputError, match="must hold real numbers"):
            call(bad)


@pytest.mark.parametrize("name", ["HALS", "ANLS", "MU"])
def test_a_start_of_zeros_is_refused(name: str):
    with pytest.raises(InputError, match="init"):
        getattr(pw, name)(2, init=np.zeros((2, 12))).fit(X)


def test_one_feature_is_told_as_scikit_learn_wants_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")  # as in tests/contracts/test_estimators.py
    from sklearn.utils.estimator_checks import check_fit2d_1feature

    check_fit2d_1feature("AnchorTopics", pw.AnchorTopics())
