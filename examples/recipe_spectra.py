"""Abundance maps of a hyperspectral scene, and a library beside its spectra.

Two steps: give the file, the shape of the map and the library; read the tables. Needs the data set jasper_ridge in the
folder that PARTWISE_DATA names. The same as a command:
`partwise fit Jasper.mat --variable Y --as spectra --map-shape 100x100 -k 4 --reference library.csv`.
"""

import csv
import os
import tempfile
from pathlib import Path

import numpy as np

import partwise as pw
from partwise.cli.app import run
from partwise.exceptions import DataNotFoundError


def main() -> None:
    try:
        scene = pw.datasets.load_jasper_ridge()
    except DataNotFoundError as error:
        print(f"skipped: {error}")
        return
    file = Path(os.environ["PARTWISE_DATA"]) / "jasper_ridge" / "Jasper.mat"
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "library.csv"  # known spectra, one a line
        lines = [["name", *range(scene.components.shape[1])]]
        lines += [[name, *h] for name, h in zip(scene.component_names, scene.components.tolist(), strict=True)]
        with library.open("w", newline="") as target:
            csv.writer(target).writerows(lines)
        # step 1
        words = ["fit", str(file), "--variable", "Y", "--as", "spectra", "--map-shape", "100x100", "-k", "4", "-q"]
        assert run([*words, "--reference", str(library), "-o", f"{folder}/out"]) == 0
        # step 2
        with open(f"{folder}/out/library.csv", newline="") as table:
            best = [row for row in csv.DictReader(table) if row["rank"] == "1"]
        for row in best:
            print(f"{row['part']}: {row['known']}, {float(row['angle_degrees']):.1f} degrees")
        with open(f"{folder}/out/abundances.csv", newline="") as table:
            rows = list(csv.reader(table))
        shares = np.array([[float(cell) for cell in row[1:5]] for row in rows[1:]])
        print("mean abundances:", dict(zip(rows[0][1:5], shares.mean(axis=0).round(2).tolist(), strict=True)))


if __name__ == "__main__":
    main()
