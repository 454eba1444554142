"""Files as people send them: workbooks, archives, folders of spectra, cubes."""

from __future__ import annotations

import bz2
import lzma
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import partwise as pw
from partwise.exceptions import ReaderError
from partwise.io.excel import read_xlsx

RNG = np.random.default_rng(3)
X = RNG.random((6, 4)).round(3)
TEXT = "id,a,b,c,d\n" + "".join(f"s{i},{','.join(map(str, row))}\n" for i, row in enumerate(X.tolist()))


def check(table: pw.io.Table) -> None:
    np.testing.assert_array_equal(table.X, X)
    assert table.feature_names == list("abcd")
    assert table.sample_names == [f"s{i}" for i in range(6)]


@pytest.mark.parametrize("kind", ["bz2", "xz", "zip"])
def test_packed_text(tmp_path: Path, kind: str):
    path = tmp_path / f"a.csv.{kind}"
    if kind == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("folder/a.csv", TEXT)
            archive.writestr("__MACOSX/._a.csv", "x")
    else:
        path.write_bytes({"bz2": bz2.compress, "xz": lzma.compress}[kind](TEXT.encode()))
    table = pw.read(path)
    check(table)
    assert table.origin == str(path)


def test_archives_of_several_files_and_damaged_ones(tmp_path: Path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("a.csv", TEXT)
        archive.writestr("b.csv", TEXT)
    with pytest.raises(ReaderError, match=r"archive of 2 files \(a.csv, b.csv\); unpack it and give one"):
        pw.read(tmp_path / "a.zip")
    (tmp_path / "a.csv.xz").write_bytes(lzma.compress(TEXT.encode())[:-20])
    with pytest.raises(ReaderError, match="not a readable xz file"):
        pw.read(tmp_path / "a.csv.xz")
    with pytest.raises(ReaderError, match="is an address; download it"):
        pw.read("https://example.org/a.csv")


def test_text_of_workbooks_that_may_be_thousands_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    cells = [["n", "a", "b"], ["x", "1,234", "2.5"], ["y", "5,678", "1.5"]]
    monkeypatch.setattr("partwise.io.excel.rows_of_sheet", lambda *_: ("S", cells))
    with pytest.raises(ReaderError, match="sheet 'S', row 2: '1,234' is text that may have decimals or thousands"):
        read_xlsx(tmp_path / "a.xlsx")
    assert read_xlsx(tmp_path / "a.xlsx", drop=["a"]).X.tolist() == [[2.5], [1.5]]


def test_workbook(tmp_path: Path):
    openpyxl = pytest.importorskip("openpyxl", reason="writes the file")
    pytest.importorskip("fastexcel")
    book = openpyxl.Workbook()
    for line in TEXT.splitlines():
        book.active.append([float(cell) if cell[0].isdigit() else cell for cell in line.split(",")])
    book.save(tmp_path / "a.xlsx")
    check(pw.read(tmp_path / "a.xlsx"))


def test_folders_of_tables(tmp_path: Path):
    lines = TEXT.splitlines(keepends=True)
    stacked = tmp_path / "stacked"
    stacked.mkdir()
    (stacked / "1.csv").write_text("".join(lines[:4]))
    (stacked / "2.csv").write_text("".join([lines[0], *lines[4:]]))
    check(pw.read(stacked))
    spectra = tmp_path / "spectra"
    spectra.mkdir()
    waves = 400.5 + 2.0 * np.arange(8)
    rows = RNG.random((3, 8)).round(3)
    for name, row in zip(("s1", "s2", "s10"), rows, strict=True):
        np.savetxt(spectra / f"{name}.csv", np.column_stack([waves, row]), "%.10g", ",")
    table = pw.read(spectra)
    np.testing.assert_array_equal(table.X, rows)
    assert table.sample_names == ["s1", "s2", "s10"]
    assert table.feature_names[:2] == ["400.5", "402.5"]
    np.savetxt(spectra / "w.csv", np.column_stack([waves + 1.0, rows[0]]), "%.10g", ",")
    with pytest.raises(ReaderError, match="bring all spectra to the same points"):
        pw.read(spectra)
    (stacked / "3.csv").write_text("id,a,b\ns9,1,2\n")
    with pytest.raises(ReaderError, match=r"3.csv: has other columns than 1.csv"):
        pw.read(stacked)


@pytest.mark.parametrize("end", [".txt", ".dpt", ".001", ""], ids=lambda end: end or "none")
def test_spectra_with_any_end_of_name(end: str, tmp_path: Path):
    for i in range(3):
        text = "".join(f"{400.5 + 2.0 * j}\t{i + j}.5\n" for j in range(400))  # more than is looked at
        (tmp_path / f"s{i}{end}").write_text(("Wavelength\tCounts\n" if end == ".txt" else "") + text)
    table = pw.read(tmp_path)
    assert (table.format, table.X.shape, table.sample_names) == ("tables", (3, 400), ["s0", "s1", "s2"])
    assert table.X[2, 3] == 5.5


HEADS = {
    "letters of two bytes": "Wavelength (\u00c5)\tCounts\n",  # the second byte ends a line in Latin-1
    "comments": "# lamp\n# 3 s\n",
}


@pytest.mark.parametrize("head", HEADS.values(), ids=HEADS)
def test_what_stands_above_a_spectrum_makes_no_text_of_it(head: str, tmp_path: Path):
    """Its words were counted, and the numbers were lost."""
    for i in range(3):
        text = head + "".join(f"{400.5 + 2.0 * j}\t{i + j}.5\n" for j in range(9))
        (tmp_path / f"s{i}.txt").write_text(text, encoding="utf-8")
    table = pw.read(tmp_path)
    assert (table.format, table.X.shape, table.X[2, 3]) == ("tables", (3, 9), 5.5)


def test_two_lines_above_a_spectrum(tmp_path: Path):
    for i in range(3):
        (tmp_path / f"s{i}.txt").write_text("Lamp\nnm\tCounts\n400\t1.5\n401\t2.5\n402\t3.5\n")
    table = pw.read(tmp_path)
    assert (table.feature_names, table.X[0].tolist()) == (["400", "401", "402"], [1.5, 2.5, 3.5])


def test_texts_with_any_end_of_name(tmp_path: Path):
    for name in ("rec.autos_101556", "sci.med_2", "post.v1.new"):
        (tmp_path / name).write_text("in 1990\n12 cars\nred cars\n")
    table = pw.read(tmp_path)
    assert (table.format, table.feature_names) == ("texts", ["cars", "red"])


def test_texts_of_a_workbook(tmp_path: Path):
    openpyxl = pytest.importorskip("openpyxl")
    pytest.importorskip("fastexcel")
    book = openpyxl.Workbook()
    for row in (["id", "body", "year"], ["a", "red fish and\nblue fish in the sea", 1990], ["b", "sea " * 20, 1991]):
        book.active.append(row)
    book.save(tmp_path / "a.xlsx")
    with pytest.raises(ReaderError, match="a column of texts is named by text"):
        pw.read(tmp_path / "a.xlsx")
    table = pw.read(tmp_path / "a.xlsx", text="body")
    assert (table.feature_names, table.sample_names) == (["blue", "fish", "red", "sea"], ["a", "b"])
    assert table.extra["date"] == ["1990", "1991"]


@pytest.mark.filterwarnings("ignore")
def test_zarr(tmp_path: Path):
    zarr = pytest.importorskip("zarr")
    zarr.save_array(str(tmp_path / "a.zarr"), X)
    np.testing.assert_array_equal(pw.read(tmp_path / "a.zarr").X, X)
    anndata = pytest.importorskip("anndata")
    adata = anndata.AnnData(X)
    for frame, names in ((adata.var, list("abcd")), (adata.obs, [f"s{i}" for i in range(6)])):
        frame.index = pd.Index(names, dtype=object)  # anndata cannot write the strings of pandas 3
    adata.layers["counts"] = X * 2.0
    adata.write_zarr(tmp_path / "b.zarr")
    check(pw.read(tmp_path / "b.zarr"))
    adata.write_h5ad(tmp_path / "b.h5ad")
    np.testing.assert_array_equal(pw.read(tmp_path / "b.h5ad", layer="counts").X, X * 2.0)
    with pytest.raises(ReaderError, match="there is no layer 'logs'; there are: counts"):
        pw.read(tmp_path / "b.h5ad", layer="logs")


@pytest.mark.filterwarnings("ignore")
def test_zarr_of_xarray(tmp_path: Path):
    xr = pytest.importorskip("xarray")
    pytest.importorskip("zarr")
    values, waves = RNG.random((5, 2, 3)), 400.5 + 2.0 * np.arange(5)
    cube = xr.DataArray(values, {"wavelength": ("wavelength", waves, {"units": "nm"})}, ("wavelength", "y", "x"))
    cube.to_dataset(name="R").to_zarr(tmp_path / "a.zarr")
    table = pw.read(tmp_path / "a.zarr")
    np.testing.assert_array_equal(table.X, values.reshape(5, 6).T)
    assert (table.map_shape, table.feature_names[0]) == ((2, 3), "400.5 nm")


def test_zarr_with_dimensions_of_other_programs(tmp_path: Path):
    pytest.importorskip("xarray")
    zarr = pytest.importorskip("zarr", minversion="3")
    group = zarr.open_group(tmp_path / "a.zarr", mode="w")
    for level, size in (("0", 8), ("1", 4)):  # of a pyramid: no Dataset, names would have two lengths
        group.create_array(level, data=np.ones((size, size)), dimension_names=("y", "x"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert pw.read(tmp_path / "a.zarr", variable="0").X.shape == (8, 8)


def test_files_of_folders_are_in_the_order_of_their_numbers(tmp_path: Path):
    from partwise.io.images import image_files
    from partwise.io.texts import text_files

    for end, files in ((".txt", text_files), (".png", image_files)):
        folder = tmp_path / end[1:]
        for name in ("day10/1", "day9/10", "day9/9"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).with_suffix(end).write_text("a b")
        assert [file.relative_to(folder).with_suffix("").as_posix() for file in files(folder)] == [
            "day9/9",
            "day9/10",
            "day10/1",
        ]


def test_files_beside_texts_that_are_left_out_are_told(tmp_path: Path):
    for name in ("a.txt", "b.txt", "README", "notes.md"):
        (tmp_path / name).write_text("goal cup goal")
    table = pw.read(tmp_path, stop_words="none")
    assert table.sample_names == ["a.txt", "b.txt"]
    assert table.notes[0] == "2 .txt files; 2 with another end of name are left out: 'README', 'notes.md'"
    for name in ("README", "notes.md"):
        (tmp_path / name).unlink()
    assert len(pw.read(tmp_path, stop_words="none").notes) == 1


@pytest.mark.parametrize("order", ["bsq", "bil", "bip"])
@pytest.mark.parametrize("kind", [(4, "<f4", 0), (12, ">u2", 1)], ids=["float", "big-endian"])
def test_envi(tmp_path: Path, order: str, kind: tuple[int, str, int]):
    code, dtype, swapped = kind
    cube = RNG.integers(0, 99, (2, 3, 5))  # lines, samples, bands
    stored = cube.transpose({"bsq": (2, 0, 1), "bil": (0, 2, 1), "bip": (0, 1, 2)}[order])
    (tmp_path / "scene.img").write_bytes(b"head" + np.ascontiguousarray(stored, dtype).tobytes())
    header = f"""ENVI
description = {{ a
 scene }}
samples = 3
lines = 2
bands = 5
header offset = 4
data type = {code}
interleave = {order}
byte order = {swapped}
wavelength units = Nanometers
wavelength = {{ 400.0, 410.0, 420.0,
 430.0, 440.0 }}
bbl = {{ 1, 1, 0, 1, 1 }}
"""
    (tmp_path / "scene.hdr").write_text(header)
    table = pw.read(tmp_path / "scene.hdr")
    np.testing.assert_array_equal(table.X, cube.reshape(6, 5)[:, [0, 1, 3, 4]])
    assert table.feature_names == ["400.0 nm", "410.0 nm", "430.0 nm", "440.0 nm"]
    assert table.map_shape == (2, 3)
    with pytest.raises(ReaderError, match=r"has a header \(.hdr\) beside it"):
        pw.read(tmp_path / "scene.img")
    (tmp_path / "scene.img").write_bytes(b"head")
    with pytest.raises(ReaderError, match="has 4 bytes, and its header declares"):
        pw.read(tmp_path / "scene.hdr")
    (tmp_path / "scene.img").unlink()
    with pytest.raises(ReaderError, match="the file of numbers is not beside it"):
        pw.read(tmp_path / "scene.hdr")


@pytest.mark.filterwarnings("ignore")
def test_files_of_rosettasciio(tmp_path: Path):
    pytest.importorskip("rsciio")
    cube = RNG.random((2, 3, 8))
    described = {
        "key": "value",
        "width": 3,
        "height": 2,
        "depth": 8,
        "offset": 0,
        "data-length": 8,
        "data-type": "float",
    }
    described |= {"byte-order": "little-endian", "record-by": "vector", "depth-scale": 0.5, "depth-units": "keV"}
    (tmp_path / "a.rpl").write_text("".join(f"{key}\t{value}\n" for key, value in described.items()))
    cube.tofile(tmp_path / "a.raw")
    table = pw.read(tmp_path / "a.rpl")
    np.testing.assert_array_equal(table.X, cube.reshape(6, 8))
    assert (table.map_shape, table.feature_names[1]) == ((2, 3), "0.5 keV")
    with pytest.raises(ReaderError, match="there is no variable 'b'; there are: signal 0"):
        pw.read(tmp_path / "a.rpl", variable="b")

    heading = {"FORMAT": "EMSA/MAS Spectral Data File", "VERSION": "1.0", "NPOINTS": 3, "XPERCHAN": 1, "OFFSET": 0}
    lines = [f"#{key:<12}: {value}" for key, value in (heading | {"DATATYPE": "Y", "SPECTRUM": ""}).items()]
    (tmp_path / "one.msa").write_text("\n".join([*lines, "1.0,", "2.0,", "3.0,", "#ENDOFDATA  :"]))
    with pytest.raises(ReaderError, match="has one spectrum, and parts are found in many: save each as CSV"):
        pw.read(tmp_path / "one.msa")


def test_files_of_cell_ranger(tmp_path: Path):
    pytest.importorskip("anndata")
    h5py = pytest.importorskip("h5py")
    columns = sp.csc_array(np.array([[0, 3, 1], [2, 0, 0], [5, 0, 4], [0, 0, 7]]))  # features x cells, as the files are
    kinds = ["Gene Expression"] * 3 + ["Antibody Capture"]
    names = ["CD3E", "LYZ", "LYZ", "CD3"]
    for file, group, listed, ends in (("3.h5", "matrix", "features/name", kinds), ("2.h5", "hg19", "gene_names", None)):
        with h5py.File(tmp_path / file, "w") as written:
            for part in ("data", "indices", "indptr", "shape"):
                written[f"{group}/{part}"] = getattr(columns, part)
            written[f"{group}/barcodes"] = ["AAA-1", "CCC-1", "GGG-1"]
            written[f"{group}/{listed}"] = names
            if ends:
                written[f"{group}/features/feature_type"] = ends
    genes = pw.read(tmp_path / "3.h5", modality="Gene Expression")
    np.testing.assert_array_equal(genes.X.toarray(), columns.toarray().T[:, :3])
    assert (genes.feature_names, genes.sample_names) == (["CD3E", "LYZ", "LYZ.2"], ["AAA-1", "CCC-1", "GGG-1"])
    assert genes.format == "10x"
    np.testing.assert_array_equal(pw.read(tmp_path / "2.h5").X.toarray(), columns.toarray().T)
    with pytest.raises(ReaderError, match="give modality; there are: Antibody Capture, Gene Expression") as refused:
        pw.read(tmp_path / "3.h5")
    assert refused.value.parameter == "modality"
    with pytest.raises(ReaderError, match="there is no modality 'mm10'; there are: hg19"):
        pw.read(tmp_path / "2.h5", modality="mm10")


def test_a_modality_of_h5mu_and_of_a_mudata(tmp_path: Path):
    anndata = pytest.importorskip("anndata")
    h5py = pytest.importorskip("h5py")
    write = (getattr(anndata, "io", None) or anndata.experimental).write_elem
    X = np.arange(12.0).reshape(4, 3)
    rna = anndata.AnnData(X)
    rna.var_names = ["CD3E", "LYZ", "NKG7"]
    with (
        h5py.File(tmp_path / "both.h5mu", "w", userblock_size=512) as both,
        h5py.File(tmp_path / "one.h5mu", "w") as one,
    ):
        write(both.require_group("mod"), "rna", rna)
        write(both["mod"], "prot", anndata.AnnData(X[:, :2]))
        write(one.require_group("mod"), "rna", rna)
    with (tmp_path / "both.h5mu").open("r+b") as file:  # as MuData does
        file.write(b"MuData (format-version=0.1.0;creator=muon)")
    table = pw.read(tmp_path / "both.h5mu", modality="rna")
    np.testing.assert_array_equal(table.X, X)
    assert table.feature_names == ["CD3E", "LYZ", "NKG7"]
    assert table.notes == ("modality: rna",)
    np.testing.assert_array_equal(pw.read(tmp_path / "one.h5mu").X, X)
    with pytest.raises(pw.exceptions.ReaderError, match=r"several modalities: give modality; there are: prot, rna"):
        pw.read(tmp_path / "both.h5mu")
    with pytest.raises(pw.exceptions.ReaderError, match=r"no modality 'atac'; there are: prot, rna"):
        pw.read(tmp_path / "both.h5mu", modality="atac")

    kind = type("MuData", (), {"__module__": "mudata"})
    alone = kind()
    alone.mod = {"rna": rna}
    assert pw.open_source(alone).shape == (4, 3)
    alone.mod["prot"] = rna
    with pytest.raises(pw.exceptions.InputError, match="give one of its modalities: 'rna', 'prot'"):
        pw.open_source(alone)
