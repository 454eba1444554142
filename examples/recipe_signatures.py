"""Mutational signatures of 21 breast cancers, named by COSMIC.

Two steps: give the matrix as SigProfiler writes it and the file of COSMIC's signatures; read the tables. Needs the data
sets brca21 and cosmic_sbs in the folder that PARTWISE_DATA names. The same as a command:
`partwise fit Samples_SBS.txt --as signatures -k 4 --reference COSMIC_v3.4_SBS_GRCh37.txt`.
"""

import csv
import os
import tempfile
from pathlib import Path

from partwise.cli.app import run


def main() -> None:
    data = Path(os.environ.get("PARTWISE_DATA", "."))
    matrix, cosmic = data / "brca21" / "Samples_SBS.txt", data / "cosmic_sbs" / "COSMIC_v3.4_SBS_GRCh37.txt"
    if not matrix.exists() or not cosmic.exists():
        print("skipped: needs brca21 and cosmic_sbs in PARTWISE_DATA")
        return
    with tempfile.TemporaryDirectory() as folder:
        # step 1
        code = run(
            ["fit", str(matrix), "--as", "signatures", "-k", "4", "--reference", str(cosmic), "-q", "-o", folder]
        )
        assert code == 0
        # step 2
        with (Path(folder) / "matches.csv").open(newline="") as file:
            best = [row for row in csv.DictReader(file) if row["rank"] == "1"]
        with (Path(folder) / "decomposition.csv").open(newline="") as file:
            sums = list(csv.DictReader(file))
        for row in best:
            parts = [one for one in sums if one["signature"] == row["signature"]]
            made = " + ".join(f"{float(one['share']):.0%} {one['known']}" for one in parts)
            print(f"{row['signature']:18} most like {row['known']} (cosine {float(row['cosine']):.3f}); {made}")


if __name__ == "__main__":
    main()
