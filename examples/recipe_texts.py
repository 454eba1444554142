"""Topics of news articles: their words, their coherence, their documents.

Two steps: give the counts (or a folder of texts, or a table with a column of text); read the tables. Needs the data set
bbc in the folder that PARTWISE_DATA names. The same as commands: `partwise fit posts.csv --as texts -k 5`, and for new
texts `partwise transform partwise-fit new.csv`.
"""

import csv
import os
import tempfile
from pathlib import Path

from partwise.cli.app import run


def main() -> None:
    data = Path(os.environ.get("PARTWISE_DATA", ".")) / "bbc"
    if not (data / "bbc.mtx").exists():
        print("skipped: needs bbc in PARTWISE_DATA")
        return
    names = ["--feature-names", str(data / "bbc.terms"), "--sample-names", str(data / "bbc.docs"), "--transpose"]
    with tempfile.TemporaryDirectory() as folder:
        # step 1
        assert run(["fit", str(data / "bbc.mtx"), *names, "--as", "texts", "-k", "5", "-q", "-o", folder]) == 0
        # step 2
        with (Path(folder) / "topics.csv").open(newline="") as file:
            words = list(csv.DictReader(file))
        with (Path(folder) / "topic_documents.csv").open(newline="") as file:
            documents = list(csv.DictReader(file))
    for topic in dict.fromkeys(row["topic"] for row in words):
        mine = [row for row in words if row["topic"] == topic]
        own = sorted(mine, key=lambda row: -float(row["specificity"]))[:6]
        best = [row["document"] for row in documents if row["topic"] == topic][:2]
        print(f"{topic}: {', '.join(row['word'] for row in own)}; NPMI {float(mine[0]['coherence_npmi']):.2f}; {best}")


if __name__ == "__main__":
    main()
