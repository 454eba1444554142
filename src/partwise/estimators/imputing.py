"""Unknown entries as the parts have them."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from partwise.estimators.observing import Told
from partwise.sources import blocks

Array = npt.NDArray[Any]


class Imputing:
    """What estimators have that take data with unknown entries, as `missing` says what stands for one.

    Attributes
    ----------
    n_unknown_ : int
        Entries that were not known in the data of ``fit``, by `missing` or by a mask; not there if all were.
    """

    components_: Array
    missing: str | None
    _readable: Any
    _decode: Any

    def impute(self, X: Any, *, mask: Any = None) -> Array:
        """``X`` with its unknown entries filled in by the parts: those of ``W @ components_``.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, path, Dask collection or source
            Samples as rows, with unknown entries as ``missing`` or the mask has them.
        mask : array-like, optional
            As in ``fit``.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            Known entries as they are.

        Examples
        --------
        >>> import numpy as np, partwise as pw
        >>> X = np.outer([1.0, 2.0, 3.0], [1.0, 1.0, 2.0])
        >>> X[1, 2] = np.nan
        >>> pw.HALS(1, missing="nan").fit(X).impute(X).round(6)
        array([[1., 1., 2.],
               [2., 2., 4.],
               [3., 3., 6.]])
        """
        check_is_fitted(self)
        source, observed = self._readable(X, Told(mask=mask))
        W = self._decode(source, observed=observed)
        if not observed.holes:
            return np.asarray(source.map_rows(blocks.to_dense, width=source.shape[1]))
        Ht = np.ascontiguousarray(self.components_.T, source.dtype)
        return np.asarray(source.map_rows(partial(blocks.completed, Ht=Ht), W, width=source.shape[1]))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.allow_nan = self.missing == "nan"
        return tags
