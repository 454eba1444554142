"""Parts as a scikit-learn estimator."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from partwise.algorithms.loop import State
from partwise.algorithms.oddness import odd_samples
from partwise.belief import RankChoice, Verdicts, choose_k
from partwise.belief.judging import judged, without
from partwise.belief.rank_halves import SMALLEST_HALF
from partwise.belief.telling import verdict_line
from partwise.estimators.base import Ended, Factorization
from partwise.estimators.catalog import AUTO, find_method
from partwise.estimators.imputing import Imputing
from partwise.estimators.observing import MISSING, Told, check_alone, missing_in, observe
from partwise.estimators.telling import warn_odd
from partwise.exceptions import DegenerateDataWarning, InputError, warn_user
from partwise.noise import Noise, measure_noise
from partwise.noise.telling import cut_off
from partwise.outcomes import Stop
from partwise.parts.methods import Chosen, find_incomplete, find_parts, takes_holes
from partwise.parts.telling import UNMEASURED, undetermined, unsure_of
from partwise.sources import GeneratedSource, Inspection, RowSource, inspect
from partwise.sources.inspection import steady
from partwise.sources.observed import Observed
from partwise.sources.protocol import copied

Array = npt.NDArray[Any]


class Parts(Imputing, Ended, Factorization):
    """The parts of a matrix, and whether to believe them: noise, number, method and verdicts, each told.

    The front door. It measures the noise, chooses the number of parts unless it is given, takes the method that such
    data asks for, fits it, fits it again to halves of the samples, and keeps all of this. Every decision can be taken
    from it by name: `n_components`, `method`, the weighing (`set_weighing`), the preparation (`set_preparation`).

    Parameters
    ----------
    n_components : int or "auto", default="auto"
        Number of parts; "auto" is what :func:`partwise.choose_k` says, and where it says that this cannot be told, the
        number of which most are found again in halves of the samples (:attr:`partwise.RankChoice.taken`).
    method : str, default="auto"
        A method by its short name or that of its class (``partwise methods`` lists them); "auto" decides by what the
        data is like, see `method_`.
    judge : bool, default=True
        Whether to judge the parts, which takes four fits to halves of the samples.
    missing : {"nan", "zeros"}, optional
        What stands for an entry that is not known: NaN, or zero (in sparse data what is not stored). Noise is then not
        measured, the number of parts is that with which entries are predicted best that were left out, and the method
        is :class:`partwise.HALS`, or :class:`partwise.Likelihood` of whole numbers whose noise grows with their means.
        By default every entry is known, and NaN is refused.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The parts. Of data without negative entries they have none.
    noise_ : Noise or None
        What was measured of what so many parts leave over (:func:`partwise.measure_noise`); None of incomplete data.
    choice_ : RankChoice or None
        What :func:`partwise.choose_k` said of the number of parts; None if that was given.
    method_ : Chosen
        Which method was taken, why, and what else was tried; ``str()`` of it is a sentence.
    odd_samples_ : ndarray of int
        Samples that are unlike all others: they were set aside, and no part is made of them; of data with noise, where
        the number of parts was chosen without them, or where that is given, of 60 samples or more, and `method` is
        "auto". A method that sets samples aside by itself does so in any case.
    verdicts_ : Verdicts or None
        A row a part (:func:`partwise.judge`); None if not asked for, or if the samples are too few to be halved.
    estimator_ : estimator
        The fitted estimator inside, with all that it says of its fit.

    Examples
    --------
    >>> import partwise as pw
    >>> data = pw.datasets.make_topics(n_samples=400, n_features=40, n_components=3, random_state=0)
    >>> model = pw.Parts(3, random_state=0).fit(data.X)
    >>> [row.verdict for row in model.verdicts_]
    ['found again', 'found again', 'found again']
    >>> bool(pw.metrics.match_components(model.components_, data.components).errors.max() < 1e-6)
    True
    """

    _allow_negative: ClassVar[bool] = True
    weighing: Any = "auto"
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **Factorization._parameter_constraints,
        "n_components": [Interval(Integral, 1, None, closed="left"), StrOptions({AUTO}), None],
        "method": [str],
        "judge": ["boolean"],
        "missing": [StrOptions(set(MISSING)), None],
    }

    def __init__(
        self,
        n_components: int | str | None = AUTO,
        *,
        method: str = AUTO,
        judge: bool = True,
        missing: str | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.method = method
        self.judge = judge
        self.missing = missing
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None, mask: Any = None) -> Self:
        """Find the parts of ``X``, and judge them.

        Parameters
        ----------
        sample_weight : array-like of shape (n_samples,), optional
            How often each sample is there, in whole numbers.
        mask : array-like, sparse matrix, path or source of shape (n_samples, n_features), optional
            True, or not zero, where an entry is known; a sparse one has what it stores.
        """
        self._fit_whole(X, told=Told(mask, sample_weight))
        return self

    def fit_transform(self, X: Any, y: Any = None, *, sample_weight: Any = None, mask: Any = None) -> Any:
        """Find the parts of ``X`` and return its weights, which equal those of ``transform(X)``.

        Parameters
        ----------
        mask : array-like, optional
            As in ``fit``.
        """
        return self._fit_decoded(X, told=Told(mask, sample_weight))

    def transform(self, X: Any, *, mask: Any = None) -> Any:
        """Weights of ``X`` for the parts found, each sample by itself.

        Parameters
        ----------
        mask : array-like, optional
            As in ``fit``; unknown entries are left out.
        """
        return self._transformed(X, Told(mask))

    @property
    def stop_(self) -> Stop:  # type: ignore[override]
        """How the fit of the estimator inside ended."""
        stop: Stop | None = getattr(self.estimator_, "stop_", None)
        return Stop("done") if stop is None else stop

    @property
    def history_(self) -> Any:
        """The history of the estimator inside, if it has one."""
        return self.estimator_.history_

    @property
    def n_iter_(self) -> int:
        """Iterations of the estimator inside, if it iterates."""
        return int(self.estimator_.n_iter_)

    @property
    def odd_samples_(self) -> npt.NDArray[np.int64]:  # type: ignore[override]
        """Samples that are unlike all others and were set aside: no part is made of them."""
        return np.asarray(vars(self.estimator_).get("odd_samples_", np.zeros(0, np.int64)))

    def decisions(self) -> dict[str, str]:
        """What was found of the data and decided for it, and why, in sentences.

        Returns
        -------
        dict
            Of the noise, the number of parts and the method.
        """
        check_is_fitted(self)
        number = f"{len(self.components_)}, as was asked" if self.choice_ is None else str(self.choice_)
        noise = UNMEASURED if self.noise_ is None else str(self.noise_)
        return {"Noise": noise, "Number of parts": number, "Method": str(self.method_)}

    def explain(self) -> str:
        """What was found and decided, and which parts to believe.

        Returns
        -------
        str
            A line for each.
        """
        lines = [f"{about}: {told}" for about, told in self.decisions().items()]
        return "\n".join(lines + [verdict_line(row, self.part_names_.__getitem__) for row in self.verdicts_ or ()])

    def _again(self) -> Self:
        """The same recipe for other samples: what was decided stays so."""
        settled = type(self)(
            len(self.components_),
            method=self.method_.name,
            judge=False,
            missing=self.missing,
            random_state=self.random_state,
        )
        return settled.set_weighing(self._how)

    @property
    def _how(self) -> Any:
        """How halves are weighed: scales belong to the samples that they were measured on."""
        return "noise" if isinstance(self.weighing, Noise) else self.weighing

    def _run(self, X: Any, truth: Any, state: State | None, told: Any) -> tuple[RowSource, Array]:
        self._validate_params()
        method = None if self.method == AUTO else find_method(self.method)
        if method is not None and method.estimator == type(self).__name__:
            raise InputError("{parameter} must be another method: this is what chooses one", parameter="method")
        source = self._open(X, reset=True)
        if isinstance(source, GeneratedSource):
            raise InputError(
                "{parameter}: a GeneratedSource draws other samples in every pass, whose noise cannot be measured; "
                "give a sample, or take a method by its class",
                parameter="X",
            )
        source, self._observed, seen = self._observe(source, told)
        self._check_data(seen)  # of empty rows and columns the estimator inside tells
        copies, rows = self._copies(source, seen), source
        if copies is not None:
            seen.warn()  # by their own numbers
            rows = source.choose(copies)
            seen = inspect(rows)
        with steady(source):
            k, self.choice_ = self._count(rows, copies)
            odd = self._odd(rows, k, copies, asked=method is not None)
            if len(odd):
                if copies is None:
                    seen.warn()
                copies = without(odd, copies, source.shape[0])
                rows = source.choose(copies)
                seen = inspect(rows)
                warn_odd(odd, type(self).__name__)
            how: dict[str, Any] = {"method": method, "seed": self.random_state, "copies": copies}
            if self._observed.holes:
                self.noise_ = None
                self.estimator_, self.method_ = find_incomplete(rows, k, self._observed, **how)
            else:
                self.noise_ = self._noise(rows, min(k, *rows.shape))
                if self.noise_.clipped:
                    told = f"Parts: {cut_off(self.noise_)}; parts are bent to that, unless these are unknown (mask=)"
                    warn_user(DegenerateDataWarning(told, parameter="X", kind="clipped"))
                self.estimator_, self.method_ = find_parts(rows, k, seen, self.noise_, weighing=self.weighing, **how)
            if copies is not None:
                self.estimator_._renumber(copies)
            if len(odd):
                self.estimator_.odd_samples_ = np.union1d(odd, self.odd_samples_)
            self.weighing_ = self.estimator_.weighing_
            self.components_ = self.estimator_.components_
            asked = self.judge and self.stop_.kind != "interrupted"
            self.verdicts_ = self._judged(source, copies) if asked else None
        return source, self.components_

    def _count(self, source: RowSource, copies: Array | None) -> tuple[int, RankChoice | None]:
        """The number of parts, and the choice if there was one."""
        if self.n_components is not None and self.n_components != AUTO:
            return self._check_n_components(source.shape), None
        holes = self._observed.holes
        choice = choose_k(source, halves=None if holes else "further", missing=missing_in(source) if holes else None)
        choice = replace(choice, odd_samples=tuple(_own(choice.odd_samples, copies).tolist()))
        k = choice.taken
        if choice.verdict == "undecided":
            told = DegenerateDataWarning(unsure_of(str(choice), k), kind="not-determined")
            warn_user(told)
        return k, choice

    def _odd(self, source: RowSource, k: int, copies: Array | None, *, asked: bool) -> npt.NDArray[np.int64]:
        """Samples unlike all others: beside noise each is a part, or makes the noise look like none that is known."""
        none = np.zeros(0, np.int64)
        if self._observed.holes or isinstance(self.weighing, Noise):  # which has a scale for each sample
            return none
        if self.choice_ is not None:  # without them so many parts were found
            return np.array(self.choice_.odd_samples, np.int64)
        if asked or source.shape[0] < 2 * SMALLEST_HALF:  # one of a few samples may be all that there is of a part
            return none
        noise = measure_noise(source)  # of what any number of parts leave over: beside k an odd one would be noise
        return none if noise.kind == "none" else _own(odd_samples(noise.scale(source), min(k, *source.shape)), copies)

    def _noise(self, source: RowSource, k: int) -> Noise:
        """Of what so many parts leave over, which is what the method has to live with; measured once if it can be."""
        if isinstance(self.weighing, Noise):
            return self.weighing
        chosen = None if self.choice_ is None else self.choice_.noise
        if chosen is not None and chosen.k == k and (len(chosen.row_scale), len(chosen.column_scale)) == source.shape:
            return chosen
        return measure_noise(source, k)

    def _judged(self, source: RowSource, copies: Array | None) -> Verdicts | None:
        try:
            again, seen = self._again(), self._observed
            copies = without(self.odd_samples_, copies, source.shape[0])
            verdicts = judged(self.components_, self.estimator_, again, source, sample_weight=copies, observed=seen)
        except InputError as error:
            if error.kind == "changed":
                raise
            told = DegenerateDataWarning(f"Parts: the parts were not judged: {error}", kind="not-judged")
            warn_user(told)
            return None
        lost = sum(row.verdict == "not determined" for row in verdicts)
        if lost:
            warn_user(DegenerateDataWarning(undetermined(lost, len(verdicts)), kind="not-determined"))
        return verdicts

    def _check_restored(self) -> None:
        """What transform, report and `explain` read of a model that came from a file."""
        inner, k = self.estimator_, len(self.components_)
        if not isinstance(inner, Factorization) or isinstance(inner, Parts):
            raise ValueError("its estimator_ is none")
        if inner.components_.shape != self.components_.shape:
            raise ValueError("its components and those of its estimator_ differ in shape")
        if not isinstance(self.noise_, Noise | None) or not isinstance(self.method_, Chosen):
            raise ValueError("its noise_ or method_ is none")
        verdicts = self.verdicts_
        if verdicts is not None and not (
            isinstance(verdicts, Verdicts) and [row.part for row in verdicts] == [*range(k)]
        ):
            raise ValueError("its verdicts_ are not one a component")
        if not isinstance(self.choice_, RankChoice | None):
            raise ValueError("its choice_ is none")
        self.explain()

    def _observe(self, source: RowSource, told: Told) -> tuple[RowSource, Observed, Inspection]:
        found = observe(source, self.missing, told)
        if found[1].holes:
            check_alone(found[1], self.preparation, None if self._how == "auto" else self.weighing)
        return found

    def _decoder(self, dtype: Any) -> Any:
        return self.estimator_._decoder(dtype)

    def _incomplete_decoder(self, dtype: Any, observed: Observed) -> Any:
        if not takes_holes(type(self.estimator_)) or self.weighing_.column_scale is not None:
            raise InputError(
                f"{{parameter}} has unknown entries, and the parts are those of complete data by {self.method_.name}, "
                "which has weights for complete samples alone",
                parameter="X",
                kind="not-finite",
            )
        return self.estimator_._incomplete_decoder(dtype, observed)

    def _check_data(self, seen: Any, *, squares: bool = True) -> None:
        super()._check_data(seen, squares=squares)
        if hasattr(self, "estimator_") and not squares:
            self.estimator_._check_data(seen, squares=squares)


def _own(rows: npt.ArrayLike, copies: Array | None) -> npt.NDArray[np.int64]:
    """The user's numbers of rows that were there so often."""
    found = np.array(rows, np.int64)
    return found if copies is None else np.unique(copied(copies)[found])
