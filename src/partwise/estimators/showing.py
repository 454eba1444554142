"""What a fitted model shows of itself: a score on other samples, a table in a notebook, pictures."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from partwise.exceptions import InputError
from partwise.metrics.residuals import squared_residual
from partwise.sources import blocks

TOP = 6
ROWS = 1024
STYLE = "text-align:left;padding:2px 8px"


def table_html(columns: list[str], rows: list[list[str]]) -> str:
    """A small table of text."""
    head = "".join(f'<th style="{STYLE}">{escape(name)}</th>' for name in columns)
    body = "".join(
        "<tr>" + "".join(f'<td style="{STYLE}">{escape(cell)}</td>' for cell in row) + "</tr>" for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


class Shown:
    """Score, notebook and pictures, for estimators to inherit."""

    def score(self, X: Any, y: Any = None) -> float:
        """How much of samples the parts explain: 1 is all, larger is better; for model selection on held-out samples.

        Of methods for squares it is the share of the squared norm that is explained, over known entries. Of methods for
        counts (Poisson likelihood) it is the share of the deviance that the parts explain beyond the mean sample at
        each sample's own depth; below zero they explain less than that.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, path, Dask collection or source
            Samples as rows; their weights are computed first.
        y : ignored
            There for scikit-learn's interface.

        Returns
        -------
        float
            At most 1.
        """
        check_is_fitted(self)
        source, observed = self._readable(X)  # type: ignore[attr-defined]
        if observed.holes and self._is_of_counts():
            raise InputError(
                "{parameter} has unknown entries, and the share of the deviance that parts explain is that of complete "
                "data; deviance is over known entries",
                parameter="X",
                kind="not-judged",
            )
        W = self._decode(source, observed=observed)  # type: ignore[attr-defined]
        H = np.asarray(self.components_, np.float64)  # type: ignore[attr-defined]
        if self._is_of_counts():
            return _explained_deviance(source, np.asarray(source.deliver(W), np.float64), H)
        squared, norm = squared_residual(source, np.ascontiguousarray(H.T), W=W, observed=observed)
        return float(1.0 - squared / norm) if norm > 0.0 else 1.0

    def _is_of_counts(self) -> bool:
        """Whether the method's model is one of counts."""
        loss = getattr(self, "beta_loss", None)
        return type(self).__name__ == "Likelihood" or loss in ("kullback-leibler", 1, 1.0)

    def plot(self, **options: Any) -> Any:
        """Draw the parts on Matplotlib's axes.

        Parameters
        ----------
        **options
            See :func:`partwise.plots.plot_parts`: ``image_shape``, ``top``, ``axes``, names.

        Returns
        -------
        ndarray of matplotlib.axes.Axes
            One for each part.
        """
        return self.plot_parts(**options)

    def plot_parts(self, **options: Any) -> Any:
        """Draw the parts on Matplotlib's axes; see :func:`partwise.plots.plot_parts`.

        Parameters
        ----------
        **options
            ``image_shape``, ``top``, ``axes``, ``part_names``, ``feature_names``.

        Returns
        -------
        ndarray of matplotlib.axes.Axes
            One for each part.
        """
        from partwise.plots import plot_parts

        check_is_fitted(self)
        given = {"part_names": self.part_names_, "feature_names": getattr(self, "feature_names_in_", None)}  # type: ignore[attr-defined]
        return plot_parts(self.components_, **{**given, **options})  # type: ignore[attr-defined]

    def plot_history(self, **options: Any) -> Any:
        """Draw the course of the fit; see :func:`partwise.plots.plot_history`.

        Parameters
        ----------
        **options
            ``column``, ``ax``.

        Returns
        -------
        matplotlib.axes.Axes
            With its axes named.
        """
        from partwise.plots import plot_history

        check_is_fitted(self)
        return plot_history(getattr(self, "history_", {}), **options)

    def _repr_html_inner(self) -> str:
        """The parameters, as scikit-learn shows them, and what was found."""
        shown: str = super()._repr_html_inner()  # type: ignore[misc]
        if not hasattr(self, "components_"):
            return shown
        return shown + self._found_html()

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        """What a notebook asks for first."""
        shown: dict[str, str] = super()._repr_mimebundle_(**options)  # type: ignore[misc]
        if "text/html" in shown and hasattr(self, "components_"):
            shown["text/html"] += self._found_html()
        return shown

    def _found_html(self) -> str:
        H = np.asarray(self.components_, np.float64)  # type: ignore[attr-defined]
        names = getattr(self, "feature_names_in_", None)
        rows = []
        for part, h in zip(self.part_names_, H, strict=True):  # type: ignore[attr-defined]
            best = np.argsort(-np.abs(h), kind="stable")[:TOP]
            texts = [f"{names[i] if names is not None else f'feature {i}'} ({h[i]:.3g})" for i in best if h[i]]
            rows.append([part, ", ".join(map(str, texts))])
        error = getattr(self, "reconstruction_error_", np.nan)
        ended = getattr(self, "stop_reason_", "")
        told = f"{H.shape[0]} parts of {H.shape[1]} features, relative error {error:.4g}" + (
            f"; {ended}" if ended else ""
        )
        return f"<p>{escape(told)}</p>" + table_html(["part", "largest features"], rows)


def _explained_deviance(source: Any, W: Any, H: Any) -> float:
    """Of counts: 1 - D(X, W H) / D(X, depth x mean sample), D being the generalised Kullback-Leibler divergence."""
    totals = source.reduce(_column_sums)
    mean = totals / max(totals.sum(), 1e-300)
    ours = theirs = 0.0
    for first in range(0, source.shape[0], ROWS):
        rows = range(first, min(first + ROWS, source.shape[0]))
        X = np.asarray(blocks.to_dense(source.take(rows)), np.float64)
        ours += _divergence(X, W[rows.start : rows.stop] @ H)
        theirs += _divergence(X, np.outer(X.sum(axis=1), mean))
    return float(1.0 - ours / theirs) if theirs > 0.0 else 1.0


def _column_sums(block: Any) -> Any:
    return np.asarray(block.sum(axis=0), np.float64).ravel()


def _divergence(X: Any, M: Any) -> float:
    seen = X > 0.0
    least = 1e-12 * max(float(X.max(initial=0.0)), 1e-300)
    return float((X[seen] * np.log(X[seen] / np.maximum(M[seen], least))).sum() - X.sum() + M.sum())
