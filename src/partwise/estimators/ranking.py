"""The features that say most of a part."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from partwise.exceptions import InputError
from partwise.metrics.association import association, exclusive
from partwise.metrics.specificity import relevance, specificity

RANKINGS = ("weight", "specificity", "relevance")


class RankedFeatures:
    """Features of the parts in order, for estimators to inherit."""

    components_: npt.NDArray[Any]
    proportions: Any
    _rows_of: Any

    def top_features(self, part: int | str | None = None, n: int = 10, *, by: str = "weight", X: Any = None) -> Any:
        """The features that say most of a part, the first one most.

        Parameters
        ----------
        part : int or str, optional
            Number or name of the part; by default of every one.
        n : int, default=10
            How many.
        by : {"weight", "specificity", "relevance"}, default="weight"
            By the size of their entries; by what they say of this part alone (:func:`partwise.metrics.specificity`); or
            by a mean of both (:func:`partwise.metrics.relevance`). The last two are for parts that are not negative.
        X : array-like, sparse matrix, data frame, AnnData, path or source, optional
            Samples, for "specificity" as markers have it: how a feature goes with the use of the part from sample to
            sample (:func:`partwise.metrics.association`), times the share of the feature that is the part's. What the
            report of cells and :func:`partwise.annotate` rank by.

        Returns
        -------
        list of (feature, score), or a list of these for each part
            Names of features where the model knows them, else their numbers. Features that are not in the part are left
            out.

        Examples
        --------
        >>> import pandas as pd, partwise as pw
        >>> X = pd.DataFrame([[9.0, 2.0, 0.0], [9.0, 0.0, 2.0]], columns=["the", "cat", "dog"])
        >>> model = pw.SPA(2).fit(X)
        >>> sorted(model.top_features(part, 1, by="specificity")[0][0] for part in (0, 1))
        ['cat', 'dog']
        """
        check_is_fitted(self)
        if by not in RANKINGS:
            raise InputError(f"{{parameter}} must be one of {', '.join(RANKINGS)}, got {by!r}", parameter="by")
        if not isinstance(n, Integral) or n < 1:
            raise InputError(f"{{parameter}} must be 1 or more, got {n!r}", parameter="n")
        if X is not None and by != "specificity":
            raise InputError(f"{{parameter}} is for by='specificity', got by={by!r}", parameter="X")
        H = np.asarray(self.components_, np.float64)
        if X is not None:
            scores = self._marking(X, H)
        else:
            scores = {"weight": np.asarray, "specificity": specificity, "relevance": relevance}[by](H)
        if part is None:
            return [self._ranked(H[j], scores[j], int(n), by) for j in range(len(H))]
        j = self._part_number(part)
        return self._ranked(H[j], scores[j], int(n), by)

    def _marking(self, X: Any, H: Any) -> Any:
        source = self._rows_of(X, reset=False)  # features as those of the fit
        shares = np.nan_to_num(np.asarray(self.proportions(source), np.float64))
        return exclusive(association(source, shares), np.maximum(H, 0.0))

    def _ranked(self, h: Any, score: Any, n: int, by: str) -> list[tuple[Any, float]]:
        order = np.argsort(-np.abs(score) if by == "weight" else -score, kind="stable")
        there = [int(j) for j in order if h[j] != 0.0][:n]
        names = vars(self).get("feature_names_in_")
        return [(j if names is None else str(names[j]), float(score[j])) for j in there]

    def _part_number(self, part: int | str) -> int:
        k, names = len(self.components_), list(getattr(self, "part_names_", ()))
        if isinstance(part, str) and part in names:
            return names.index(part)
        if isinstance(part, Integral) and not isinstance(part, bool) and -k <= part < k:
            return int(part) % k
        raise InputError(
            f"{{parameter}} must be a number below {k} or one of {', '.join(names[:5])}, got {part!r}", parameter="part"
        )
