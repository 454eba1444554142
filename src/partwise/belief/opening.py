"""What every question of belief begins with: the rows as the model sees them, and its parts."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.estimators.naming import default_name
from partwise.estimators.observing import Told, observe
from partwise.exceptions import InputError, Place
from partwise.io.opening import open_source
from partwise.linalg.nnls import check_components
from partwise.sources import RowSource
from partwise.sources.observed import Observed

Array = npt.NDArray[Any]


def opened(X: Any, model: Any, *, mask: Any = None) -> tuple[RowSource, Array, Observed]:
    """The data, prepared as the model has it, the components, of a fitted estimator or as an array, and what is known.

    Holes are what the model and the mask say.
    """
    source = open_source(X)
    if hasattr(model, "fit") and not hasattr(model, "components_"):
        raise InputError(
            f"{{parameter}}: this {type(model).__name__} has no components_; fit it first", parameter="model"
        )
    H = check_components(getattr(model, "components_", model), source.shape[1], name="model")
    if hasattr(model, "preparation_"):
        source = model.preparation_.apply(source)
    source, observed, seen = observe(source, getattr(model, "missing", None), Told(mask=mask))
    seen.check(allow_negative=True)
    if len(H) > min(source.shape):
        raise InputError(
            f"{{parameter}} has {len(H)} parts, more than the {min(source.shape)} dimensions that the data can have",
            parameter="model",
            kind="too-many-components",
        )
    return source, np.asarray(H, np.float64), observed


def sums(H: Array) -> Array:
    """The sum of every part; a part without a positive one has no shape to compare."""
    total = H.sum(axis=1)
    small = np.flatnonzero(~(total > 1e-6 * np.abs(H).sum(axis=1)))
    if len(small):
        raise InputError(
            f"{{parameter}}: the entries of {default_name(int(small[0]))} sum to {total[small[0]]:.3g}, so it is no "
            "part of non-negative data; leave it out, or fit a method with non-negative parts",
            parameter="model",
            kind="zero",
            place=Place(row=int(small[0])),
        )
    result: Array = total
    return result
