"""Docstrings as Markdown: the reStructuredText of numpydoc that mkdocstrings leaves alone.

Formulas become MathML, which browsers show by themselves: the site needs no script and no network for them.
"""

from __future__ import annotations

import re
from typing import Any

import griffe
from latex2mathml.converter import convert

ROLE = re.compile(r":(?:class|func|meth|mod|data|attr|exc):`~?([^`]+)`")
FORMULA = re.compile(r":math:`([^`]+)`")
DISPLAYED = re.compile(r"^\.\. math::[ \t]*(.*(?:\n(?:[ \t]+\S.*|[ \t]*(?=\n[ \t]+\S)))*)", re.MULTILINE)
CHOICES = re.compile(r"^([\w, ]+ : )\{([^}]*)\}", re.MULTILINE)  # of which the parser would keep only the braces
CITATION = re.compile(r"\[(\d+)\]_")
REFERENCE = re.compile(r"^\.\. \[(\d+)\] (.*(?:\n[ \t]+\S.*)*)", re.MULTILINE)


class Markdown(griffe.Extension):
    """Rewrites every docstring before it is parsed."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring:
            obj.docstring.value = markdown(obj.docstring.value)


def markdown(text: str) -> str:
    """The docstring with roles, citations and formulas that Markdown understands."""
    text = DISPLAYED.sub(
        lambda found: f'\n<div class="formula">{mathml(found[1], "block")}</div>\n',
        text,
    )
    text = FORMULA.sub(lambda found: f'<span class="formula">{mathml(found[1], "inline")}</span>', text)
    text = CHOICES.sub(r"\1\2", text)
    text = ROLE.sub(link, text)
    text = REFERENCE.sub(lambda found: f"{found[1]}. {' '.join(found[2].split())}", text)
    return CITATION.sub(r"<sup>\1</sup>", text)


def link(found: re.Match[str]) -> str:
    """A reference that may lead nowhere: not all that is named has a place in the site."""
    name = found[1]
    path = name if name.startswith("partwise.") else f"partwise.{name}"
    return f'<autoref identifier="{path}" optional><code>{name}</code></autoref>'


def mathml(latex: str, display: str) -> str:
    latex = " ".join(latex.split()).replace(r"\Big", "").replace(r"\big", "")
    if "&" in latex:
        latex = rf"\begin{{align*}}{latex}\end{{align*}}"
    return str(convert(latex, display=display))
