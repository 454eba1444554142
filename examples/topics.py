"""Topics of texts.

The texts are the docstrings of SciPy, which every installation has: one document a function. The topics are found
without knowing which subpackage a document comes from, and are held against that at the end.
"""

import importlib
import inspect

import numpy as np

import partwise as pw

PACKAGES = ["cluster.hierarchy", "fft", "interpolate", "ndimage", "signal", "sparse.linalg", "stats"]


def documents() -> tuple[list[str], list[str]]:
    texts, origins = [], []
    for package in PACKAGES:
        module = importlib.import_module(f"scipy.{package}")
        for name in module.__all__:
            thing = getattr(module, name)
            text = inspect.getdoc(thing) if inspect.isroutine(thing) else None
            if text and len(text) > 500:
                texts.append(text)
                origins.append(package)
    return texts, origins


def main() -> None:
    texts, origins = documents()
    data = pw.datasets.read_texts(texts, min_count=20)
    print(f"{data.X.shape[0]} documents, {data.X.shape[1]} words")

    model = pw.AnchorTopics(8, feature_names=data.feature_names, random_state=0).fit(data.X)
    coherence = pw.metrics.topic_coherence(model.components_, data.X)
    for words, anchor, value in zip(model.top_words(8), model.anchors_, coherence, strict=True):
        print(f"{value:5.2f}  {data.feature_names[anchor]:>14}: {' '.join(words)}")

    largest = model.transform(data.X).argmax(axis=1)
    classes = np.unique(origins, return_inverse=True)[1]
    print(f"agreement of the largest topic with the subpackage: NMI {pw.metrics.nmi(classes, largest):.2f}")


if __name__ == "__main__":
    main()
