"""
Topics of texts
===============

The texts are the docstrings of SciPy, which every installation has: one document a function. The topics are found
without knowing which subpackage a document comes from, and are held against that at the end.
"""

import importlib
import inspect

import matplotlib.pyplot as plt
import numpy as np

import partwise as pw

PACKAGES = ["cluster.hierarchy", "fft", "interpolate", "ndimage", "signal", "sparse.linalg", "stats"]
texts, origins = [], []
for package in PACKAGES:
    module = importlib.import_module(f"scipy.{package}")
    for name in module.__all__:
        thing = getattr(module, name)
        text = inspect.getdoc(thing) if inspect.isroutine(thing) else None
        if text and len(text) > 500:
            texts.append(text)
            origins.append(package)
data = pw.datasets.read_texts(texts, min_count=20)
print(f"{data.X.shape[0]} documents, {data.X.shape[1]} words")

# %%
# Topics from anchor words: coherence, the anchor, and the words of each topic.

model = pw.AnchorTopics(8, feature_names=data.feature_names, random_state=0).fit(data.X)
coherence = pw.metrics.topic_coherence(model.components_, data.X)
for words, anchor, value in zip(model.top_words(8), model.anchors_, coherence, strict=True):
    print(f"{value:5.2f}  {data.feature_names[anchor]:>14}: {' '.join(words)}")

# %%
# Each document's largest topic beside the subpackage that it comes from.

largest = model.transform(data.X).argmax(axis=1)
classes = np.unique(origins, return_inverse=True)[1]
print(f"agreement of the largest topic with the subpackage: NMI {pw.metrics.nmi(classes, largest):.2f}")
table = np.zeros((len(PACKAGES), 8))
np.add.at(table, (classes, largest), 1)
figure, ax = plt.subplots(figsize=(7, 3), layout="constrained")
image = ax.imshow(table / table.sum(axis=1, keepdims=True), cmap="Blues", vmin=0, vmax=1, aspect="auto")
ax.set_yticks(range(len(PACKAGES)), PACKAGES)
ax.set_xticks(range(8), [data.feature_names[anchor] for anchor in model.anchors_], rotation=30, ha="right")
ax.set_xlabel("topic, by its anchor word")
figure.colorbar(image, label="share of documents")
plt.show()
