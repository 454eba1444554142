"""Formulas as MathML, which browsers show by themselves: the site needs no script and no network for them."""

from __future__ import annotations

from typing import Any

from latex2mathml.converter import convert


def mathml(latex: str, display: str) -> str:
    latex = " ".join(latex.split()).replace(r"\Big", "").replace(r"\big", "")
    if "&" in latex:
        latex = rf"\begin{{align*}}{latex}\end{{align*}}"
    return str(convert(latex, display=display))


def inline(writer: Any, node: Any) -> None:
    writer.body.append(mathml(node.astext(), "inline"))


def displayed(writer: Any, node: Any) -> None:
    writer.body.append(f'<div class="formula">{mathml(node.astext(), "block")}</div>')


def no_end(writer: Any, node: Any) -> None:
    """All has been written."""


def setup(app: Any) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (inline, no_end), (displayed, no_end))
    app.config.html_math_renderer = "mathml"
    return {"parallel_read_safe": True, "parallel_write_safe": True}
