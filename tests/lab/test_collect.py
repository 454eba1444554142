"""Names are unique over the files of a package."""

from __future__ import annotations

import pytest

from partwise.lab.collect import by_name
from partwise.lab.measures import MEASURES, MODULES


def test_by_name():
    assert list(by_name("partwise.lab.measures", MODULES, "MEASURES")) == list(MEASURES)
    with pytest.raises(ValueError, match=r"two of partwise\.lab\.measures are called part_error"):
        by_name("partwise.lab.measures", ("base", "and_", "base"), "MEASURES")
