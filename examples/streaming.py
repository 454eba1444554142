"""A stream: samples are seen once and forgotten.

Mixtures arrive in batches of different sizes. The model never has more than one batch in memory, and its error on
samples that it has not seen falls as it goes on.
"""

from collections.abc import Iterator

import numpy as np

import partwise as pw

PARTS = pw.datasets.make_topics("dir", n_samples=1, n_features=80, n_components=8, random_state=0).components


def stream(seed: int) -> Iterator[np.ndarray]:
    """Stands for a queue, a socket, an instrument."""
    rng = np.random.default_rng(seed)
    while True:
        yield rng.dirichlet(np.full(len(PARTS), 0.1), int(rng.integers(50, 500))) @ PARTS


def main() -> None:
    held_out = next(stream(seed=1))
    model = pw.ConservativeNMF(8, w=0.3, cg_steps=5, random_state=0)
    report = 1000
    for batch in stream(seed=2):
        model.partial_fit(batch)
        if model.n_samples_seen_ >= report:
            W = model.transform(held_out)
            error = pw.metrics.relative_error(held_out, W, model.components_)
            parts = pw.metrics.match_components(model.components_, PARTS).errors.max()
            print(f"{model.n_samples_seen_:6d} samples: unseen data {error:.1e}, worst part {parts:.1e}")
            report *= 2
        if model.n_samples_seen_ > 16_000:
            break


if __name__ == "__main__":
    main()
