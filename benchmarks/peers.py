"""Other libraries' factorizations as one step: `advance(X, W, H, n)` gives W and H n iterations later.

All of them start from given factors (those that take no start get theirs set from outside), so that everybody
walks from the same point, and stopping rules are switched off. Settings are the fastest that we found.
"""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

Factors = tuple[np.ndarray, np.ndarray]


def _same(X: Any) -> Any:
    return X


@dataclass(frozen=True)
class Peer:
    """`prepare` brings X into the form that the library wants, and is not timed."""

    advance: Callable[[Any, np.ndarray, np.ndarray, int], Factors]
    prepare: Callable[[Any], Any] = _same


def sklearn_cd(X: Any, W: np.ndarray, H: np.ndarray, n_iter: int) -> Factors:
    """scikit-learn, coordinate descent, dense or CSR."""
    from sklearn.decomposition import non_negative_factorization

    settings: dict[str, Any] = {"init": "custom", "solver": "cd", "tol": 0.0, "max_iter": n_iter}
    W, H, _ = non_negative_factorization(X, W=W.copy(), H=H.copy(), n_components=H.shape[0], **settings)
    return W, H


def sklearn_single(X: Any, W: np.ndarray, H: np.ndarray, n_iter: int) -> Factors:
    """The same in float32, which scikit-learn keeps when all three are."""
    return sklearn_cd(X, W.astype(np.float32), H.astype(np.float32), n_iter)


def _tensor(X: np.ndarray) -> Any:
    import torch

    return torch.from_numpy(X.astype(np.float32))


def _nmf_torch(algorithm: str) -> Peer:
    """nmf-torch in float32, its default and its fastest; its classes, because `run_nmf` takes no start."""

    def advance(X: Any, W: np.ndarray, H: np.ndarray, n_iter: int) -> Factors:
        import torch
        from nmf.nmf_models import NMFBatchHALS, NMFBatchNnlsBpp

        zeros = dict.fromkeys(("alpha_W", "l1_ratio_W", "alpha_H", "l1_ratio_H"), 0.0)
        model = {"hals": NMFBatchHALS, "bpp": NMFBatchNnlsBpp}[algorithm](
            n_components=H.shape[0],
            init="random",
            beta_loss=2.0,
            tol=0.0,
            random_state=0,
            fp_precision="float",
            device_type="cpu",
            n_jobs=torch.get_num_threads(),
            max_iter=n_iter,
            **zeros,
        )

        def given() -> None:
            model.H, model.W = _tensor(W), _tensor(H)

        model._initialize_H_W = given
        with contextlib.redirect_stdout(io.StringIO()):  # it prints its loss
            model.fit(X)
        return model.H.numpy(), model.W.numpy()

    return Peer(advance, _tensor)


def torchnmf(X: Any, W: np.ndarray, H: np.ndarray, n_iter: int) -> Factors:
    """torchnmf: multiplicative updates by automatic differentiation, float32."""
    import torch
    from torchnmf.nmf import NMF

    # an exact zero never leaves a multiplicative update: lift the start's zeros a little
    model = NMF(H=_tensor(np.maximum(W, 1e-6 * W.mean())), W=_tensor(np.maximum(H.T, 1e-6 * H.mean())))
    model.fit(X, beta=2, tol=-np.inf, max_iter=n_iter)
    with torch.no_grad():
        return model.H.numpy().copy(), model.W.numpy().T.copy()


def nimfa_lsnmf(X: np.ndarray, W: np.ndarray, H: np.ndarray, n_iter: int) -> Factors:
    """nimfa's alternating least squares by projected gradients, the faster of its Frobenius methods."""
    import nimfa

    vars(np).setdefault("mat", np.asmatrix)  # NumPy 2 dropped the old name, which nimfa 1.4 still uses
    fit = nimfa.Lsnmf(X, W=np.asmatrix(W), H=np.asmatrix(H), rank=H.shape[0], max_iter=n_iter, min_residuals=1e-12)
    model = fit()
    return np.asarray(model.basis()), np.asarray(model.coef())


def _pyplanc(algorithm: str) -> Peer:
    """PLANC's shared-memory code; wants Fortran order, or a csc_matrix."""

    def prepare(X: Any) -> Any:
        return sp.csc_matrix(X) if sp.issparse(X) else np.asfortranarray(X)

    def advance(X: Any, W: np.ndarray, H: np.ndarray, n_iter: int) -> Factors:
        import pyplanc

        start = {"Winit": np.array(W, order="F"), "Hinit": np.array(H.T, order="F")}
        threads = int(os.environ["OMP_NUM_THREADS"])
        out = pyplanc.nmf(X, H.shape[0], niter=n_iter, algo=algorithm, ncores=threads, **start)
        return np.array(out.W), np.array(out.H).T

    return Peer(advance, prepare)


SKLEARN = Peer(sklearn_cd)
SKLEARN_FLOAT32 = Peer(sklearn_single, lambda X: X.astype(np.float32))
NMF_TORCH_HALS = _nmf_torch("hals")
NMF_TORCH_BPP = _nmf_torch("bpp")
TORCHNMF = Peer(torchnmf, _tensor)
NIMFA = Peer(nimfa_lsnmf)
PYPLANC_BPP = _pyplanc("anlsbpp")
PYPLANC_HALS = _pyplanc("hals")
