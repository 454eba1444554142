"""Imports without a search for cycles."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from partwise.cli.loading import Postponed, loading


@pytest.mark.parametrize("searched", [True, False], ids=["on", "off"])
def test_the_search_is_as_it_was_after_loading(searched: bool) -> None:
    before = gc.isenabled()
    try:
        (gc.enable if searched else gc.disable)()
        with loading():
            assert not gc.isenabled()
        assert gc.isenabled() is searched
    finally:
        gc.unfreeze()
        (gc.enable if before else gc.disable)()


@pytest.fixture
def loads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """A package that says when it is loaded, to be postponed."""
    (tmp_path / "slowly").mkdir()
    (tmp_path / "slowly" / "__init__.py").write_text("import builtins\nbuiltins.loads.append(__name__)\nvalue = 3\n")
    (tmp_path / "slowly" / "inside.py").write_text("from slowly import value\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("builtins.loads", found := list[str](), raising=False)
    monkeypatch.setattr("partwise.cli.loading.POSTPONED", ("slowly", "no_such_package", "pathlib"))
    yield found
    for name in [name for name in sys.modules if name.partition(".")[0] == "slowly"]:
        del sys.modules[name]


def test_what_is_postponed_is_loaded_once_when_something_of_it_is_asked_for(loads: list[str]) -> None:
    with loading():
        import slowly as stand_in  # type: ignore[import-not-found]
    assert type(stand_in) is Postponed
    assert "slowly" not in sys.modules
    assert loads == []
    assert stand_in.value == 3
    assert stand_in.value == 3
    import slowly.inside  # type: ignore[import-not-found]

    assert not isinstance(slowly, Postponed)
    assert slowly.inside.value == 3
    assert loads == ["slowly"]
    with pytest.raises(AttributeError, match="nothing"):
        stand_in.nothing  # noqa: B018


def test_what_is_asked_for_while_loading_is_loaded(loads: list[str]) -> None:
    with loading():
        from slowly import value
    assert value == 3
    assert not isinstance(sys.modules["slowly"], Postponed)
    assert loads == ["slowly"]


@pytest.mark.usefixtures("loads")
def test_what_is_there_or_nowhere_is_left() -> None:
    before = sys.modules["pathlib"]
    with loading():
        assert sys.modules["pathlib"] is before
        assert "no_such_package" not in sys.modules


def test_scikit_learn_works_with_what_it_is_given() -> None:
    code = (
        "import sys\nfrom partwise.cli.loading import loading\n"
        "with loading():\n    import partwise.estimators.options\n"
        "assert not {'scipy.stats', 'pandas'} & set(sys.modules), 'they were loaded'\n"
        "from sklearn.utils import fixes\n"
        "assert fixes._mode([1, 2, 2]).mode == 2\n"
        "from scipy.stats._distn_infrastructure import rv_frozen\n"
        "import scipy.stats\nassert isinstance(scipy.stats.norm(), rv_frozen)\n"
        "import pandas\nassert pandas.DataFrame({'a': [1]}).shape == (1, 1)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
