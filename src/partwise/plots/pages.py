"""Templates of pages, for whoever makes some."""

from __future__ import annotations

from functools import cache
from typing import Any

from partwise.exceptions import MissingDependencyError


@cache
def templates(package: str) -> Any:
    """The templates of a package; an error that says what to install where there is no jinja2.

    Parameters
    ----------
    package : str
        Its name; the templates are in its folder ``templates``.

    Returns
    -------
    jinja2.Environment
        Everything is escaped, and a name that is not given is an error.
    """
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ModuleNotFoundError as error:
        raise MissingDependencyError("pages need jinja2: pip install 'partwise[cli]'") from error
    return Environment(
        loader=PackageLoader(package),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
