"""
A stream: samples are seen once and forgotten
=============================================

Mixtures arrive in batches of different sizes. The model never has more than one batch in memory, and its error on
samples that it has not seen falls as it goes on.
"""

from collections.abc import Iterator

import matplotlib.pyplot as plt
import numpy as np

import partwise as pw

PARTS = pw.datasets.make_topics("dir", n_samples=1, n_features=80, n_components=8, random_state=0).components


def stream(seed: int) -> Iterator[np.ndarray]:
    """Stands for a queue, a socket, an instrument."""
    rng = np.random.default_rng(seed)
    while True:
        yield rng.dirichlet(np.full(len(PARTS), 0.1), int(rng.integers(50, 500))) @ PARTS


# %%
# After every batch the model is held against samples that it never sees, and against the true parts.

held_out = next(stream(seed=1))
model = pw.ConservativeNMF(8, w=0.3, cg_steps=5, random_state=0)
seen, unseen, worst = [], [], []
for batch in stream(seed=2):
    model.partial_fit(batch)
    seen.append(model.n_samples_seen_)
    unseen.append(pw.metrics.relative_error(held_out, model.transform(held_out), model.components_))
    worst.append(pw.metrics.match_components(model.components_, PARTS).errors.max())
    if model.n_samples_seen_ > 16_000:
        break
print(f"{seen[-1]} samples: unseen data {unseen[-1]:.1e}, worst part {worst[-1]:.1e}")

figure, ax = plt.subplots(figsize=(7, 3), layout="constrained")
ax.loglog(seen, unseen, label="of unseen data")
ax.loglog(seen, worst, label="of the worst part")
ax.set(xlabel="samples seen (log scale)", ylabel="relative error (log scale)")
ax.legend()
plt.show()
