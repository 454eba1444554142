"""The command-line program ``partwise``: one file a command."""

from __future__ import annotations

import sys
from importlib.util import find_spec

from partwise import __version__

__all__ = ["main"]

NEEDED = ("typer", "rich", "matplotlib", "jinja2")


def main() -> None:
    """Run the program, or say how to install what it needs."""
    if sys.argv[1:] == ["--version"]:  # at once, without what a command needs
        print(f"partwise {__version__}")
        sys.exit(0)
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        sys.exit(f"partwise: the program needs {', '.join(missing)}; install with: pip install 'partwise[cli]'")
    from partwise.cli.app import run

    sys.exit(run())
