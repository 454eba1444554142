"""Where the real data is, and the skip when it is nowhere."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data_home() -> Path:
    """The folder of real data; tests that need it are skipped without."""
    home = os.environ.get("PARTWISE_DATA")
    if not home or not Path(home).is_dir():
        pytest.skip("PARTWISE_DATA does not name a folder with real data")
    return Path(home)
