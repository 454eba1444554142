"""
A model that is kept: saved, looked at, and used again
======================================================

The file is safetensors with JSON in its header. Nothing in it is executed when it is loaded.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from safetensors import safe_open

import partwise as pw

data = pw.datasets.make_topics(n_samples=1000, n_features=80, n_components=6, random_state=0)
model = pw.Facets(6, random_state=0).fit(data.X)
file = Path(tempfile.mkdtemp()) / "topics.safetensors"
pw.save(model, file, data=data.X)

info = pw.io.model_info(file)  # without making the model
print(info["estimator"], {name: info["parameters"][name] for name in ("n_components", "random_state")})

# %%
# Loaded again it gives the same bits, and knows how its fit went.

again = pw.load(file)
print("the same bits:", np.array_equal(again.transform(data.X), model.transform(data.X)))
print("it remembers:", again.stop_reason_, "after", again.n_iter_, "stages")

with safe_open(file, framework="np") as tensors:  # any reader of safetensors will do
    print("arrays in the file:", len(list(tensors.keys())))

figure, ax = plt.subplots(figsize=(6, 3), layout="constrained")
again.plot_history(column="residual", ax=ax)
plt.show()
