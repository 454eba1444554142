"""TSVDNMF as a scikit-learn estimator."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import islice
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from partwise.algorithms.bayes import refine
from partwise.algorithms.loop import Ending, Progress, Stages, State
from partwise.algorithms.tsvdnmf import (
    Parts,
    basis_vectors,
    cluster,
    find_thresholds,
    programmed_thresholds,
    prune,
    prune_programmed,
    usable,
)
from partwise.estimators.clustered import Clustered, whole
from partwise.linalg.absolute import decode_block
from partwise.metrics import DominantConstants
from partwise.outcomes import CHANGE
from partwise.sources import Inspection, RowSource

PAPER_EPS0 = 0.04
# of the authors' program: shares of n/k for g and for the means, nu; share of n and number of records for pruning
PROGRAM_RANK, PROGRAM_PURE, PROGRAM_NU, PROGRAM_GAP, PROGRAM_SLACK = 1.0 / 6.0, 0.55, 1.05, 0.02, 15.0
# of an equal share of the records, from sparse to dense data: where a feature is positive in most records only its
# largest values tell, and with few of them most records would be empty
LEAST_SHARE, LARGEST_SHARE, DENSE = 0.1, 0.8, 8.0
FEWEST_RANK, FEWEST_PURE = 10, 8  # order statistics and means of fewer records are mostly noise


class TSVDNMF(Clustered):
    r"""NMF under heavy noise: threshold, cluster by singular vectors, average nearly pure records.

    The algorithm of Bhattacharyya, Goyal, Kannan and Pani [1]_ (Section 4; d features, n records). The noise of single
    records may be larger than the records as long as it averages out over many (condition D4,
    :func:`partwise.metrics.heavy_noise`).

    1. :math:`\nu_i` is the (eps0 n/2)-th largest entry of feature i and :math:`\zeta_i = \alpha \nu_i - 2
       \varepsilon_4`. The thresholded matrix D has :math:`\sqrt{\zeta_i}` where an entry reaches :math:`\zeta_i`. A
       feature that does so wherever a rarer one does is pruned to the records of the rarer one.
    2. The records of D are projected onto its k leading singular vectors.
    3. k-means there, then Lloyd's algorithm on D itself: clusters R_l.
    4. g(i, l) is the (eps0 n/2)-th largest entry of feature i in R_l; the dominant features J_l are those with
       g(i, l) more than nu times any other g(i, l') and above :math:`\gamma - 2 \varepsilon_4`.
    5. A component is the mean of the `n_pure` records with the largest sum over J_l.

    Weights are exact non-negative least squares, as in the paper's experiments, or those of least absolute
    deviations, as in its introduction. D is sparse, and all is done in passes over the records. :meth:`of` takes the
    constants of a model (:class:`partwise.metrics.DominantConstants`), from which the paper derives nu.

    Parameters
    ----------
    eps0 : float, optional
        Share of records that are nearly pure in each component (condition D3). The paper takes 0.04 always, with which
        only words in 2% of the documents survive the threshold. By default a part of an equal share of the records,
        ``0.1 / k`` for data with at most 1% non-zeros, ``0.8 / k`` for 10% and more and in proportion between, but
        enough that eps0 n/2 is at least 10, and at most ``2 / k``.
    alpha : float, default=0.9
        Factor of the thresholds: least weight of a dominant component (condition D2).
    nu : float, default=1.15
        How clearly a feature must dominate: 1.15 in the paper's experiments; it derives
        ``(1 - alpha eps) / (beta + rho + 2 alpha eps)``, which is ``DominantConstants.nu``.
    eps4 : float, default=0.0
        Noise allowed in thresholds and in g.
    gamma : float, optional
        Least entry of a dominant feature in its component (condition D1): g(i, l) must be above ``gamma - 2 eps4``.
        By default ``2 eps4``, as in the paper's experiments: above 0.
    n_pure : int, optional
        Records averaged for a component. The paper's is ``floor(eps0 n / 4)``, one record in its own Table 2. By
        default that, but at least 8, and at most an equal share of the records.
    prune : bool, default=True
        Steps 3 and 4 of the thresholding procedure. On more than ``4 k log(d) / eps0`` records the sets of records are
        compared on a random sample of so many, as the paper's Remark has it.
    literal : bool or "program", default=False
        The paper's constants for `eps0` and `n_pure` unless they are given, and components as they are averaged: those
        of data with negative entries may have some. The other parameters have the paper's values by default.
        "program": the constants of the authors' own program [2]_ in place of `eps0`, `nu`, `eps4`, `gamma` and
        `n_pure`. They are others than the paper says, and are those that give its Table 2: a threshold is the 4%
        fractile, or the least positive entry where fewer are positive; g(i, l) is the n/(6k)-th largest entry, nu is
        1.05, and 0.55 n/k records are averaged; sets are pruned where they differ by 2% of the records and lie in
        each other but for 15. Its clusters are those of BIRCH, in place of which k-means is kept here.
    norm : {"l2", "l1"}, default="l2"
        What weights minimise: the Euclidean length of each row of X - W H, as in the paper's experiments
        (:func:`partwise.nnls`), or the sum of its magnitudes, as in its introduction
        (:func:`partwise.linalg.least_absolute`), which holds the features densely.
    refine : bool, default=False
        Go on with all the data: the components are drawn to what the noise leaves of the singular vectors and then
        improved by empirical Bayes (:mod:`partwise.algorithms.bayes`), where least squares would fit the noise.
        For noise on every entry; it lowers the error of the components to about half. Components then sum to one. Data
        without noise is left alone. Samples that are unlike all others are set aside, for they would take directions of
        the span in which it is done.
    max_iter : int, default=100
        Largest number of passes of Lloyd's algorithm, and of the refinement.
    tol : float, default=1e-3
        The refinement stops when components change by less, in the 1-norm; they sum to one.
    random_state : int, Generator or RandomState, optional
        Seed of singular vectors, k-means and the sample for pruning.
    callbacks : list of callables
        Each is called with a ``Progress`` after the steps, and after every iteration of the refinement.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The parts; without `refine` mean records.
    labels_ : ndarray or Dask array of shape (n_samples,)
        Cluster of each record, step 3: its dominant component; -1 for those of weight zero, or set aside.
    thresholds_ : ndarray of shape (n_features,)
        zeta; zero for features that are left out.
    pruned_ : ndarray of int, shape (n_features,)
        The feature in whose records alone a pruned one counts, -1 for the others.
    dominant_features_ : list of ndarray
        J_l, step 4.
    pure_records_ : list of ndarray
        Records that were averaged, purest first; empty where there was no dominant feature.
    odd_samples_ : ndarray of int
        With `refine`: samples that are unlike all others, which were set aside, and no part is made of them.
    eps0_ : float
        The share that was used.
    n_pure_ : int
        The number that was used.
    n_lloyd_ : int
        Passes of Lloyd's algorithm.
    history_ : History
        The steps in one row, then one row an iteration of the refinement: expected squared residual (``objective``),
        change (``residual``), standard deviation of the noise (``noise``), expected number of positive weights of a
        record (``active``), standard deviation of the entries of components around their common profile (``spread``).
    n_iter_ : int
        Iterations of the refinement, as the rows of ``history_`` count them; without `refine`, ``n_lloyd_``.
    converged_, stop_reason_, stop_, residual_ : bool, str, Stop, float
        Of the refinement.

    Warns
    -----
    DegenerateDataWarning
        Where a step is not defined, with what was done: no feature reaches the threshold (a smaller share is used),
        a cluster without a dominant feature (the mean of the cluster is taken, as in TSVD), fewer clusters than
        components (components of zeros), negative means (set to zero).

    References
    ----------
    .. [1] C. Bhattacharyya, N. Goyal, R. Kannan, J. Pani, "Non-negative matrix factorization under heavy noise",
       ICML 2016.
    .. [2] J. Pani, github.com/jagdeeppani/tsvdnmf, 2016.

    Examples
    --------
    >>> import partwise as pw
    >>> data = pw.datasets.make_dominant(n_samples=1000, n_features=100, random_state=0)
    >>> noisy = pw.datasets.add_multinomial_noise(data, 60, random_state=0)
    >>> model = pw.TSVDNMF(10, refine=True, random_state=0).fit(noisy.X)
    >>> pw.metrics.match_components(model.components_, noisy.components).cosines.min() > 0.95
    np.True_
    """

    _residual: ClassVar[str] = CHANGE
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **Clustered._parameter_constraints,
        "tol": [Interval(Real, 0, None, closed="left")],
        "eps0": [Interval(Real, 0, 1, closed="neither"), None],
        "alpha": [Interval(Real, 0, 1, closed="right")],
        "nu": [Interval(Real, 1, None, closed="left")],
        "eps4": [Interval(Real, 0, None, closed="left")],
        "gamma": [Interval(Real, 0, 1, closed="both"), None],
        "norm": [StrOptions({"l1", "l2"})],
        "n_pure": [Interval(Integral, 1, None, closed="left"), None],
        "prune": ["boolean"],
        "literal": ["boolean", StrOptions({"program"})],
        "refine": ["boolean"],
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        eps0: float | None = None,
        alpha: float = 0.9,
        nu: float = 1.15,
        eps4: float = 0.0,
        gamma: float | None = None,
        n_pure: int | None = None,
        prune: bool = True,
        literal: bool | str = False,
        norm: str = "l2",
        refine: bool = False,
        n_init: int = 10,
        max_iter: int = 100,
        tol: float = 1e-3,
        random_state: Any = None,
        callbacks: Any = (),
    ) -> None:
        self.n_components = n_components
        self.eps0 = eps0
        self.alpha = alpha
        self.nu = nu
        self.eps4 = eps4
        self.gamma = gamma
        self.n_pure = n_pure
        self.prune = prune
        self.literal = literal
        self.norm = norm
        self.refine = refine
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.callbacks = callbacks

    @classmethod
    def of(cls, constants: DominantConstants, **others: Any) -> Self:
        """The algorithm as Theorem 1 has it: with all constants of a Dominant NMF model, nu derived from them.

        Parameters
        ----------
        constants : DominantConstants
            The model's; `theorem_1` of :func:`partwise.metrics.dominant_conditions` tells whether data satisfies it.
        **others
            Further parameters of the estimator.

        Returns
        -------
        TSVDNMF
            Literal, not fitted.

        Examples
        --------
        >>> import partwise as pw
        >>> constants = pw.metrics.DominantConstants(
        ...     n_components=2, rho=0.1, gamma=0.1, p0=0.5, alpha=0.9, beta=0.05, w0=0.5, eps0=0.4, eps4=8e-4
        ... )
        >>> round(pw.TSVDNMF.of(constants).nu, 3)
        5.281
        """
        derived = {name: getattr(constants, name) for name in ("n_components", "eps0", "alpha", "nu", "eps4", "gamma")}
        return cls(**{"literal": True, **derived, **others})

    @property
    def _sets_aside(self) -> bool:  # type: ignore[override]
        return self.refine

    def _decoder(self, dtype: Any) -> Any:
        if self.norm == "l2":
            return super()._decoder(dtype)
        return partial(decode_block, H=np.asarray(self._weighed_parts, np.float64))

    def _constants(self, n: int, k: int, density: float) -> tuple[float, int]:
        """The share of nearly pure records, and how many of them are averaged."""
        eps0 = self.eps0
        if eps0 is None:
            share = min(max(DENSE * density, LEAST_SHARE), LARGEST_SHARE) / k
            eps0 = PAPER_EPS0 if self.literal else min(max(share, 2.0 * FEWEST_RANK / n), 2.0 / k, 1.0)
        n_pure = self.n_pure
        if n_pure is None:
            n_pure = whole(eps0 * n / 4.0)
            if not self.literal:
                n_pure = min(max(n_pure, FEWEST_PURE), n // k)
        return float(eps0), min(int(n_pure), n)

    def _programmed(self, source: RowSource, k: int, rng: np.random.Generator) -> Parts:
        """The constants of the authors' program."""
        n = source.shape[0]
        self.eps0_, self.n_pure_ = PAPER_EPS0, min(whole(PROGRAM_PURE * n / k), n)
        thresholds = programmed_thresholds(source, int(np.ceil(PAPER_EPS0 * n * (1.0 - 1e-12))), alpha=self.alpha)
        if self.prune:
            thresholds = prune_programmed(source, thresholds, gap=PROGRAM_GAP * n, slack=PROGRAM_SLACK)
        clusters = cluster(thresholds.apply(source), k, rng, n_init=self.n_init, max_iter=self.max_iter)
        rank = whole(PROGRAM_RANK * n / k)
        return basis_vectors(source, thresholds, clusters, rank=rank, n_pure=self.n_pure_, nu=PROGRAM_NU, least=0.0)

    def _parts(self, source: RowSource, k: int, seen: Inspection, rng: np.random.Generator) -> Parts:
        if self.literal == "program":
            return self._programmed(source, k, rng)
        n = source.shape[0]
        self.eps0_, self.n_pure_ = self._constants(n, k, seen.nonzero / (n * source.shape[1]))
        wanted = whole(self.eps0_ * n / 2.0)
        thresholds, rank, notes = usable(
            lambda rank: find_thresholds(source, rank, alpha=self.alpha, eps4=self.eps4), wanted
        )
        if self.prune:
            thresholds = prune(source, thresholds, k, self.eps0_ * rank / wanted, rng)
        clusters = cluster(thresholds.apply(source), k, rng, n_init=self.n_init, max_iter=self.max_iter)
        least = 0.0 if self.gamma is None else max(0.0, self.gamma - 2.0 * self.eps4)
        parts = basis_vectors(source, thresholds, clusters, rank=rank, n_pure=self.n_pure_, nu=self.nu, least=least)
        parts.notes[:0] = notes
        return parts if self.literal else parts.nonnegative()

    def _limits(self) -> tuple[int, float]:
        return self.max_iter, self.tol

    def _steps(
        self, source: RowSource, parts: Parts, seen: Inspection, rng: np.random.Generator, state: State | None
    ) -> Stages:
        if not self.refine:
            return (yield from super()._steps(source, parts, seen, rng, state))
        found = parts.components.astype(source.dtype)
        start = np.maximum(found.astype(np.float64), 0.0)
        refinement = Ending(refine(source, start, squared_norm=seen.squared_norm, rng=rng, tol=self.tol, state=state))
        if state is None:
            yield Progress(found, np.nan, state={"pass": 0})
        for progress in islice(refinement, 1 if state is None else 0, None):  # the first is where we are
            # not certified: the refinement itself says why it ends
            yield replace(progress, components=progress.components.astype(source.dtype), certified=False)
        return refinement.stop
