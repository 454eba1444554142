"""
Recipe: topics of news articles
===============================

What BERTopic and gensim call topics, their words and their coherence. Two steps: give the counts (or a folder of texts,
or a table with a column of text); read the tables. The 2,225 articles of BBC must be in the folder that PARTWISE_DATA
names (bbc). As commands, the second for new texts:

.. code-block:: sh

    partwise fit posts.csv --as texts -k 5
    partwise transform partwise-fit new.csv
"""

# %%
# Step 1: the fit.

import os
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import polars as pl

from partwise.cli.app import run

data = Path(os.environ.get("PARTWISE_DATA", ".")) / "bbc"
if not (data / "bbc.mtx").exists():
    raise SystemExit("skipped: needs bbc in PARTWISE_DATA")
folder = Path(tempfile.mkdtemp())
names = ["--feature-names", str(data / "bbc.terms"), "--sample-names", str(data / "bbc.docs"), "--transpose"]
assert run(["fit", str(data / "bbc.mtx"), *names, "--as", "texts", "-k", "5", "-q", "-o", str(folder)]) == 0

# %%
# Step 2: the tables. Words that are a topic's own, its coherence, and the documents that have most of it:

words, documents = pl.read_csv(folder / "topics.csv"), pl.read_csv(folder / "topic_documents.csv")
for (topic,), mine in words.group_by("topic", maintain_order=True):
    own = mine.sort("specificity", descending=True)["word"][:6]
    best = documents.filter(pl.col("topic") == topic)["document"][:2]
    print(f"{topic}: {', '.join(own)}; NPMI {mine['coherence_npmi'][0]:.2f}; {', '.join(best)}")

# %%
# The most frequent words of each topic.

figure, axes = plt.subplots(1, 5, figsize=(11, 3), layout="constrained")
for ax, ((topic,), mine) in zip(axes, words.group_by("topic", maintain_order=True), strict=True):
    largest = mine.sort("share", descending=True)[:10].reverse()
    ax.barh(largest["word"], largest["share"], color="#00796b")
    ax.set_title(topic, fontsize=9)
    ax.tick_params(labelsize=7)
figure.supxlabel("share of the word in the topic", fontsize=8)
plt.show()

# %%
# What the newspaper's own sections are made of: the mean shares of the topics in their articles.

shares = pl.read_csv(folder / "document_shares.csv")
sections = shares.with_columns(pl.col("document").str.split(".").list.first().alias("section")).drop("document")
table = sections.group_by("section").mean().sort("section")
figure, ax = plt.subplots(figsize=(6, 3), layout="constrained")
image = ax.imshow(table.drop("section").to_numpy(), cmap="Blues", vmin=0, vmax=1, aspect="auto")
ax.set_yticks(range(len(table)), table["section"])
ax.set_xticks(range(5), table.columns[1:], rotation=20)
figure.colorbar(image, label="mean share")
plt.show()
