"""The page of the documentation that shows measured speed: made of results that are kept beside it."""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

from .report import RESULTS

DOCS = Path(__file__).resolve().parents[1] / "docs"
KEPT = DOCS / "speed"
CONTENDERS: dict[str, Any] = {}
# what is shown, in this order: the case, its heading, what is told of every contender
CASES = (
    ("hals-default", "The default fit, as typed", ("wall", "n_iter", "error")),
    ("hals-target", "To scikit-learn's final objective, from its own start", ("wall", "n_iter", "error")),
    ("hals-dense", "MNIST from one start, to within 1% of the best error, beside seven others", ("n_iter", "error")),
    ("hals-sparse", "2 million entries from one start, to scikit-learn's error after 100 rounds", ("n_iter", "error")),
    ("nnls-supports", "Exact weights", ("wall", "kkt")),
    ("nnls", "Exact weights of MNIST", ("kkt",)),
    ("kl", "Likelihood of counts", ()),
    ("kl-transform", "Most likely weights", ("kkt",)),
    ("startup", "Start of the program", ()),
    ("large", "Files of 0.1, 1 and 10 GB; one and two workers of Dask", ("above",)),
)
BY_THE_CLOCK = ("hals-dense", "hals-sparse", "nnls")  # their peers have processes and threads of their own
WORDS = {"wall": "wall s", "n_iter": "rounds", "above": "bytes of memory"}
HEAD = """# Speed

<!-- made by `python -m benchmarks page` of the files in docs/speed; nothing here is written by hand -->

Processor time beside other libraries in one run, with the same number of threads, medians of interleaved repeats; what
was asked for and missed stands beside what was met. How each is measured is on the page of the
[benchmarks](benchmarks.md). Seconds are those of one machine, with nothing else to do: compare contenders, not pages.
Ratios differ between machines, too: here two threads slow each other, ours more than scikit-learn's, and beside other
work threads of linear algebra spin while they wait, scikit-learn's more than ours.

What bounds the default fit is the number of products with the data: scikit-learn stops after 80 to 200 rounds, wherever
it is then; ours goes on for 50 to 124, in single precision, until the point is stationary (a KKT residual of 1e-5).
`stop="objective"` ends near where scikit-learn's fit does, mostly lower. Which optimum of texts they end in is chance.

![Error against processor time, HALS and scikit-learn's NMF](images/speed.svg)

*The default fits of both libraries, each from its own start; the blue dot is where ours ends, at a stationary point.*
"""


def page(folder: Path = KEPT) -> str:
    """The page, of the results in a folder."""
    sections = [HEAD]
    for case, heading, facts in CASES:
        path = folder / f"{case}.json"
        if path.exists():
            record = json.loads(path.read_text())
            sections.append(_section(record, case, heading, facts))
            others = [json.loads(other.read_text()) for other in sorted(folder.glob(f"{case}-seed*.json"))]
            if others:
                sections.append(_seeds([record, *others]))
    return "\n".join(sections)


def _section(record: dict[str, Any], case: str, heading: str, facts: tuple[str, ...]) -> str:
    machine, options = record["machine"], record["options"]
    columns = ["", "wall s" if case in BY_THE_CLOCK else "processor s", *(WORDS.get(fact, fact) for fact in facts)]
    lines = [f"## {heading}", "", _row(columns), _row(["---"] * len(columns))]
    for part in record["parts"]:
        what = str(
            part.get("data") or part.get("kind") or part.get("label") or (f"k = {part['k']}" if "k" in part else "")
        )
        for row in part["rows"]:
            name = f"{what} {row['name']}".strip()
            if row["status"] == "ok":
                # results that are older than medians have the best alone beside the seconds of each repeat
                seconds = statistics.median(row["seconds"]) * row["facts"].get("scale", 1.0)
                lines.append(_row([name, *map(_number, [seconds, *(row["facts"].get(fact) for fact in facts)])]))
            elif not row["status"].startswith("skipped"):
                lines.append(_row([name, row["status"], *([""] * len(facts))]))
    measured = [target for target in record["targets"] if target["met"] is not None]
    lines += ["", *(f"- {_verdict(target)}" for target in measured), ""]
    lines.append(
        f"`python -m benchmarks {case} --threads {options['threads']}`, seed {options['seed']}, {record['date'][:10]}: "
        f"{machine['cpu']}, {machine['cores']} cores.\n"
    )
    return "\n".join(lines)


def _seeds(records: list[dict[str, Any]]) -> str:
    """Every figure that was asked for, a column a seed."""
    columns = [{target["what"].split(" (but")[0]: target for target in record["targets"]} for record in records]
    seeds = [f"seed {record['options']['seed']}" for record in records]
    repeats = [str(record["options"]["repeat"]) for record in records]
    lines = [_row(["with other seeds", "asked", *seeds]), _row(["---"] * (2 + len(seeds)))]
    for what, target in columns[0].items():
        found = [_found(column.get(what)) for column in columns]
        lines.append(_row([what, f"{'at most' if target['at_most'] else 'at least'} {target['goal']:.3g}", *found]))
    return "\n".join([*lines, "", f"Medians of {', '.join(repeats)} repeats, the seeds in their order.\n"])


def _found(target: dict[str, Any] | None) -> str:
    """A figure; one that was missed is bold, and what is not reached at all has none."""
    if target is None or target["met"] is None:
        return ""
    number = "not reached" if "NOT reached" in target["what"] else f"{target['value']:.3g}"
    return number if target["met"] else f"**{number}**"


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _number(value: Any) -> str:
    return "" if value is None else f"{value:.5g}" if isinstance(value, float) else str(value)


def _verdict(target: dict[str, Any]) -> str:
    sign = "at most" if target["at_most"] else "at least"
    word = "met" if target["met"] else "**missed**"
    return f"{target['what']}: {_number(target['value'])}, asked {sign} {target['goal']:.3g}: {word}"


def draw(folder: Path, picture: Path) -> None:
    """Curves of error against processor time."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    parts = json.loads((folder / "hals-curves.json").read_text())["parts"]
    mpl.rcParams["svg.hashsalt"] = "partwise"
    figure = Figure((3.4 * len(parts), 3.0), layout="constrained")
    for axes, part in zip(figure.subplots(1, len(parts)), parts, strict=True):
        for row, colour, name in zip(part["rows"], ("C0", "0.5"), ("partwise HALS", "scikit-learn NMF"), strict=False):
            seconds, errors = zip(*row["facts"]["curve"], strict=True)
            ours = row["name"] == "partwise"
            axes.plot(seconds, errors, color=colour, label=name, marker="" if ours else "o", markersize=3)
            if ours:
                axes.plot(seconds[-1], errors[-1], "o", color=colour)
        least = min(error for row in part["rows"] for _, error in row["facts"]["curve"])
        last = part["rows"][-1]["facts"]["curve"][-1][1]
        axes.set_ylim(least - 0.3 * (last - least) - 1e-5, least + 6.0 * max(last - least, 2e-4))
        axes.set(title=part["data"], xlabel="processor time in s", ylabel="|X - W H| / |X|")
        axes.set_xlim(0.0)
    figure.axes[0].legend(fontsize="small")
    figure.savefig(picture, metadata={"Date": None})


def main(options: Any) -> None:
    """Keep the newest results of every case of the page, and make the page and its picture anew."""
    KEPT.mkdir(exist_ok=True)
    for case in (*(case for case, *_ in CASES), "hals-curves"):
        for result in (RESULTS / f"{case}.json", *RESULTS.glob(f"{case}-seed*.json")):
            if result.exists():
                record = json.loads(result.read_text())
                record["machine"].pop("platform", None)
                (KEPT / result.name).write_text(json.dumps(record, indent=1) + "\n")
    (DOCS / "speed.md").write_text(page())
    draw(KEPT, DOCS / "images" / "speed.svg")
    print(f"written: {DOCS / 'speed.md'}")
