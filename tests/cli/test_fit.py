"""The program ``partwise fit``: the same bits as the library, whatever happens on the way."""

from __future__ import annotations

import csv
import errno
import json
import os
import signal
import subprocess
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import typer
from PIL import Image

import partwise as pw
from partwise.cli import results
from partwise.cli.app import app
from partwise.datasets.loaders.text import weigh
from partwise.estimators import saving
from partwise.estimators.catalog import METHODS
from partwise.io.preparation import KINDS
from partwise.io.writing import WRITERS
from partwise.report.facts import top_features, without_rounding
from partwise.runs import Checkpoints, RunFolder, read_state, write_state
from partwise.sources.memory import BlockedSource
from partwise.starts import INITS
from tests.cli.helpers import FEATURES, SAMPLES, X, manifest, write_csv

Program = Callable[..., tuple[str, str]]
FILES = [
    "components.csv",
    "features.csv",
    "history.csv",
    "manifest.json",
    "model.safetensors",
    "report.html",
    "weights.csv",
]
COUNTS = np.random.default_rng(2).poisson(1.0, (50, 3)) @ np.random.default_rng(3).poisson(1.0, (3, 9)).astype(float)


class Killed(BaseException):
    """Nobody catches it, as nobody catches a kill."""


def names(folder: str) -> list[str]:
    return sorted(path.name for path in Path(folder).iterdir())


def components(folder: str) -> np.ndarray:
    return pw.load(Path(folder, "model.safetensors")).components_


# --- what it tells ------------------------------------------------------------------------------------------


def test_the_noise_is_told(program: Program) -> None:
    rng = np.random.default_rng(0)
    np.save("photons.npy", rng.poisson(20.0 * rng.random((200, 4)) @ rng.random((4, 100))))
    program("fit", "photons.npy", "-k", 4, "-m", "spa", "-o", "out")
    noise = manifest("out")["noise"]
    assert noise == pw.noise.name_noise("photons.npy", 4).facts() | {
        "looked_at": [200, 100],
        "clipped_features": [],
        "sentence": "the noise in this table looks like counting noise",
    }
    assert "The noise in this table looks like counting noise." in Path("out", "report.html").read_text("utf-8")


# --- what it finds ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "model"),
    [
        (["-m", "hals"], lambda: pw.HALS(3, random_state=0)),
        (["-m", "facets", "--seed", "4"], lambda: pw.Facets(3, random_state=4)),
        (["-m", "MU", "--set", "beta_loss=1.5", "--tol", "1e-3"], lambda: pw.MU(3, beta_loss=1.5, tol=1e-3)),
        (["-m", "conservative", "--set", "w=[0.5, 100]"], lambda: pw.ConservativeNMF(3, w=[0.5, 100], random_state=0)),
        (["-m", "spa", "--set", "normalize=true"], lambda: pw.SPA(3, normalize=True)),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_the_library_finds_the_same(words: list[str], model: Callable[[], Any], program: Program) -> None:
    program("fit", "data.csv", "-k", 3, *words, "-o", "out")
    data = pw.read("data.csv")
    expected = model().fit(data.X)
    found = pw.load("out/model.safetensors")
    np.testing.assert_array_equal(found.components_, expected.components_)
    written, weights = pw.read("out/components.csv"), pw.read("out/weights.csv")
    np.testing.assert_array_equal(written.X, expected.components_)
    np.testing.assert_array_equal(weights.X, expected.transform(data.X))
    assert written.feature_names == FEATURES
    with Path("out/features.csv").open(newline="") as file:
        ranked = [(row["part"], row["feature"]) for row in csv.DictReader(file)]
    tops = top_features(without_rounding(found.components_), 50)  # the report's
    assert ranked == [
        (part, FEATURES[i])
        for part, h, top in zip(found.part_names_, without_rounding(found.components_), tops, strict=True)
        for i in top
        if h[i] != 0.0
    ]
    if not (found.components_ < 0.0).any():
        assert ranked[:5] == [("Part 1", name) for name, _ in found.top_features(0, 5)]
    assert weights.sample_names == SAMPLES
    assert weights.feature_names == written.sample_names == ["Part 1", "Part 2", "Part 3"]
    assert names("out") == [name for name in FILES if name != "history.csv" or hasattr(expected, "history_")]
    if hasattr(expected, "history_"):
        table = pw.read("out/history.csv")
        objective = table.X[:, table.feature_names.index("objective")]
        np.testing.assert_array_equal(objective, expected.history_["objective"])


@pytest.mark.parametrize("method", METHODS)
def test_every_method(method: str, program: Program) -> None:
    np.save("counts.npy", COUNTS)
    out, _ = program("fit", "counts.npy", "-k", 2, "-m", method, "-o", "out", "--json", "-q")
    told = json.loads(out)
    assert told["status"] == "complete"
    assert 0.0 <= told["error"] < 1.0
    assert told["n_components"] == len(components("out"))
    assert Path(told["outputs"]["report"]).read_text().rstrip().endswith("</html>")


@pytest.mark.parametrize("kind", ["tfidf", "log1p", "unit"])
def test_preprocess(kind: str, program: Program) -> None:
    np.save("counts.npy", COUNTS)
    program("fit", "counts.npy", "-k", 2, "--preprocess", kind, "-o", "out")
    prepared = {
        "tfidf": lambda: weigh(sp.csr_array(COUNTS), "tfidf").toarray(),
        "log1p": lambda: np.log1p(COUNTS),
        "unit": lambda: COUNTS / np.maximum(np.linalg.norm(COUNTS, axis=1, keepdims=True), 1e-300),
    }[kind]()
    model = pw.load("out/model.safetensors")
    assert model.preparation_.kind == kind
    error = np.linalg.norm(prepared - pw.read("out/weights.csv").X @ model.components_) / np.linalg.norm(prepared)
    assert error == pytest.approx(model.reconstruction_error_, rel=1e-6)


@pytest.mark.parametrize(("how", "kind"), [("auto", "poisson"), ("noise", "poisson"), ("none", "none")])
def test_weighing(how: str, kind: str, program: Program) -> None:
    rng = np.random.default_rng(0)
    counts = rng.poisson(rng.gamma(0.4, 200.0, (60, 2)) @ rng.dirichlet([0.5] * 20, 2)) + 1.0 * np.eye(60, 20)
    np.save("counts.npy", counts)
    program("fit", "counts.npy", "-k", 2, "-m", "hals", "--weigh", how, "-o", "out")
    plain = quietly_fitted(pw.HALS(2, random_state=0).set_weighing(None if how == "none" else how), counts)
    model = pw.load("out/model.safetensors")
    np.testing.assert_allclose(model.components_, plain.components_, rtol=1e-9)
    np.testing.assert_allclose(pw.read("out/weights.csv").X, plain.transform(counts), rtol=1e-6, atol=1e-9)
    assert json.loads(program("inspect", "out", "--json")[0])["weighing"] == kind
    assert f"--weigh {how}" in json.loads(Path("out/manifest.json").read_text())["command"]
    program("fit", "--from", "out", "-o", "again")
    assert pw.load("again/model.safetensors").components_.tobytes() == model.components_.tobytes()


def quietly_fitted(model: Any, X: np.ndarray) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X)


@pytest.mark.parametrize("kind", ["npy", "sparse", "parts"])
def test_data_on_disk(kind: str, program: Program) -> None:
    rows = np.vstack([COUNTS] * 4)
    np.save("X.npy", rows)
    sp.save_npz("X.npz", sp.csr_array(rows))
    Path("parts").mkdir()
    for i in (0, 1):
        sp.save_npz(f"parts/{i}.npz", sp.csr_array(rows[100 * i : 100 * i + 100]))
    data = {"npy": "X.npy", "sparse": "X.npz", "parts": "parts"}[kind]
    program(
        "fit", "X.npy" if kind == "npy" else "X.npz", "-k", 3, "--no-judge", "--preprocess", "tfidf", "-o", "memory"
    )
    out, _ = program("fit", data, "-k", 3, "--no-judge", "--preprocess", "tfidf", "--in-memory", 0, "-o", "disk")
    assert ("on disk and read in blocks" in out) == (kind != "sparse")
    np.testing.assert_allclose(components("disk"), components("memory"), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(pw.read("disk/weights.csv").X, pw.read("memory/weights.csv").X, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("suffix", ["parquet", "npy"])
def test_weights_in_other_formats(suffix: str, program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    program("fit", "data.csv", "-k", 3, "-m", "spa", "-o", "csv")
    program("fit", "data.csv", "-k", 3, "-m", "spa", "--weights-format", suffix, "-o", "other")
    np.testing.assert_array_equal(pw.read(f"other/weights.{suffix}").X, pw.read("csv/weights.csv").X)
    monkeypatch.setattr(results, "MANY", 100)
    program("fit", "data.csv", "-k", 3, "-m", "spa", "-o", "many")
    assert "weights.parquet" in names("many")


def test_start_from_a_file(program: Program) -> None:
    program("fit", "data.csv", "-k", 3, "-m", "spa", "-o", "start")
    expected = pw.HALS(3, init=components("start")).fit(X).components_
    for i, start in enumerate(["start", "start/model.safetensors", "start/components.csv"]):
        program("fit", "data.csv", "-m", "hals", "--init", start, "-o", f"out{i}")
        np.testing.assert_array_equal(components(f"out{i}"), expected)
    for i in (0, 2):
        program("fit", "--from", f"out{i}/manifest.json", "-o", f"again{i}")
        np.testing.assert_array_equal(components(f"again{i}"), expected)
    Path("start/components.csv").write_text(Path("start/components.csv").read_text().replace(",0.", ",1."))
    _, said = program("fit", "--from", "out2/manifest.json", "-o", "other", code=2)
    assert "the file of --init has changed" in said


def test_features_of_the_start_are_matched_by_name(program: Program) -> None:
    program("fit", "data.csv", "-k", 3, "-m", "spa", "-o", "start")
    start, order = components("start"), np.arange(len(FEATURES))[::-1]
    write_csv("turned.csv", X[:, order], [FEATURES[j] for j in order], SAMPLES)
    program("fit", "turned.csv", "-m", "hals", "--init", "start", "-o", "out")
    np.testing.assert_array_equal(components("out"), pw.HALS(3, init=start[:, order]).fit(X[:, order]).components_)
    write_csv("other.csv", X, ["new", *FEATURES[1:]], SAMPLES)
    _, said = program("fit", "other.csv", "-m", "hals", "--init", "start", "-o", "other", code=2)
    assert "--init start: its features are not those of the data: 'new' is not among them" in said


def test_a_fault_of_the_program_is_told_without_a_traceback(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError("oh no")

    monkeypatch.setattr("partwise.cli.session.build_model", broken)
    out, said = program("fit", "data.csv", "-k", 3, "--json", code=1)
    assert "a fault of partwise itself (RuntimeError: oh no)" in said
    assert json.loads(out)["exit_code"] == 1
    monkeypatch.setenv("PARTWISE_TRACEBACK", "1")
    with pytest.raises(RuntimeError, match="oh no"):
        program("fit", "data.csv", "-k", 3)


def test_names_from_files(program: Program) -> None:
    np.save("X.npy", X)
    Path("words.txt").write_text("\n".join(FEATURES))
    Path("short.txt").write_text("a\nb\n")
    program("fit", "X.npy", "-k", 2, "-m", "spa", "--feature-names", "words.txt", "-o", "out")
    assert pw.read("out/components.csv").feature_names == FEATURES
    _, said = program("fit", "X.npy", "-k", 2, "--sample-names", "short.txt", "-o", "no", code=2)
    assert "short.txt" in said
    assert not Path("no").exists()


def test_names_that_are_no_text(program: Program) -> None:
    os.mkdir(b"pic\xfftures")
    for i in range(4):
        pixels = (np.random.default_rng(i).random((3, 4)) * 255).astype(np.uint8)
        Image.fromarray(pixels).save(os.fsdecode(b"pic\xfftures/\xff%d.png" % i))
    out, _ = program("fit", os.fsdecode(b"pic\xfftures"), "-k", 2, "-o", "out")
    assert "pic?tures" in out
    assert pw.read("out/weights.csv").sample_names == ["?0.png", "?1.png", "?2.png", "?3.png"]
    _, said = program("fit", os.fsdecode(b"no\xff"), "-k", 2, "-o", "no", code=2)
    assert "no?: there is no such file" in said


def test_names_that_are_numbers(program: Program) -> None:
    np.save("X.npy", X)
    for file, count in (("waves.txt", X.shape[1]), ("times.txt", len(X))):
        Path(file).write_text("\n".join(str(400 + i) for i in range(count)))
    words = ["fit", "X.npy", "-k", 3, "-m", "hals", "--feature-names", "waves.txt", "--sample-names", "times.txt"]
    program(*words, "-o", "out")
    written, weights = pw.read("out/components.csv"), pw.read("out/weights.csv")
    np.testing.assert_array_equal(written.X, components("out"))
    assert written.feature_names == [str(400 + i) for i in range(X.shape[1])]
    assert weights.X.shape == (len(X), 3)
    assert weights.sample_names == [str(400 + i) for i in range(len(X))]
    program("fit", "X.npy", "-m", "hals", "--init", "out/components.csv", "-o", "again")
    assert len(components("again")) == 3


# --- what it says -------------------------------------------------------------------------------------------


def test_summary_comes_first(program: Program) -> None:
    out, _ = program("fit", "data.csv", "-k", 3, "-m", "hals", "-o", "out")
    assert out.startswith("file         data.csv (delimited text)\n")
    assert "60 samples (rows) x 12 features" in out
    assert "Stopped: KKT residual" in out
    assert "out/report.html" in out
    assert program("fit", "data.csv", "-k", 3, "-m", "hals", "-o", "other", "-q") == ("", "")


def test_json_has_warnings_as_sentences(program: Program) -> None:
    rows = X.copy()
    rows[5] = 0.0
    np.save("zero.npy", rows)
    out, said = program("fit", "zero.npy", "-k", 3, "-m", "hals", "--max-iter", 2, "-o", "out", "--json")
    told = json.loads(out)
    assert told["converged"] is False
    assert told["warnings"][0].startswith("The data has 1 all-zero row(s): 5;")
    assert told["warnings"][1].startswith("--max-iter 2 ended the fit, with a KKT residual")
    assert all(sentence.endswith(".") for sentence in told["warnings"])
    assert manifest("out")["warnings"] == told["warnings"]
    assert "zero.npy (npy)" in said  # the summary, beside the result
    page = Path("out/report.html").read_text()
    assert "1 sample is all zero and has no weights: row 5." in page
    assert "all-zero" not in page  # once is enough
    out, _ = program("fit", "nowhere.npy", "-k", 3, "-m", "hals", "--json", code=2)
    told = json.loads(out)
    assert told["message"] == "nowhere.npy: there is no such file or folder"
    assert told["error"] == {"kind": "missing-file", "parameter": None, "place": {"file": "nowhere.npy"}}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["fit", "data.csv", "-k", "0", "-m", "hals"], "'-k'"),
        (["fit", "--nonsense"], "No such option"),
        (["inspect"], "Missing argument"),
        (["fit", "data.csv", "-k", "2", "-m", "hals", "-o", "a" * 300], "File name too long"),
        (["transform", "a" * 300, "data.csv"], "File name too long"),
        (["fit", "--from", "a" * 300], "File name too long"),
    ],
)
def test_every_failure_is_json_too(words: list[str], message: str, program: Program) -> None:
    code = 1 if "too long" in message else 2
    out, said = program(*words, "--json", code=code)
    told = json.loads(out)
    assert message in told["message"]
    assert (told["status"], told["exit_code"]) == ("failed", code)
    assert message in said


def test_ctrl_c_is_json_too(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    program("fit", "data.csv", "-k", 3, "-m", "spa", "-o", "out", "-q")
    monkeypatch.setattr(pw.SPA, "_decoder", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    out, _ = program("transform", "out", "data.csv", "-o", "w.csv", "--json", code=130)
    assert json.loads(out)["status"] == "interrupted"


def test_nobody_reads(folder: Path) -> None:
    """As with ``| head``: the fit is worth finishing."""
    start = [sys.executable, "-c", "from partwise.cli import main; main()"]
    reader, writer = os.pipe()
    os.close(reader)
    words = ["fit", "data.csv", "-k", "3", "-m", "spa", "-o", "out"]
    ended = subprocess.run([*start, *words], stdout=writer, stderr=subprocess.PIPE, timeout=120)
    os.close(writer)
    # a bar that is not shown leaves an empty line in rich before 14.3
    assert (ended.returncode, ended.stderr.strip()) == (0, b"")
    assert manifest("out")["status"] == "complete"


def test_names_do_not_steer_the_terminal(program: Program) -> None:
    model = pw.SPA(2).fit(X)
    model.feature_names_in_ = np.array(["\x1b[31mred", *FEATURES[1:]], dtype=object)
    pw.save(model, "model.safetensors")
    out, _ = program("inspect", "model.safetensors", "--top", 12)
    assert "?[31mred" in out
    assert "\x1b" not in out


@pytest.mark.parametrize("command", ["fit", "transform", "inspect", "methods", "nmf", "demo"])
def test_help_is_complete(command: str, program: Program) -> None:
    assert "Usage" in program(command, "--help")[0]
    found = typer.main.get_command(app).commands[command]
    assert [one.name for one in found.params if not one.help] == []
    assert found.help


def test_help_names_every_start_and_preparation(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    said = program("fit", "--help")[0]
    assert f"{', '.join(INITS)}, or a file" in said
    assert [kind for kind in KINDS if kind not in said] == []
    assert [f".{kind}" for kind in results.FORMATS] == list(WRITERS)


def test_strict(program: Program) -> None:
    program("fit", "data.csv", "-k", 3, "-m", "hals", "--max-iter", 2, "-o", "out")
    program("fit", "data.csv", "-k", 3, "-m", "hals", "--max-iter", 2, "-o", "strict", "--strict", code=3)
    program("fit", "data.csv", "-k", 3, "-m", "hals", "-o", "converged", "--strict")
    assert manifest("strict")["status"] == "complete"
    out, _ = program("fit", "-o", "strict", "--strict", "--resume", "--json", code=3)  # nothing to do is no excuse
    first, _ = program("fit", "data.csv", "-k", 3, "-m", "hals", "-o", "first", "--json")
    assert json.loads(out).keys() == json.loads(first).keys()


def test_manifest(program: Program) -> None:
    program("fit", "data.csv", "-k", 3, "-m", "facets", "--set", "floor=1.5", "-o", "out")
    told = manifest("out")
    assert told["status"] == "complete"
    assert told["command"] == "partwise fit data.csv --method facets -k 3 --set floor=1.5 -o out"
    assert told["data"]["path"] == str(Path("data.csv").absolute())
    assert told["data"]["shape"] == [60, 12]
    assert told["parameters"]["floor"] == 1.5
    assert told["parameters"]["random_state"] == 0
    assert set(told["outputs"]) == set(FILES) - {"manifest.json"}
    assert {"versions", "machine", "timings"} <= set(told)
    assert pw.io.model_info("out/model.safetensors")["provenance"]["data"]["sha256"] == told["data"]["sha256"]


@pytest.mark.parametrize("method", ["hals", "spa"])
@pytest.mark.parametrize("disk", [False, True])
def test_each_thing_is_done_once(method: str, disk: bool, program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    passes: Counter[str] = Counter()
    proper = {name: getattr(BlockedSource, name) for name in ("reduce", "map_rows")}

    def counting(verb: str) -> Callable[..., Any]:
        def call(self: Any, block_fn: Any, *rows: Any, **how: Any) -> Any:
            passes[getattr(block_fn, "func", block_fn).__name__] += 1
            return proper[verb](self, block_fn, *rows, **how)

        return call

    for verb in proper:
        monkeypatch.setattr(BlockedSource, verb, counting(verb))
    saved, save = [], saving.save
    monkeypatch.setattr(saving, "save", lambda *given, **how: (saved.append(given), save(*given, **how)))
    np.save("X.npy", X)
    words = ["--in-memory", 0] if disk else []
    program("fit", "X.npy", "-k", 3, "-m", method, "--no-judge", "-o", "out", *words)
    assert passes["_inspect_block"] == 1
    assert passes["decode_block"] == 1
    assert passes["_decoded_block"] == 0
    assert passes["_look"] == 1
    assert len(saved) == 1


# --- again --------------------------------------------------------------------------------------------------


def test_from_repeats_bit_by_bit(program: Program, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program("fit", "data.csv", "-k", 3, "-m", "kmeans", "--seed", 5, "--preprocess", "unit", "-o", "out")
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")
    program("fit", "--from", "../out/manifest.json", "-o", "again")
    program("fit", "--from", "../out")
    for other in ("again", "../out-again"):
        assert Path(other, "components.csv").read_bytes() == Path("../out/components.csv").read_bytes()
        assert Path(other, "weights.csv").read_bytes() == Path("../out/weights.csv").read_bytes()
    _, said = program("fit", "--from", "../out", "-k", 4, "-o", "other", code=2)
    assert "k was 3 in that run and is 4 now" in said


def test_from_refuses_other_data(program: Program) -> None:
    program("fit", "data.csv", "-k", 3, "--no-judge", "-o", "out")
    write_csv("data.csv", X, ["other", *FEATURES[1:]], SAMPLES)
    _, said = program("fit", "--from", "out", "-o", "again", code=2)
    assert "data.csv has changed since that run (its names are others" in said
    write_csv("data.csv", 2 * X, FEATURES, SAMPLES)
    _, said = program("fit", "--from", "out", "-o", "again", code=2)
    assert "its numbers are others" in said
    assert not Path("again").exists()
    before = Path("out/manifest.json").read_bytes()
    program("fit", "--from", "out", "-o", "out", "--overwrite", code=2)
    assert Path("out/manifest.json").read_bytes() == before
    assert names("out") == FILES
    program("fit", "--from", "out", "-o", "again", "--force")
    np.testing.assert_allclose(components("again"), 2 * components("out"), rtol=1e-6)


@pytest.mark.parametrize(
    "change",
    [{"job": {}}, {"schema": 99}, {"resumed": None}, {"job.k": "three"}, {"job.reading": {"x": 1}}, {"job.options": []}]
    + [{"job.preprocess": "exec"}, {"job.weights_format": "pickle"}, {"job.method": "nope"}, {"job.image_shape": [1]}]
    + [{"job.image_shape": [-3, -4]}, {"job.image_shape": []}, {"job.reading": {"min_count": "x"}}, {"sessions": None}]
    + [{"warnings": [1]}, {"timings": {"fit": "x"}}, {"job.reading": []}, {"job.reading": {"delimiter": 5}}],
    ids=str,
)
def test_from_a_manifest_that_is_none(change: dict[str, Any], program: Program) -> None:
    program("fit", "data.csv", "-k", 2, "-m", "spa", "-o", "out")
    told = manifest("out")
    for place, value in change.items():
        *outer, last = place.split(".")
        (told[outer[0]] if outer else told)[last] = value
    Path("odd.json").write_text(json.dumps(told))
    program("fit", "--from", "odd.json", "-o", "again", code=2)
    assert not Path("again").exists()


def test_from_a_manifest_without_end(program: Program) -> None:
    Path("deep.json").write_text("[" * 100_000)
    assert "deep.json is not a manifest" in program("fit", "--from", "deep.json", "-o", "again", code=2)[1]


def test_from_the_folder_one_is_in(program: Program, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program("fit", "data.csv", "-k", 2, "-m", "spa", "-o", "out")
    monkeypatch.chdir(folder / "out")
    program("fit", "--from", ".")
    assert Path("../out-again/weights.csv").read_bytes() == Path("weights.csv").read_bytes()


def test_what_is_read_is_not_replaced(program: Program) -> None:
    program("fit", "data.csv", "-k", 3, "-m", "hals", "-o", "out")
    before = {name: Path("out", name).read_bytes() for name in names("out")}
    for words in (
        ["out/weights.csv", "-k", 2],
        ["data.csv", "-m", "hals", "--init", "out"],
        ["data.csv", "-m", "hals", "--init", "out/components.csv"],
    ):
        _, said = program("fit", *words, "-o", "out", "--overwrite", code=2)
        assert "would be replaced by the results" in said
    assert before == {name: Path("out", name).read_bytes() for name in names("out")}


def test_one_program_at_a_time(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    with RunFolder(Path("out")):
        _, said = program("fit", "data.csv", "-k", 3, "--no-judge", "-o", "out", code=1)
    assert "cannot write into out: another partwise is writing into it" in said
    program("fit", "data.csv", "-k", 3, "--no-judge", "-o", "out")


def test_an_earlier_run_is_safe(program: Program) -> None:
    program("fit", "data.csv", "-k", 3, "--no-judge", "-o", "out")
    before = {name: Path("out", name).read_bytes() for name in names("out")}
    _, said = program("fit", "data.csv", "-k", 2, "--no-judge", "-o", "out", code=2)
    assert "give --resume to go on with it, --overwrite to replace it" in said
    out, _ = program("fit", "--resume", "-o", "out")
    assert out == "out is finished: there is nothing to go on with.\n"
    _, said = program("fit", "data.csv", "-k", 2, "--no-judge", "-o", "out", "--resume", code=2)
    assert "k was 3 in that run and is 2 now" in said
    assert before == {name: Path("out", name).read_bytes() for name in names("out")}
    program("fit", "data.csv", "-k", 2, "-m", "spa", "-o", "out", "--overwrite")
    assert len(components("out")) == 2
    assert "history.csv" not in names("out")  # that of the run before


# --- killed and interrupted ---------------------------------------------------------------------------------

LIMITS = ["-k", 3, "--no-judge", "--tol", 0, "--max-iter", 40]
LONG = ["-m", "hals", *LIMITS]


def stop_at(iteration: int, stop: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Let something happen there, after a checkpoint; every iteration that has a state has one."""
    proper = Checkpoints.__call__

    def callback(self: Any, progress: Any) -> Any:
        wish = proper(self, progress)
        if progress.n_iter == iteration:
            stop()
        return wish

    monkeypatch.setattr(Checkpoints, "__call__", callback)
    monkeypatch.setattr(Checkpoints, "share", 1.0)


def kill() -> None:
    raise Killed


def ctrl_c() -> None:
    signal.raise_signal(signal.SIGINT)


def same_bits(one: str, other: str) -> None:
    """Two runs are the same in every bit but the clock's."""
    first, second = (pw.load(Path(folder, "model.safetensors")) for folder in (one, other))
    for name in ("components_", "part_shares_"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))
    assert list(first.history_) == list(second.history_)
    for name in set(first.history_) - {"time"}:
        np.testing.assert_array_equal(first.history_[name], second.history_[name])
    assert Path(one, "weights.csv").read_bytes() == Path(other, "weights.csv").read_bytes()
    assert (first.stop_, first.reconstruction_error_) == (second.stop_, second.reconstruction_error_)
    assert first.get_params() == second.get_params()


RESUMED = {
    "facets": ["-m", "facets", "--set", "nonnegative=true", *LIMITS],
    "archetypes": ["-m", "archetypes", "--set", "starts=2", "--set", "trim=0.5", *LIMITS],
    "minvol": ["-m", "minvol", *LIMITS],
    "and": ["-m", "and", *LIMITS],
    "bayes": ["-m", "bayes", *LIMITS],
    "hals": ["-m", "hals", *LIMITS],
    "likelihood": ["-m", "likelihood", *LIMITS],
    "anls": ["-m", "anls", *LIMITS],
    "mu": ["-m", "mu", "--set", "beta_loss=kullback-leibler", *LIMITS],
    "minibatch": ["-m", "minibatch", *LIMITS],
    "purification": ["-m", "purification", *LIMITS],
    "tsvdnmf": ["-m", "tsvdnmf", "--set", "refine=true", *LIMITS],
    "conservative": ["-m", "conservative", "-k", 3, "--set", "batch_size=100", "--set", "max_passes=20"],
    "shuffled": [
        "-m",
        "conservative",
        "-k",
        3,
        "--set",
        "batch_size=100",
        "--set",
        "max_passes=20",
        "--set",
        "shuffle=true",
    ],
}


def test_every_iterative_method_is_resumed() -> None:
    iterative = {name for name, method in METHODS.items() if "callbacks" in method.kind().get_params(deep=False)}
    assert iterative - {words[1] for words in RESUMED.values()} == {"tsvd", "kmeans"}  # which are one step


@pytest.mark.parametrize("words", RESUMED.values(), ids=RESUMED)
def test_killed_and_resumed(words: list[Any], program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    program("fit", "data.csv", *words, "-o", "whole")
    with monkeypatch.context() as patch:
        stop_at(4, kill, patch)
        with pytest.raises(Killed):
            program("fit", "data.csv", *words, "-o", "out", "--checkpoint-every", 0)
    assert manifest("out")["status"] == "running"
    data = Path("data.csv").read_bytes()
    write_csv("data.csv", 2 * X, FEATURES, SAMPLES)
    program("fit", "--resume", "-o", "out", code=2)
    assert names("out") == ["checkpoint.safetensors", "manifest.json"]
    Path("data.csv").write_bytes(data)
    assert read_state(Path("out/checkpoint.safetensors"))[1]["n_iter"] == 4
    program("fit", "data.csv", "--resume", "-o", "out")
    assert names("out") == names("whole")
    assert manifest("out")["resumed"] == [4]
    assert len(manifest("out")["sessions"]) == 2
    same_bits("out", "whole")


@pytest.mark.parametrize("words", RESUMED.values(), ids=RESUMED)
def test_ctrl_c_and_resumed(words: list[Any], program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    program("fit", "data.csv", *words, "-o", "whole")
    with monkeypatch.context() as patch:
        stop_at(5, ctrl_c, patch)
        out, said = program("fit", "data.csv", *words, "-o", "out", "--json", code=130)
    assert "partwise fit --resume -o out goes on" in said
    told = json.loads(out)
    assert (told["status"], told["converged"]) == ("interrupted", False)
    assert told["stop"] == {"kind": "interrupted", "n_iter": 6} == manifest("out")["fit"]["stop"]
    assert manifest("out")["fit"]["stop_reason"] == "interrupted by the user after iteration 6"
    assert names("out") == sorted([*FILES, "checkpoint.safetensors"])
    assert pw.load("out/model.safetensors").transform("data.csv").shape == (60, 3)
    program("fit", "--resume", "-o", "out")
    assert manifest("out")["status"] == "complete"
    limited = manifest("out")["fit"]["stop"]["kind"] == "max_iter"  # more may be allowed, with the state of the last
    assert names("out") == sorted([*FILES, *["checkpoint.safetensors"] * limited])
    same_bits("out", "whole")


@pytest.mark.parametrize("at", [2, 4], ids=["in a start", "behind the starts"])
def test_ctrl_c_beside_many_starts(at: int, program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    """A start that Ctrl-C ends is none that others may agree with; behind the starts their agreement is kept."""
    words = [*LONG, "--as", "cells", "--starts", 3]
    program("fit", "data.csv", *words, "-o", "whole")
    fits, proper = [], pw.HALS._begin

    def begin(self: Any, *given: Any) -> Any:
        fits.append(1)
        for progress in proper(self, *given):
            if len(fits) == at and not broken:
                broken.append(1)
                ctrl_c()
            yield progress

    broken: list[int] = []
    monkeypatch.setattr(pw.HALS, "_begin", begin)
    _, said = program("fit", "data.csv", *words, "-o", "out", code=130)
    if at == 2:
        assert "interrupted before there was anything to keep" in said
        assert len(fits) == 2
        assert not Path("out").exists()
        return
    assert "--resume -o out goes on" in said
    program("fit", "--resume", "-o", "out")
    assert len(fits) == 5  # three starts, and the fit twice
    for name in ("components.csv", "weights.csv", "consensus.csv", "starts.safetensors"):
        assert Path("out", name).read_bytes() == Path("whole", name).read_bytes()
    assert "Agreement of starts" in Path("out/report.html").read_text()


def test_a_second_ctrl_c_stops_at_once(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    program("fit", "data.csv", *LONG, "-o", "whole")
    with monkeypatch.context() as patch:
        stop_at(7, lambda: [ctrl_c(), ctrl_c()], patch)
        _, said = program("fit", "data.csv", *LONG, "-o", "out", "--checkpoint-every", 0, code=130)
    assert "interrupted; --resume -o out goes on" in said
    assert names("out") == ["checkpoint.safetensors", "manifest.json"]
    assert manifest("out")["status"] == "interrupted"
    program("fit", "--resume", "-o", "out")
    same_bits("out", "whole")


def test_ctrl_c_after_the_last_iteration(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    program("fit", "data.csv", *LONG, "-o", "whole")
    with monkeypatch.context() as patch:
        stop_at(40, ctrl_c, patch)
        _, said = program("fit", "data.csv", *LONG, "-o", "out", code=130)
    assert "interrupted; --resume -o out goes on" in said
    # the limit ended it, so its last state is kept: more iterations may be allowed
    assert names("out") == ["checkpoint.safetensors", "manifest.json", "model.safetensors"]
    program("fit", "--resume", "-o", "out")
    same_bits("out", "whole")


def test_broken_off_again_and_again(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    program("fit", "data.csv", *LONG, "-o", "whole")
    for iteration, stop in ((5, ctrl_c), (11, ctrl_c), (18, kill)):
        with monkeypatch.context() as patch:
            stop_at(iteration, stop, patch)
            words = ["fit", "data.csv", *LONG, "-o", "out", "--checkpoint-every", 0, "--resume"]
            if stop is kill:
                with pytest.raises(Killed):
                    program(*words)
            else:
                program(*words, code=130)
    assert manifest("out")["fit"]["stop_reason"] == "interrupted by the user after iteration 12"
    program("fit", "--resume", "-o", "out")
    assert manifest("out")["resumed"] == [6, 18]
    assert pw.load("out/model.safetensors").stop_reason_ == "max_iter=40 reached"
    same_bits("out", "whole")


def test_a_checkpoint_of_something_else(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        stop_at(7, kill, patch)
        with pytest.raises(Killed):
            program("fit", "data.csv", *LONG, "-o", "out", "--checkpoint-every", 0)
    place = Path("out/checkpoint.safetensors")
    state, note = read_state(place)
    text = bytes(state["of"]).replace(b'"HALS"', b'"AND"')
    write_state(place, state | {"of": np.frombuffer(text, np.uint8)}, note)
    _, said = program("fit", "-o", "out", "--resume", code=1)
    assert "it is of a fit with method 'AND', not 'HALS'; the whole command with --overwrite" in " ".join(said.split())
    write_state(place, {"components": state["components"]}, {})
    _, said = program("fit", "-o", "out", "--resume", code=1)
    assert "it must be what a callback was given as Progress.state, whole" in " ".join(said.split())
    _, said = program("fit", "-o", "out", "--resume", "--overwrite", code=2)
    assert "give one of them" in said
    place.write_bytes(b"rubbish")
    _, said = program("fit", "-o", "out", "--resume", code=1)
    assert "not a readable checkpoint" in said


def test_a_disk_that_fails_leaves_the_checkpoint(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        stop_at(7, fail, patch)
        program("fit", "data.csv", *LONG, "-o", "out", "--checkpoint-every", 0, code=1)
    assert names("out") == ["checkpoint.safetensors", "manifest.json"]
    program("fit", "--resume", "-o", "out")
    assert manifest("out")["resumed"] == [7]


def test_resume_with_other_data_begins_anew(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        stop_at(7, kill, patch)
        with pytest.raises(Killed):
            program("fit", "data.csv", *LONG, "-o", "out", "--checkpoint-every", 0)
    write_csv("data.csv", 2 * X, FEATURES, SAMPLES)
    _, said = program("fit", "--resume", "--force", "-o", "out")
    assert "The data has changed since that run: the fit begins anew." in said
    program("fit", "data.csv", *LONG, "-o", "whole")
    same_bits("out", "whole")
    known = pw.io.model_info("out/model.safetensors")["provenance"]["data"]
    assert manifest("out")["data"]["sha256"] == known["sha256"]


def test_resume_writes_what_was_removed(program: Program) -> None:
    program("fit", "data.csv", "-k", 3, "--no-judge", "-o", "out")
    before = Path("out/weights.csv").read_bytes()
    Path("out/weights.csv").unlink()
    program("fit", "--resume", "-o", "out")
    assert Path("out/weights.csv").read_bytes() == before
    assert names("out") == FILES


def test_killed_while_writing(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    program("fit", "data.csv", *LONG, "-o", "whole")
    with monkeypatch.context() as patch:
        patch.setattr(results.Results, "write_report", lambda *_: (_ for _ in ()).throw(Killed))
        with pytest.raises(Killed):
            program("fit", "data.csv", *LONG, "-o", "out")
    assert "report.html" not in names("out")
    Path("out/.weights.csv.abc").write_text("half")  # what a killed write leaves
    monkeypatch.setattr(pw.HALS, "_fit", None)  # nothing is fitted again
    program("fit", "--resume", "-o", "out")
    assert names("out") == names("whole")
    assert Path("out/components.csv").read_bytes() == Path("whole/components.csv").read_bytes()
    assert manifest("out")["warnings"] == manifest("whole")["warnings"]


def test_resume_begins_where_nothing_is(program: Program) -> None:
    program("fit", "data.csv", "-k", 3, "--no-judge", "-o", "out", "--resume")
    assert manifest("out")["status"] == "complete"
    _, said = program("fit", "-o", "nothing", "--resume", code=2)
    assert "give DATA" in said
    Path("mine").mkdir()
    Path("mine/components.csv").write_text("my own file")
    _, said = program("fit", "data.csv", "-k", 3, "--no-judge", "-o", "mine", "--resume", code=2)
    assert "mine holds components.csv of an earlier run" in said


def test_ctrl_c_with_nothing_to_keep(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pw.SPA, "_find", lambda *_: ctrl_c())
    _, said = program("fit", "data.csv", "-k", 3, "-m", "spa", "-o", "out", code=130)
    assert "interrupted before there was anything to keep" in said
    assert not Path("out").exists()


def test_disk_full(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("partwise.io.writing.write_atomically", full)
        _, said = program("fit", "data.csv", "-k", 3, "--no-judge", "-o", "out", code=1)
    assert "cannot write out/components.csv: No space left on device; with --resume it can be finished" in said
    assert len(components("out")) == 3
    program("fit", "--resume", "-o", "out")
    assert names("out") == FILES


def test_no_room_for_checkpoints_ends_no_fit(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("partwise.runs.checkpoints.write_state", full)
    _, said = program("fit", "data.csv", *LONG, "-o", "out", "--checkpoint-every", 0)
    assert said.count("There is no checkpoint") == 1


def test_kill_9(folder: Path, program: Program) -> None:
    np.save("X.npy", np.vstack([X] * 20))
    words = [
        "fit",
        "X.npy",
        "-k",
        "3",
        "-m",
        "hals",
        "--tol",
        "0",
        "--max-iter",
        "600",
        "--no-judge",
        "-o",
        "out",
        "-q",
    ]
    start = [sys.executable, "-c", "from partwise.cli import main; main()"]
    process = subprocess.Popen([*start, *words, "--checkpoint-every", "0.02"])
    begin = time.monotonic()
    while process.poll() is None and not Path("out/checkpoint.safetensors").exists() and time.monotonic() - begin < 60:
        time.sleep(0.01)
    time.sleep(0.05)
    process.kill()
    assert process.wait(timeout=60) == -9
    assert 0 < read_state(Path("out/checkpoint.safetensors"))[1]["n_iter"] < 600
    program(*words, "--resume")
    assert names("out") == sorted([*FILES, "checkpoint.safetensors"])  # its limit ended it: more may be allowed
    program(*words, "-o", "whole")
    same_bits("out", "whole")


# --- wrong usage --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "message", "code"),
    [
        ([], "give DATA, the file to read", 2),
        (["data.csv", "-k", "13"], "-k 13 is too many for 60 samples of 12 features: at most 12", 2),
        (["data.csv", "-k", "0"], "'-k'", 2),
        (["data.csv", "-k", "2", "--max-iter", "3"], "parts has no option 'max_iter'; it decides by itself", 2),
        (["data.csv", "-k", "2", "-m", "hal"], "there is no method 'hal'; did you mean hals?", 2),
        (["data.csv", "-k", "2", "-m", "spa", "--max-iter", "3"], "spa has no option 'max_iter'", 2),
        (["data.csv", "-k", "2", "-m", "hals", "--set", "sweep=2"], "did you mean sweeps?", 2),
        (["data.csv", "-k", "2", "--set", "sweeps"], "give name=value", 2),
        (["data.csv", "-k", "2", "-m", "hals", "--set", "sweeps=-1"], "option sweeps of hals must be an int", 2),
        (["data.csv", "-k", "2", "-m", "hals", "--set", "max_iter=true"], "max_iter of hals must not be", 2),
        (["data.csv", "-k", "2", "-m", "hals", "--set", "l2_W=1" + "0" * 30], "option l2_W of hals is too large", 2),
        (["data.csv", "--init", "unfitted.safetensors"], "unfitted.safetensors holds a HALS that is not fitted", 2),
        (["data.csv", "-k", "2", "--image-shape", "9" * 5000 + "x1"], "give height x width", 2),
        (["nan.csv", "-k", "2", "--preprocess", "unit"], "1 NaN or infinity value(s), the first in row 3 ('s3')", 2),
        (["data.csv", "-k", "2", "--set", "random_state=1"], "random_state: give it as --seed", 2),
        (["data.csv", "-k", "2", "--tol", "1", "--set", "tol=1"], "tol is given twice", 2),
        (["data.csv", "-k", "2", "-m", "hals", "--init", "nowhere"], "init of hals must be one of 'auto', 'nndsvd'", 2),
        (["data.csv", "-k", "2", "--preprocess", "idf"], "--preprocess must be one of none, tfidf, log1p, unit", 2),
        (["data.csv", "-k", "2", "--preprocess", "tfidf"], "tfidf is for counts", 2),
        (["data.csv", "-k", "2", "--weigh", "yes"], "--weigh must be one of auto, noise, none", 2),
        (["data.csv", "-k", "2", "-m", "anchor-topics", "--weigh", "auto"], "AnchorTopics cannot weigh its data", 2),
        (["data.csv", "-k", "2", "--image-shape", "5x5"], "--image-shape 5x5 has 25 pixels, a sample 12 features", 2),
        (["data.csv", "-k", "2", "--image-shape", "12"], "give height x width", 2),
        (["data.csv", "-k", "2", "--format", "mat"], "data.csv", 2),
        (["data.csv", "-k", "2", "-o", "data.csv"], "-o data.csv is a file; give a folder", 2),
        (["data.csv", "-k", "2", "-o", "data.csv/out"], "cannot write into data.csv/out: Not a directory", 1),
        (["data.csv", "-k", "2", "--from", "x", "--resume"], "give one of them", 2),
        (["--from", "nowhere.json"], "nowhere.json: No such file", 2),
        (["--from", "data.csv"], "data.csv is not a manifest", 2),
        (["nowhere.csv", "-k", "2"], "nowhere.csv: there is no such file or folder", 2),
        (["bad.csv", "-k", "1"], "bad.csv, line 3", 2),
        (["nan.csv", "-k", "2"], "nan.csv: the data contains 1 NaN or infinity value(s), the first in row 3 ('s3')", 2),
        (["negative.npy", "-k", "2", "-m", "hals"], "row 3, column 5 (counted from 0); this method needs data >= 0", 2),
        (["negative.npy", "-k", "2", "-m", "hals"], "What takes negative data is --method parts, facets", 2),
        (["empty.npy", "-k", "2"], "empty.npy: there is no number in it", 2),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)  # fmt: skip
def test_wrong_usage(words: list[str], message: str, code: int, program: Program, folder: Path) -> None:
    Path("bad.csv").write_text("a,b\n1,2\n1,x\n")
    holes = X.copy()
    holes[3, 5] = np.nan
    write_csv("nan.csv", holes, FEATURES, SAMPLES)
    holes[3, 5] = -1.0
    np.save("negative.npy", holes)
    np.save("empty.npy", np.zeros((0, 4)))
    pw.save(pw.HALS(2), "unfitted.safetensors")
    before = sorted(path.name for path in folder.iterdir())
    _, said = program("fit", *words, code=code)
    assert message in said
    assert sorted(path.name for path in folder.iterdir()) == before  # nothing is left behind
