"""Four fields, from a file to what the tool of the field gives."""

from __future__ import annotations

import contextlib
import csv
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from partwise.algorithms import loop
from partwise.algorithms.loop import Progress
from partwise.cli.fields import OUTPUTS
from partwise.exceptions import InputError
from partwise.io import Table
from partwise.profiles import PROFILES, Settings, cells
from partwise.profiles.reference import aligned_reference

RNG = np.random.default_rng(5)
Program = Callable[..., tuple[str, str]]
KINDS = [f"{a}[{m}]{b}" for m in ("C>A", "C>G", "C>T", "T>A", "T>C", "T>G") for a in "ACGT" for b in "ACGT"]


def write(path: str, corner: str, columns: list[str], names: list[str], rows: np.ndarray) -> None:
    with Path(path).open("w", newline="") as file:
        csv.writer(file).writerows(
            [[corner, *columns], *([name, *row] for name, row in zip(names, rows.tolist(), strict=True))]
        )


def read(path: str) -> list[dict[str, str]]:
    with Path(path).open(newline="") as file:
        return list(csv.DictReader(file))


def test_signatures_are_named_as_known_ones(program: Program):
    known = RNG.dirichlet([0.1] * 96, 5)
    order = RNG.permutation(96)  # as any program may write them, with samples as columns
    counts = RNG.poisson(RNG.gamma(1.0, 2000.0, (30, 3)) @ known[[0, 2, 4]])
    write("sbs.csv", "MutationType", [f"s{i}" for i in range(30)], [KINDS[j] for j in order], counts.T[order])
    write("cosmic.csv", "Type", [f"SBS{i + 1}" for i in range(5)], KINDS, known.T)
    program("fit", "sbs.csv", "--as", "signatures", "-k", 3, "--reference", "cosmic.csv", "-o", "out")
    assert list(read("out/signatures.csv")[0])[1:] == list(read("out/exposures.csv")[0])[1:]
    assert sorted(list(read("out/exposures.csv")[0])[1:]) == ["SBS1-like", "SBS3-like", "SBS5-like"]
    assert [row["MutationType"] for row in read("out/signatures.csv")] == KINDS  # in the order of drawing
    best = {row["signature"]: row for row in read("out/matches.csv") if row["rank"] == "1"}
    assert all(float(row["cosine"]) > 0.99 and name == f"{row['known']}-like" for name, row in best.items())
    sums = read("out/decomposition.csv")
    assert len(sums) == 3  # each asks for one known signature alone
    page = Path("out/report.html").read_text()
    assert page.count('class="chart grouped"') == 3
    assert "Known signatures" in page
    exposures = np.array([[float(row[name]) for name in list(row)[1:]] for row in read("out/exposures.csv")])
    np.testing.assert_allclose(exposures.sum(axis=1), counts.sum(axis=1), rtol=1e-4)
    _, said = program("transform", "out", "sbs.csv", "-o", "new.csv")  # the same way round as those of the fit
    assert "Samples are taken from columns" in said
    assert Path("new.csv").read_bytes() == Path("out/weights.csv").read_bytes()


def test_a_signature_that_is_a_sum_of_four_is_named_by_the_largest(program: Program):
    known = np.random.default_rng(5).dirichlet([0.5] * 96, 6)
    counts = np.ceil(np.linspace(1000.0, 9000.0, 12)[:, None] * ([0.19, 0.31, 0.0, 0.23, 0.27, 0.0] @ known))
    write("sum.csv", "sample", KINDS, [f"s{i}" for i in range(12)], counts)
    write("cosmic.csv", "Type", [f"SBS{i + 1}" for i in range(6)], KINDS, known.T)
    program("fit", "sum.csv", "--as", "signatures", "-k", 1, "--reference", "cosmic.csv", "--no-judge", "-o", "out")
    assert list(read("out/exposures.csv")[0])[1:] == ["SBS2+SBS5+SBS4+others"]


def test_spectra_of_a_map_with_a_library(program: Program):
    axis = 400.0 + 10.0 * np.arange(40)
    spectra = np.exp(-(((axis - np.array([[450.0], [600.0], [720.0]])) / 60.0) ** 2)) + 0.05
    share = RNG.dirichlet([0.4] * 3, 48)
    np.save("cube.npy", (share @ spectra).reshape(6, 8, 40))
    write(
        "library.csv",
        "name",
        [f"{x:g}" for x in axis],
        ["blue", "orange", "red", "flat"],
        np.vstack([spectra, np.ones(40)]),
    )
    words = ["fit", "cube.npy", "--as", "spectra", "-k", 3, "--reference", "library.csv", "-o", "out"]
    program(*words, "--names", "a,b,c")
    rows = read("out/abundances.csv")
    assert len(rows) == 48
    sums = [sum(float(row[name]) for name in "abc") for row in rows]
    np.testing.assert_allclose(sums, 1.0, atol=1e-5)
    closest = {row["known"]: float(row["angle_degrees"]) for row in read("out/library.csv") if row["rank"] == "1"}
    assert set(closest) == {"blue", "orange", "red"}
    assert max(closest.values()) < 5.0
    assert len(read("out/residual_spectrum.csv")) == 40
    page = Path("out/report.html").read_text()
    assert page.count("as a map") == 4  # three parts and what is left
    said = program("fit", "cube.npy", "-k", 2, "--method", "spa", "--no-judge", "-o", "o1")
    assert "6 images of 8 x 40; --as spectra takes them for 6 x 8 pixels of 40 bands" in " ".join(
        " ".join(said).split()
    )
    said = program("fit", "data.csv", "-k", 2, "-o", "o2", "--map-shape", "6x8", code=2)[1]
    assert "--map-shape is for --as spectra" in said
    said = program("fit", "cube.npy", "-k", 2, "-o", "o3", "--as", "spectra", "--map-shape", "7x7", code=2)[1]
    assert "--map-shape 7x7 has 49 pixels, and there are 6 samples" in said


@pytest.mark.parametrize("missing", ["nan", "zeros"])
def test_what_is_left_of_spectra_with_holes_is_of_known_entries(program: Program, missing: str):
    axis = 400.0 + 10.0 * np.arange(30)
    spectra = np.exp(-(((axis - np.array([[450.0], [600.0]])) / 60.0) ** 2)) + 0.1
    X = RNG.dirichlet([0.4] * 2, 60) @ spectra + 0.01 * RNG.normal(size=(60, 30))
    known = RNG.random(X.shape) < 0.9
    known[:, 3] = RNG.random(60) < 0.3
    cells = np.where(known, X.round(6), 0.0 if missing == "zeros" else np.nan)
    write("a.csv", "id", [f"{x:g}" for x in axis], [f"s{i}" for i in range(60)], cells)
    program("fit", "a.csv", "--missing", missing, "-k", 2, "--no-judge", "-o", "out")
    left = [float(row["rms_residual"]) for row in read("out/residual_spectrum.csv")]
    assert 0.006 < min(left) <= max(left) < 0.015
    left = [float(row["rms_residual"]) for row in read("out/abundances.csv")]
    assert np.sqrt(np.mean(np.square(left))) == pytest.approx(0.01, rel=0.1)
    assert "What is left, by band" in Path("out/report.html").read_text()


def test_a_library_is_over_the_points_of_the_data_however_they_are_written():
    points = np.linspace(400.0, 700.0, 80)  # of which 662.02531645569 has two neighbours at six decimals
    library = Table(RNG.random((80, 2)), ["iron", "rust"], [f"{x:.18e}" for x in points[::-1]])
    names, rows = aligned_reference(library, [f"{x:.10g} nm" for x in points], 80)
    assert names == ["iron", "rust"]
    np.testing.assert_array_equal(rows, library.X[::-1].T)
    with pytest.raises(InputError, match="the features of reference are not those of the data: it has iron, rust"):
        aligned_reference(library, [f"{x:.10g} nm" for x in points + 0.1], 80)


def test_cells_have_marker_genes(program: Program):
    genes = ["MALAT1", "B2M", "ACTB", *(f"G{j}" for j in range(27))]
    parts = np.full((3, 30), 0.2)
    parts[:, :3] = 30.0  # large everywhere
    for j in range(3):
        parts[j, 3 + 5 * j : 8 + 5 * j] = 8.0
    counts = RNG.poisson(RNG.gamma(0.5, 3.0, (80, 3)) @ parts)
    write("cells.csv", "gene", [f"c{i}" for i in range(80)], genes, counts.T)
    program("fit", "cells.csv", "--as", "cells", "-k", 3, "-o", "out")
    markers = read("out/markers.csv")
    lead = {row["program"]: [] for row in markers}
    for row in markers:
        if int(row["rank"]) <= 5:
            lead[row["program"]].append(row["gene"])
    assert sorted(sorted(names) for names in lead.values()) == sorted(
        sorted(genes[3 + 5 * j : 8 + 5 * j]) for j in range(3)
    )
    assert len(read("out/usage.csv")) == 80


TEXTS = ["the striker scored a goal in the cup match", "the match ended when the striker missed a late goal"]
TEXTS += ["the bank raised its rate of interest again", "interest in the bank grew with the rate of growth"]


def test_texts_of_a_column_over_time_and_new_ones_without_flags(program: Program):
    rows = [{"title": f"t{i}", "body": TEXTS[i % 4], "date": f"20{10 + i // 8}-01-0{1 + i % 8}"} for i in range(32)]
    Path("posts.jsonl").write_text("\n".join(map(json.dumps, rows)))
    with Path("posts.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    words = ["--as", "texts", "-k", 2, "--ngrams", 2, "--max-share", 0.9]
    program("fit", "posts.jsonl", *words, "-o", "out")
    program("fit", "posts.csv", *words, "-o", "two")
    assert Path("out/components.csv").read_bytes() == Path("two/components.csv").read_bytes()
    first = {row["topic"]: row["word"] for row in read("out/topics.csv") if row["rank"] == "1"}
    assert set(first) == {"Topic 1", "Topic 2"}
    assert [row["period"] for row in read("out/topics_over_time.csv")] == ["2010", "2011", "2012", "2013"]
    assert len(read("out/topic_documents.csv")) == 20
    assert "7.7% explained" not in Path("out/report.html").read_text()
    Path("new").mkdir()
    Path("new/10003").write_text("a goal in the match, and a zebra")  # without an end of name
    program("transform", "out", "new", "-o", "w.csv")
    program("transform", "two", "posts.csv", "-o", "w2.csv")
    assert len(read("w2.csv")) == 32
    Path("stop.txt").write_text("goal\nbank\n")
    program("fit", "posts.csv", *words, "--stop-words", "stop.txt", "-o", "three")
    assert "goal" not in Path("three/components.csv").read_text().splitlines()[0].split(",")


def test_a_field_is_taken_up_where_it_is_obvious_and_said(program: Program):
    counts = RNG.poisson(RNG.gamma(1.0, 50.0, (20, 2)) @ RNG.dirichlet([0.2] * 96, 2))
    write("sbs.csv", "sample", KINDS, [f"s{i}" for i in range(20)], counts)
    out, _ = program("fit", "sbs.csv", "-k", 2, "-o", "out")
    assert "Taken for mutational signatures: features are kinds of mutations; --as signatures also chooses" in out
    assert "--as none leaves that out" in out
    assert Path("out/exposures.csv").exists()
    out, _ = program("fit", "sbs.csv", "-k", 2, "-o", "plain", "--as", "none")
    assert "Taken for" not in out
    assert not Path("plain/exposures.csv").exists()
    said = program("fit", "sbs.csv", "-k", 2, "-o", "x", "--as", "music", code=2)[1]
    assert "--as must be one of cells, signatures, spectra, texts, none; got 'music'" in said


def test_what_profiles_write_is_known_to_the_folder():
    assert len(set(OUTPUTS)) == len(OUTPUTS)
    assert set(PROFILES) == {"cells", "signatures", "spectra", "texts"}


@pytest.mark.parametrize(
    ("columns", "rows", "turned"),
    [
        (["a", "b"], ["x", "y", "z"], False),
        (KINDS, ["x", "y"], False),
        ([*KINDS[:95], "other"], ["x", "y"], False),
        (["x", "y"], [*KINDS[:95], "other"], True),
        (None, None, False),
    ],
    ids=["other names", "kinds", "one other", "one other, turned", "no names"],
)
def test_signatures_are_turned_only_by_names(columns: list[str] | None, rows: list[str] | None, turned: bool):
    X = RNG.random((len(rows or "123"), len(columns or "12")))
    table = PROFILES["signatures"].shaped(Table(X, columns, rows), Settings(None, None))
    assert table.X.shape == (X.T if turned else X).shape


BANDS = [f"{400.5 + 5 * j}" for j in range(30)]


@pytest.mark.parametrize(
    ("columns", "rows", "turned"),
    [
        (BANDS, [str(i) for i in range(40)], False),
        ([str(i) for i in range(40)], BANDS, True),
        ([f"pixel {i}" for i in range(40)], BANDS, True),
        (None, BANDS, True),
        ([f"{2.5 * t}" for t in range(40)], BANDS, False),  # two axes: which one, only the user knows
    ],
    ids=["spectra as rows", "numbered columns", "named columns", "no header", "two axes"],
)
def test_spectra_are_turned_by_their_axis(columns: list[str] | None, rows: list[str], turned: bool):
    X = RNG.random((len(rows), len(columns or range(40))))
    table = PROFILES["spectra"].shaped(Table(X, columns, rows), Settings(None, None))
    assert table.X.shape == (X.T if turned else X).shape


def test_markers_tell_something():
    S = np.array([0.0, 0.5, 0.0, 0.7])
    assert cells._markers(S, 12).tolist() == [3, 1]


def test_stop_words_of_a_file_are_found_from_elsewhere(program: Program):
    Path("posts.jsonl").write_text("\n".join(json.dumps({"id": f"t{i}", "body": TEXTS[i % 4]}) for i in range(24)))
    Path("own.txt").write_text("striker")
    words = ["fit", "posts.jsonl", "--as", "texts", "-k", 2, "--no-judge", "--stop-words", "own.txt", "--max-iter"]
    program(*words, 5, "-o", "out")
    program(*words, 2, "-o", "short")
    assert "striker" not in Path("out/components.csv").read_text()
    Path("elsewhere").mkdir()
    with contextlib.chdir("elsewhere"):
        program("fit", "--from", "../out", "-o", "again")
        program("fit", "--resume", "-o", "../short", "--max-iter", 5)
        for made in ("again", "../short"):
            assert Path(made, "components.csv").read_bytes() == Path("../out/components.csv").read_bytes()
        program("transform", "../out", "../posts.jsonl", "-o", "weights.csv")


def test_ctrl_c_during_starts_leaves_nothing_half_done(program: Program, monkeypatch: pytest.MonkeyPatch):
    def watch(now: Progress, *_: object) -> None:
        if now.n_iter:
            raise KeyboardInterrupt

    monkeypatch.setattr(loop, "WATCHERS", [watch])
    said = program("fit", "data.csv", "-k", 2, "-m", "hals", "--starts", 3, "-o", "deep/out", code=130)[1]
    assert "interrupted before there was anything to keep" in said
    assert not Path("deep").exists()


def test_known_signatures_stay_and_a_new_one_is_found_beside_them(program: Program):
    rng = np.random.default_rng(0)
    known = rng.dirichlet([0.1] * 96, 4)
    counts = rng.poisson(rng.gamma(1.0, 2000.0, (30, 3)) @ known[:3])
    write("sbs.csv", "sample", KINDS, [f"s{i}" for i in range(30)], counts)
    write("cosmic.csv", "Type", ["SBS1", "SBS5"], KINDS, known[:2].T)
    words = ["fit", "sbs.csv", "--as", "signatures", "-k", 3, "--reference", "cosmic.csv", "--no-judge"]
    program(*words, "--fixed", "SBS1, SBS5", "-o", "out")
    table = read("out/signatures.csv")
    assert list(table[0])[1:] == ["SBS1", "SBS5", "Signature 3"]
    found = np.array([[float(row[name]) for name in list(row)[1:]] for row in table]).T
    np.testing.assert_allclose(found[:2], known[:2], atol=1e-5)
    assert found[2] @ known[2] / np.linalg.norm(found[2]) / np.linalg.norm(known[2]) > 0.99
    assert json.loads(Path("out/manifest.json").read_text())["parameters"]["fixed"] == "SBS1, SBS5"
    Path("elsewhere").mkdir()
    with contextlib.chdir("elsewhere"):
        program("fit", "--from", "../out", "-o", "again")
        assert Path("again/signatures.csv").read_bytes() == Path("../out/signatures.csv").read_bytes()
    for flags, said in (
        (["--fixed", "SBS9"], "--fixed: cosmic.csv has no 'SBS9'; it has SBS1, SBS5"),
        (["--fixed", "all", "-m", "spa"], "--fixed is for --method hals, anls, likelihood; spa cannot keep a part"),
        (["--fixed", "all", "-k", 1], "-k 1 counts the 2 parts of --fixed too"),
        (["--fixed", "all", "--preprocess", "log1p"], "--preprocess log1p makes other numbers of the data"),
        (["--fixed", "all", "-k", 2, "--starts", 3], "all 2 parts are of --fixed"),
    ):
        assert said in " ".join(program(*words, *flags, "-o", "o2", code=2)[1].split())
    said = program("fit", "sbs.csv", "--as", "signatures", "-k", 3, "--fixed", "SBS1", "-o", "o2", code=2)[1]
    assert "--fixed names parts of --reference" in said


def test_starts_agree_and_the_table_says_how_far(program: Program):
    rows = RNG.poisson(RNG.gamma(0.3, 9.0, (60, 3)) @ RNG.dirichlet([0.1] * 20, 3) * 9)
    write(
        "genes.csv",
        "cell",
        ["MALAT1", "LYZ", "NKG7", *(f"g{j}" for j in range(17))],
        [f"c{i}" for i in range(60)],
        rows,
    )
    program("fit", "genes.csv", "--as", "cells", "-k", 3, "--starts", 4, "--varying", 15, "--no-judge", "-o", "out")
    table = read("out/consensus.csv")
    assert [row["part"] for row in table] == list(read("out/usage.csv")[0])[1:]
    assert all(0.9 < float(row["stability"]) <= 1.0 for row in table)
    assert "Agreement of starts" in Path("out/report.html").read_text()
    assert len(read("out/components.csv")[0]) - 1 == 15
    again = program("fit", "--from", "out", "-o", "again")
    assert Path("again/components.csv").read_bytes() == Path("out/components.csv").read_bytes(), again
    words = ["fit", "genes.csv", "-k", 3, "--no-judge", "-o"]
    said = program(*words, "out", "-m", "spa", "--starts", 4, "--overwrite", code=2)[1]
    assert "--starts is for methods that begin at a start" in said
    assert read("out/consensus.csv") == table  # the run that would have been replaced
    lines = Path("genes.csv").read_text().replace(",g0,g1,", ",ACTB,B2M,").splitlines()
    Path("turned.csv").write_text("\n".join(map(",".join, zip(*(line.split(",") for line in lines), strict=True))))
    words = ["fit", "turned.csv", "--as", "cells", "-k", 3, "--varying", 15, "--no-judge", "-o", "o3"]
    assert "give --transpose too" in program(*words, code=2)[1]
    lines[3] = lines[3].replace(",", ",nan,", 1).rsplit(",", 1)[0]
    Path("holes.csv").write_text("\n".join(lines))
    said = program("fit", "holes.csv", "-k", 3, "--varying", 15, "--no-judge", "-o", "o4", code=2)[1]
    assert "feature 'MALAT1' has an entry that is not known" in " ".join(said.split())


def test_stop_words_of_a_language(program: Program):
    Path("posts.csv").write_text(
        "id,text\n"
        + "".join(f"{i},der die das Hund und die Katze mit {w} im Garten\n" for i, w in enumerate(["Ball", "Maus"] * 4))
    )
    program("fit", "posts.csv", "--as", "texts", "-k", 2, "--stop-words", "german", "--no-judge", "-o", "out")
    assert {row["word"] for row in read("out/topics.csv")} <= {"hund", "katze", "ball", "maus", "garten"}
    said = program("fit", "posts.csv", "--as", "texts", "-k", 2, "--stop-words", "klingon", "-o", "o2", code=2)[1]
    assert "--stop-words is english, dutch, french, german" in " ".join(said.split())


@pytest.mark.parametrize("missing", [0, 1])
def test_kinds_of_mutations_that_are_not_there_are_told(program: Program, missing: int):
    """COSMIC's were compared over the rest, in silence."""
    kinds = [f"{a}[{b}]{c}" for b in ("C>A", "C>G", "C>T", "T>A", "T>C", "T>G") for a in "ACGT" for c in "ACGT"]
    counts = np.random.default_rng(0).poisson(20.0, (6, 96))[:, missing:]
    lines = [",".join(["sample", *kinds[missing:]])]
    lines += [",".join([f"s{i}", *map(str, row)]) for i, row in enumerate(counts.tolist())]
    Path("sbs96.csv").write_text("\n".join(lines) + "\n")
    out, _ = program("fit", "sbs96.csv", "--as", "signatures", "-k", 1, "--no-judge", "-o", "out")
    assert ("without 1 of the 96 kinds of mutations" in " ".join(out.split())) == bool(missing)
