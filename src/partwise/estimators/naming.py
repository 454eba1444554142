"""What parts are called, in every place: one name each, kept in the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_is_fitted

from partwise.exceptions import InputError
from partwise.io.table import Table

PART = "Part"
LONGEST = 200  # characters of a name


def default_name(part: int, noun: str = PART) -> str:
    """The name of a part that nobody has named, by its row of ``components_``."""
    return f"{noun} {part + 1}"


def default_names(count: int, noun: str = PART) -> list[str]:
    """Names of parts that nobody has named, in the order of ``components_``."""
    return [default_name(j, noun) for j in range(count)]


class NamedParts:
    """Names of the parts, for estimators to inherit."""

    components_: npt.NDArray[Any]

    @property
    def part_names_(self) -> list[str]:
        """What the parts are called, in the order of ``components_``; "Part 1" is the first one."""
        given = vars(self).get("part_labels_")
        return default_names(len(self.components_)) if given is None else [str(name) for name in given]

    def rename_parts(self, names: Sequence[str] | Mapping[str, str]) -> Self:
        """Give the parts names, which weights, tables, reports and saved models then have.

        Parameters
        ----------
        names : sequence of str, or mapping of str to str
            One name a part, in the order of ``components_``; or old names with their new ones.

        Returns
        -------
        self
            The fitted estimator; another `fit` finds other parts and forgets the names.

        Examples
        --------
        >>> import numpy as np, partwise as pw
        >>> model = pw.SPA(2).fit(np.eye(3)[:, :2] + 0.1)
        >>> model.part_names_
        ['Part 1', 'Part 2']
        >>> model.rename_parts({"Part 2": "water"}).get_feature_names_out().tolist()
        ['Part 1', 'water']
        """
        check_is_fitted(self)
        now = self.part_names_
        if isinstance(names, Mapping):
            unknown = [str(name) for name in names if name not in now]
            if unknown:
                raise _wrong(f"{unknown[0]!r} is no part: they are called {', '.join(now)}")
            names = [names.get(name, name) for name in now]
        elif isinstance(names, str) or not hasattr(names, "__iter__"):
            raise _wrong("{parameter} must be one name a part, or old names with their new ones")
        given = [" ".join(str(name).split()) for name in names]
        if len(given) != len(now):
            raise _wrong(f"{{parameter}} has {len(given)} names for {len(now)} parts")
        if not all(given) or max(map(len, given)) > LONGEST:
            raise _wrong(f"{{parameter}}: a name has 1 to {LONGEST} characters")
        if len(set(given)) != len(given):
            twice = next(name for name in given if given.count(name) > 1)
            raise _wrong(f"{{parameter}}: {twice!r} is the name of two parts")
        self.part_labels_ = np.array(given, dtype=object)
        return self

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Names of the columns of weights: those of the parts.

        Parameters
        ----------
        input_features : ignored
            There for scikit-learn's interface.

        Returns
        -------
        ndarray of str
            One name a part.
        """
        check_is_fitted(self)
        return np.array(self.part_names_, dtype=object)

    def _given_back(self, X: Any, W: Any) -> Any:
        """Weights as the kind of object that the samples came in; for ``set_output`` with the names of the samples."""
        if not isinstance(X, Table):
            return W
        if _get_output_config("transform", self)["dense"] == "default":
            return W if X.back is None else X.back(W, self.part_names_)
        if X.sample_names is None or _get_output_config("transform", self)["dense"] != "pandas":
            return W
        import pandas as pd

        return pd.DataFrame(W, index=X.sample_names, columns=self.part_names_)


def _wrong(text: str) -> InputError:
    return InputError(text, parameter="names")
