"""The mistakes of a first try: each answered on the spot by one sentence that names what to do."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

RNG = np.random.default_rng(11)
COUNTS = RNG.poisson(RNG.gamma(0.6, 9.0, (40, 3)) @ RNG.dirichlet([0.5] * 12, 3) * 4.0) + np.eye(40, 12, dtype=int)
GENES = ["MALAT1", "ACTB", "GAPDH", "B2M", *(f"GENE{j}" for j in range(8))]
CELLS = ["".join(RNG.choice(list("ACGT"), 16)) + "-1" for _ in range(40)]
KINDS = [f"{a}[{b}>{c}]{d}" for a in "ACGT" for b, c in ("CA", "CG", "CT") for d in "A"]
WORDS = ["group", "class", "number"]
FEATURES = [f"f{j}" for j in range(12)]
SAMPLES = [f"s{i}" for i in range(40)]
X = RNG.gamma(0.5, size=(40, 3)) @ RNG.gamma(0.5, size=(3, 12))

Program = Callable[..., tuple[str, str]]


def text(rows: np.ndarray, columns: list[str], names: list[str] | None, corner: str = "name") -> str:
    lines = [",".join([corner] * (names is not None) + columns)]
    for i, row in enumerate(rows.tolist()):
        lines.append(",".join(([] if names is None else [names[i]]) + [repr(value) for value in row]))
    return "\n".join(lines) + "\n"


def shares(rows: np.ndarray, total: float) -> np.ndarray:
    return total * rows / rows.sum(axis=1, keepdims=True)


LOGGED = np.log1p(shares(COUNTS.astype(float), 1e4))
PERCENT = shares(X, 100.0)
PERCENT[[3, 7]] *= 0.6
# 40 bands of 60 spectra, without a name
PEAKS = np.exp(-np.square(np.arange(40)[:, None] / 5.0 - [2.0, 4.0, 6.0]))
BANDS = PEAKS @ np.random.default_rng(5).gamma(0.5, size=(3, 60))
# 60 words of 25 texts, without a name
FREQUENCIES = np.random.default_rng(6).poisson(np.geomspace(0.2, 40.0, 60)[:, None] * np.ones(25))
# 50 samples of each of six groups, in their order, that are near to each other
GROUPED = np.repeat(np.random.default_rng(7).gamma(0.5, size=(6, 40)), 50, axis=0)
GROUPED += 0.05 * np.random.default_rng(8).random((300, 40))
DEEP = COUNTS * np.geomspace(1, 80, 40).astype(int)[:, None]

# what the file holds, the flags, and what is said: the fit is done all the same
NOTED: dict[str, tuple[str, list[str], str]] = {
    "genes as rows": (text(COUNTS.T, SAMPLES, GENES), [], r"samples seem to be columns: rows are called as genes"),
    "cells as columns": (text(COUNTS.T, CELLS, FEATURES), [], "columns are called as barcodes of cells are"),
    "mutations as rows": (
        text(COUNTS.T, SAMPLES, KINDS),
        [],
        "rows are called as kinds of mutations are (A[C>A]A). --tr",
    ),
    "ensembl ids as rows": (
        text(COUNTS.T, SAMPLES, [f"ENSG{j:011d}" for j in range(12)]),
        [],
        "rows are called as genes are (ENSG00000000000). --transpose turns",
    ),
    "wavelengths as rows": (
        text(X.T, SAMPLES, [f"{400 + 10 * j}" for j in range(12)], "wavelength"),
        [],
        "rows go from 400 to 510 in order: where they are wavelengths, samples are columns, and --transpose turns",
    ),
    "wavelengths as rows, numbered spectra": (
        text(X.T, [str(i) for i in range(40)], [f"{400.5 + 10 * j}" for j in range(12)], "wavelength"),
        [],
        "rows go from 400.5 to 510.5 in order: where they are wavelengths, samples are columns, and --transpose turns",
    ),
    "bands as rows, without names": (
        "\n".join(",".join(map(repr, row)) for row in BANDS.tolist()),
        ["--no-header"],
        "neighbouring rows are alike (steps of 3",
    ),
    "words as rows, without names": (
        "\n".join(",".join(map(repr, row)) for row in FREQUENCIES.tolist()),
        ["--no-header"],
        "fold: where rows are words or genes, samples are columns, and --transpose turns the table; where they are",
    ),
    "log-normalised for counts": (
        text(LOGGED, GENES, CELLS),
        ["--method", "likelihood"],
        "The numbers are logarithms (with exp(x) - 1 every sample adds up to 10,000), and this method is for counts",
    ),
    "some genes of log-normalised cells": (
        text(LOGGED[:, :-3], GENES[:-3], CELLS),
        ["--method", "likelihood"],
        "The numbers are logarithms (exp(x) - 1 makes whole multiples of one number of those of each sample)",
    ),
    "log2 of counts": (
        text(np.log2(1.0 + COUNTS), GENES, CELLS),
        ["--method", "likelihood"],
        "logarithms (2^x - 1 makes whole numbers of all of them)",
    ),
    "logarithms twice": (text(LOGGED, GENES, CELLS), ["--preprocess", "log1p"], "leave --preprocess out"),
    "counts of any depth": (
        text(DEEP, GENES, CELLS),
        [],
        "--method likelihood weighs counts as such, and --preprocess",
    ),
    "a label": (
        text(np.column_stack([X, np.arange(40) % 3]), [*FEATURES, "label"], SAMPLES),
        [],
        "'label' among the features is numbers of classes, of samples or of places, not measured: --drop label leaves",
    ),
    "an id that is not the first": (
        text(np.column_stack([X, 1000 + np.arange(40)]), [*FEATURES, "sample_id"], SAMPLES),
        [],
        "--drop sample_id leaves it out",
    ),
    "an id of patients with several samples": (
        text(np.column_stack([X, 1000 + np.arange(40) // 2]), [*FEATURES, "sample_id"], SAMPLES),
        [],
        "--drop sample_id leaves it out",
    ),
    "shares for counts": (
        text(shares(COUNTS.astype(float), 1.0), GENES, CELLS),
        ["--method", "likelihood"],
        "The numbers are shares (every sample adds up to 1), and this method is for counts",
    ),
    "counts per million as cells": (
        text(shares(COUNTS.astype(float), 1e6), GENES, CELLS),
        ["--as", "cells", "--method", "likelihood"],
        "every sample adds up to 1e+06), and this method is for counts",
    ),
    "percentages": (text(PERCENT, FEATURES, SAMPLES), [], "95% of the samples add up to 100 and 2 do not (s3, s7)"),
}


@pytest.mark.parametrize("case", NOTED)
def test_it_is_said_on_the_spot(program: Program, case: str):
    content, flags, told = NOTED[case]
    Path("x.csv").write_text(content)
    out, said = (
        program("fit", "x.csv", "-k", 2, "-m", "hals", "--no-judge", "-o", "out", "--max-iter", 2, "--json", *flags)
        if ("likelihood" not in flags)
        else program("fit", "x.csv", "-k", 2, "-m", "hals", "--no-judge", "-o", "out", "--json", *flags)
    )
    assert told.lower() in said.lower(), said
    assert said.lower().count(told.lower()) == 1
    assert any(told.lower() in text.lower() for text in json.loads(out)["warnings"])


def test_nothing_is_said_of_good_tables(program: Program):
    for name, content in {
        "a.csv": text(RNG.multinomial(500, shares(COUNTS, 1.0)), GENES, CELLS),
        "b.csv": text(X, [f"{400 + 10 * j} nm" for j in range(12)], SAMPLES),
        "c.csv": text(shares(X, 100.0), FEATURES, SAMPLES),
        # IDS is a gene; "group", "class" and "number" are words of texts
        "d.csv": text(RNG.multinomial(500, shares(COUNTS, 1.0)), [*GENES[:-1], "IDS"], CELLS),
        "g.csv": text(FREQUENCIES.T, [f"f{j}" for j in range(60)], None),
        "f.csv": text(BANDS.T, [f"f{j}" for j in range(40)], None),
        "h.csv": text(GROUPED, [f"f{j}" for j in range(40)], None),
        "e.csv": text(RNG.poisson(0.3, (40, 12)) + np.eye(40, 12, dtype=int), [*FEATURES[:9], *WORDS], SAMPLES),
    }.items():
        Path(name).write_text(content)
        out, _ = program("fit", name, "-k", 2, "-m", "hals", "--no-judge", "-o", name[0], "--json", "--tol", 0.5)
        assert json.loads(out)["warnings"] == []


CENTRED = X - X.mean(axis=0)
# what the file is called and holds, the flags, and the one sentence; nothing is left behind
REFUSED: dict[str, tuple[str, str, list[str], str]] = {
    "no such file": ("a.csv", "", ["b.csv"], "b.csv: there is no such file or folder"),
    "an address": ("a.csv", "", ["https://x.org/a.csv"], "is an address; download it"),
    "empty": ("a.csv", "", [], "a.csv: is empty"),
    "only a header": ("a.csv", "a,b,c\n", [], "has one line, of names, and no numbers"),
    "a word among numbers": (
        "a.csv",
        "a,b\n1,2\n3,low\n",
        [],
        "'low' in column 2 ('b') is not a number; what is not known is an empty cell or NA, and --drop",
    ),
    "a short line": (
        "a.csv",
        "a,b,c\n1,2,3\n1,2\n3,4,5\n",
        [],
        "2 cells, but 3 in other lines; --delimiter says what is between",
    ),
    "a name twice": ("a.csv", "x,a,a\ns,1,2\nt,3,4\n", [], "--duplicates tells them apart"),
    "a header or a sample": ("a.csv", "1,2,3,4,5,6\n5,4,3,9,2,2\n9,9,9,0,0,2\n", [], "give --header or --no-header"),
    "an axis or a feature": (
        "a.csv",
        "x,a,b\n" + "".join(f"{i * i / 10},{i % 3 * 30},{i % 5 * 30}\n" for i in range(9)),
        [],
        "give --row-names or --no-row-names",
    ),
    "a workbook of before 2007": ("a.xls", "\xd0\xcf\x11\xe0\0", [], "save it as .xlsx or CSV"),
    "thousands or decimals": ("a.csv", "1,234;5\n2,345;6\n", [], "--decimal"),
    "latin letters": ("a.csv", "na\xefve", [], "--encoding"),
    "centred": ("a.csv", text(CENTRED, FEATURES, SAMPLES), [], "Its columns have mean 0: it was centred"),
    "centred rows": ("a.csv", text((X.T - X.mean(axis=1)).T, FEATURES, SAMPLES), [], "Its rows have mean 0"),
    "negative": ("a.csv", text(X - 0.3, FEATURES, SAMPLES), [], "What takes negative data is --method parts"),
    "missing": (
        "a.csv",
        "a,b\n1,2\nNA,4\n",
        [],
        "row 1, column 0 ('a') (counted from 0); remove or impute them first; --missing nan",
    ),
    "json": ("a.json", '{"a": 1}', [], "is JSON or a saved model"),
    "a pickle": ("a.pkl", "\x80\x04", [], "is a pickle"),
    "too many parts": ("a.csv", text(X, FEATURES, SAMPLES), ["-k", "13"], "-k 13 is too many"),
    "no number of parts": ("a.csv", text(X, FEATURES, SAMPLES), ["-k", "0"], "-k"),
    "sklearn's name": ("a.csv", text(X, FEATURES, SAMPLES), ["--method", "nmf"], "hals is what scikit-learn calls NMF"),
    "a slip in a method": ("a.csv", text(X, FEATURES, SAMPLES), ["--method", "hails"], "did you mean hals?"),
    "a slip in a preparation": ("a.csv", text(X, FEATURES, SAMPLES), ["--preprocess", "log"], "--preprocess must be"),
    "a slip in a start": ("a.csv", text(X, FEATURES, SAMPLES), ["--init", "nnsvd"], "--init: option init of hals"),
    "a slip in a setting": (
        "a.csv",
        text(X, FEATURES, SAMPLES),
        ["--set", "sweep=2"],
        "--set sweep: hals has no option 'sweep'; did you mean sweeps?",
    ),
    "a shape of images": ("a.csv", text(X, FEATURES, SAMPLES), ["--image-shape", "3x5"], "has 15 pixels"),
    "no shape": ("a.csv", text(X, FEATURES, SAMPLES), ["--image-shape", "3,4"], "give height x width"),
    "tf-idf of shares": (
        "a.csv",
        text(shares(X, 1.0), FEATURES, SAMPLES),
        ["--preprocess", "tfidf"],
        "--preprocess: tfidf is for",
    ),
    "a column that is not there": ("a.csv", text(X, FEATURES, SAMPLES), ["--drop", "f99"], "no feature 'f99'; did you"),
    "no columns": ("a.csv", text(X, FEATURES, SAMPLES), ["--drop", "*"], "--drop leaves no feature"),
    "columns without names": ("a.csv", "0.1,0.2\n0.3,0.1\n", ["--columns", "a"], "--feature-names gives some"),
    "names of parts": ("a.csv", text(X, FEATURES, SAMPLES), ["--names", "a,b,c"], "--names has 3 names for 2 parts"),
    "one name twice": (
        "a.csv",
        text(X, FEATURES, SAMPLES),
        ["--names", "a,a"],
        "--names: 'a' is the name of two parts",
    ),
    "the wrong format": ("a.csv", text(X, FEATURES, SAMPLES), ["--format", "excel"], "--format must be one of"),
    "an option of another format": ("a.csv", text(X, FEATURES, SAMPLES), ["--layer", "raw"], "which takes no --layer"),
    "a slip in a field": ("a.csv", text(X, FEATURES, SAMPLES), ["--as", "cell"], "--as must be one of cells, sign"),
    "a shape of a map": (
        "a.csv",
        text(X, FEATURES, SAMPLES),
        ["--map-shape", "5x8"],
        "--map-shape is for --as spectra",
    ),
    "known parts of nothing": (
        "a.csv",
        text(X, FEATURES, SAMPLES),
        ["--fixed", "x"],
        "--fixed names parts of --referen",
    ),
    "a library of other features": (
        "a.csv",
        text(X, FEATURES, SAMPLES),
        ["--as", "spectra", "--reference", "library.csv"],
        "the features of --reference are not those of the data",
    ),
    "a column of texts that is not there": ("a.csv", "id,body\na,b c\n", ["--text", "bod"], "--text"),
    "texts for numbers": ("a.csv", "id,body\na,one two\nb,two three\n", [], "--drop leaves it out, and --text counts"),
    "a number of columns": (
        "a.csv",
        text(X, FEATURES, SAMPLES),
        ["--varying", "99"],
        "--varying 99: there are 12 feat",
    ),
    "a slip in what is missing": (
        "a.csv",
        text(X, FEATURES, SAMPLES),
        ["--missing", "nul"],
        "--missing: option missing",
    ),
    "no alphabet": ("a.csv", text(X, FEATURES, SAMPLES), ["--encoding", "utf-9"], "there is no --encoding 'utf-9'"),
    "a slip in a flag": ("a.csv", text(X, FEATURES, SAMPLES), ["--mapshape", "3x4"], "No such option: --mapshape"),
    "no limit": ("a.csv", text(X, FEATURES, SAMPLES), ["--max-iter", "0"], "--max-iter"),
    "two files": ("a.csv", text(X, FEATURES, SAMPLES), ["a.csv", "b.csv"], "b.csv"),
    "nothing through the pipe": ("a.csv", "", ["-"], "standard input"),
}


# where no flag would help: the sentence is about the argument DATA, and names it
ABOUT_DATA = {"no such file", "an address", "empty", "only a header", "a workbook of before 2007", "json", "a pickle"}
ABOUT_DATA |= {"nothing through the pipe", "two files"}


def test_forty_mistakes_are_known():
    assert len(REFUSED) >= 40
    assert set(REFUSED) >= ABOUT_DATA


@pytest.mark.parametrize("case", REFUSED)
def test_one_sentence_says_what_to_do(program: Program, case: str, monkeypatch: pytest.MonkeyPatch):
    name, content, flags, told = REFUSED[case]
    Path(name).write_bytes(content.encode("latin-1"))
    Path("library.csv").write_text("name,p,q\nx,1,2\n")
    if "pipe" in case:
        monkeypatch.setattr("sys.stdin", None)
    given = flags if flags and not flags[0].startswith("--") and flags[0] != "-k" else [name, *flags]
    words = ["fit", "-m", "hals", *given, "-o", "deep/out", "--json"] + ([] if "-k" in flags else ["-k", "2"])
    out, said = program(*words, code=2)
    result = json.loads(out)
    assert (result["status"], result["exit_code"]) == ("failed", 2)
    assert told in result["message"], result["message"]
    assert told in said
    named = re.search(r"(?<!\w)(--[a-z]+|-k)\b", result["message"]) is not None
    assert named or (case in ABOUT_DATA and given[-1 if case == "two files" else 0] in result["message"])
    assert not Path("deep").exists()  # no parent is left either


def test_names_are_given_once_and_used_everywhere(program: Program):
    program("fit", "data.csv", "-k", 3, "-m", "hals", "-o", "out", "--names", "iron,water vapour,rust", "--max-iter", 5)
    assert Path("out/weights.csv").read_text().startswith("sample,iron,water vapour,rust\n")
    assert [line.partition(",")[0] for line in Path("out/components.csv").read_text().splitlines()[1:]] == [
        "iron",
        "water vapour",
        "rust",
    ]
    assert "<bdi>water vapour</bdi></h3>" in Path("out/report.html").read_text()
    program("transform", "out", "data.csv", "-o", "w.csv")
    assert Path("w.csv").read_text().startswith("sample,iron,water vapour,rust\n")
    out, _ = program("inspect", "out")
    assert "water vapour" in out


def test_a_run_that_its_limit_ended_goes_on_with_a_larger_one(program: Program):
    words = ["fit", "data.csv", "-k", 3, "-m", "hals", "--no-judge", "--tol", 0, "-o"]
    program(*words, "whole", "--max-iter", 12)
    program(*words, "out", "--max-iter", 5)
    program("fit", "--resume", "-o", "out", "--max-iter", 12)
    assert Path("out/components.csv").read_bytes() == Path("whole/components.csv").read_bytes()
    assert json.loads(Path("out/manifest.json").read_text())["job"]["options"]["max_iter"] == 12
    out, _ = program("fit", "--resume", "-o", "out")
    assert "is finished" in out


def test_columns_are_chosen_and_left_out(program: Program):
    program(
        "fit", "data.csv", "-k", 2, "-m", "hals", "-o", "out", "--columns", "f1*,f2", "--drop", "f11", "--max-iter", 3
    )
    assert Path("out/components.csv").read_text().startswith("part,f1,f2,f10\n")
