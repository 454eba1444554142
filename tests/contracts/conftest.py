"""Warnings of methods that tell what they did off their path, which on small data is often, are not errors here."""

import pytest

TOLD = ("sklearn.exceptions.ConvergenceWarning", "partwise.exceptions.DegenerateDataWarning")


def pytest_collection_modifyitems(items):
    for item in items:
        callspec = getattr(item, "callspec", None)
        if callspec is not None and getattr(callspec.params.get("method"), "clusters", False):
            for category in TOLD:
                item.add_marker(pytest.mark.filterwarnings(f"ignore::{category}"))
