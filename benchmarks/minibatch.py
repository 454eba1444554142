"""Mini-batches: processor time to scikit-learn's error on samples kept aside, and the three methods for streams."""

from __future__ import annotations

import time
import warnings
from argparse import Namespace
from collections.abc import Iterator
from typing import Any

import numpy as np

from .harness import Contender

CONTENDERS: dict[str, Contender] = {}
SIZES = {"full": (50_000, 5_000, 8_000), "small": (4_000, 1_000, 1_000)}  # pictures, pictures kept aside, texts
K, BATCH, WANTED, PASSES = 20, 1024, 5.0, 100


def main(options: Namespace) -> None:
    """Both losses, then the table of streams."""
    import partwise as pw

    warnings.simplefilter("ignore")
    n, aside, texts = SIZES[options.size]
    rng = np.random.default_rng(options.seed)
    X = pw.datasets.load_mnist().X[rng.permutation(60_000)[: n + aside]].astype(float) / 255.0
    race("MNIST, squared error", X[:n], X[n:], 2.0, options.seed)
    Y = pw.datasets.load_newsgroups().X.astype(float)
    Y = Y[rng.permutation(Y.shape[0])[: texts + aside]]
    Y = Y[:, np.asarray(Y.sum(axis=0)).ravel() >= 50]
    race("20 Newsgroups, Kullback-Leibler", Y[:texts], Y[texts:], 1.0, options.seed)
    streams(X[:n], X[n:], options.seed)


def error_of(H: Any, aside: Any, beta: float) -> float:
    """Divergence of samples kept aside with the exact weights, relative to that from their mean sample's shares."""
    import partwise as pw

    loss = "frobenius" if beta == 2.0 else "kullback-leibler"
    W, H, _ = pw.factorize(aside, H=np.asarray(H, float), update_H=False, loss=loss)
    Y = np.maximum(W @ H, 1e-12)
    if beta == 2.0:
        return float(np.linalg.norm(aside - Y) / np.linalg.norm(aside))
    X = aside.tocoo()
    fit = np.sum(X.data * np.log(X.data / Y[X.row, X.col])) - X.data.sum() + Y.sum()
    return float(fit / X.data.sum())


def race(title: str, X: Any, aside: Any, beta: float, seed: int) -> None:
    """scikit-learn's fit as it is called, and how long ours takes from the same start to be as good."""
    from sklearn.decomposition import MiniBatchNMF

    import partwise as pw

    first = pw.MiniBatchNMF(K, beta_loss=beta, random_state=seed).partial_fit(X[:BATCH])  # compiled before it counts
    del first
    print(title)
    for init in ("nndsvda", "random"):
        theirs = MiniBatchNMF(K, init=init, beta_loss=beta, batch_size=BATCH, random_state=seed)
        began = time.process_time()
        theirs.fit(X)
        seconds = time.process_time() - began
        target = error_of(theirs.components_, aside, beta)
        print(f"  scikit-learn, {init}: {seconds:.2f} s, {theirs.n_iter_} passes, error aside {target:.4f}")
        model = pw.MiniBatchNMF(K, init=init, beta_loss=beta, batch_size=BATCH, random_state=seed)
        spent = 0.0
        for cost, at in learnt(model, X, BATCH * (4 if beta == 2.0 else 8)):
            spent = cost
            found = error_of(model.components_, aside, beta)
            if found <= target or at >= PASSES * X.shape[0]:
                break
        print(f"  partwise, {init}: {spent:.2f} s, {model.n_samples_seen_} samples, error aside {found:.4f}")
        print(f"  {seconds / spent:.1f} times as fast (wanted {WANTED:g})" if found <= target else "  not reached")


def learnt(model: Any, X: Any, step: int) -> Iterator[tuple[float, int]]:
    """Processor time and samples so far, after so many samples each time, in passes without end."""
    spent = 0.0
    while True:
        for a in range(0, X.shape[0], step):
            began = time.process_time()
            # as in a fit: what a pass leaves of the past
            model.set_params(forget_factor=0.7 ** (BATCH / X.shape[0])).partial_fit(X[a : a + step])
            spent += time.process_time() - began
            yield spent, model.n_samples_seen_


def streams(X: Any, aside: Any, seed: int) -> None:
    """The same stream, once, to everything that has ``partial_fit``."""
    import partwise as pw

    makers = {
        "MiniBatchNMF()": lambda: pw.MiniBatchNMF(K, forget_factor=1.0, random_state=seed),
        "ConservativeNMF(w=1e-4, relaxation=(1, 5000))": lambda: pw.ConservativeNMF(
            K, w=1e-4, relaxation=(1, 5000), random_state=seed
        ),
        "AND()": lambda: pw.AND(K, random_state=seed),
    }
    print("one pass over MNIST as a stream: batches of 1024; seconds, error aside after 5, 20 batches and all")
    for name, make in makers.items():
        make().partial_fit(X[:BATCH])
        model, spent, told = make(), 0.0, []
        for number, a in enumerate(range(0, len(X), BATCH), 1):
            began = time.process_time()
            try:
                model.partial_fit(X[a : a + BATCH])
            except ValueError as error:
                told.append(str(error)[:60])
                break
            spent += time.process_time() - began
            if number in (5, 20) or a + BATCH >= len(X):
                told.append(f"{error_of(np.maximum(model.components_, 0.0), aside, 2.0):.4f}")
        print(f"  {name}: {spent:.2f} s, {', '.join(told)}")
