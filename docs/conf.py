"""The documentation: pip install '.[docs]' && sphinx-build -W docs site."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

import partwise

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "_extensions"))

project = "partwise"
author = "The partwise developers"
version = release = partwise.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "mathml",
    "pages",
]
exclude_patterns = [
    "_extensions",
    "lab",
    "gallery/*.py",
    "gallery/*.ipynb",
    "sg_execution_times.rst",
    "gallery/sg_execution_times.rst",
    "gallery/backreferences",
]

# pages: Markdown, whose headings can be linked to
myst_enable_extensions = ["attrs_inline", "colon_fence"]
myst_heading_anchors = 4
suppress_warnings = ["myst.xref_ambiguous"]
default_role = "code"  # of docstrings

# names: docstrings are numpydoc's, types stand in them
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
add_module_names = False
python_display_short_literal_types = True
toc_object_entries_show_parents = "hide"

# examples: run, with their pictures
SCRIPTS = sorted((HERE.parent / "examples").glob("*.py"))
FOLDER = os.environ.get("PARTWISE_DATA", "")


def lacking(script: Path) -> bool:
    """Whether a set is not here that it needs: "PARTWISE_DATA names (bbc)"."""
    sets = re.search(r"PARTWISE_DATA\s+names \(([^)]*)\)", script.read_text())
    wanted = [] if sets is None else [one.strip() for one in sets[1].split(",")]
    return any(not FOLDER or not Path(FOLDER, one).is_dir() for one in wanted)


SHOWN = [one.stem for one in SCRIPTS if lacking(one)]
sphinx_gallery_conf = {
    "examples_dirs": [str(HERE.parent / "examples")],
    "gallery_dirs": ["gallery"],
    "backreferences_dir": "gallery/backreferences",
    # those whose data is not here are shown, not run
    "filename_pattern": rf"/(?!(?:{'|'.join([*SHOWN, 'none'])})\.py$)\w+\.py$",
    "within_subsection_order": "pages.RecipesFirst",
    "download_all_examples": False,
    "show_signature": False,
    "plot_gallery": os.environ.get("PARTWISE_GALLERY", "run") == "run",
    "min_reported_time": 10_000,
}

html_theme = "pydata_sphinx_theme"
html_title = "partwise"
html_static_path = ["partwise.css"]
html_css_files = ["partwise.css"]
html_sidebars = {"index": [], "fields": [], "changes": []}
html_favicon = "images/icon.svg"
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "logo": {
        "text": "partwise",
        "image_light": "images/icon.svg",
        "image_dark": "images/icon.svg",
    },
    "header_links_before_dropdown": 7,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "show_prev_next": True,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}
copyright = "The partwise developers, BSD-3-Clause"


def skipped(
    app: Any, what: str, name: str, thing: Any, skip: bool, options: Any
) -> bool | None:
    """scikit-learn's methods for routing are in no docstring of ours."""
    return True if name.startswith("set_") and name.endswith("_request") else None


def setup(app: Any) -> None:
    app.connect("autodoc-skip-member", skipped)
