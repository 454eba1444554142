"""python -m benchmarks CASE, or list to see the cases."""

from __future__ import annotations

import argparse
import importlib
import signal
import sys
from collections.abc import Callable
from typing import Any

from .cases import CASES
from .harness import chosen


def pair(text: str) -> tuple[str, str]:
    """Read NAME=PATH."""
    name, _, path = text.partition("=")
    if not path:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=PATH")
    return name, path


def many(kind: Callable[[str], Any]) -> Callable[[str], list[Any]]:
    """Read a list with commas."""
    return lambda text: [kind(item) for item in text.split(",")]


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("case", choices=[*CASES, "list"])
    parser.add_argument("--size", choices=["small", "full"], default="full")
    parser.add_argument("--repeat", type=int, default=3, help="interleaved repeats; the median is reported")
    parser.add_argument("--peers", type=many(str), help="only these, by name or family")
    parser.add_argument("--threads", type=int, default=2, help="the same budget for everybody")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--timeout", type=float, default=1200.0, help="seconds a contender and repeat")
    parser.add_argument("--k", type=many(int), help="numbers of components")
    parser.add_argument("--best", type=many(float), help="hals-dense: best known error of each k")
    parser.add_argument("--slack", type=float, default=0.0, help="hals-sparse: target above sklearn's error")
    parser.add_argument("--uniform", action="store_true", help="hals-sparse: a uniform random matrix")
    parser.add_argument("--seeds", type=int, help="and-*, purification: data sets of each kind")
    parser.add_argument("--stages", type=int, default=6, help="and-speed: stages of the reference to time, 0 for all")
    parser.add_argument("--store", action="store_true", help="guard: keep the ratios found as those to compare with")
    parser.add_argument("--rows", type=int, help="hals-dense: images; and-scaling: rows on the Dask cluster")
    another = "another interpreter for a peer (also BENCH_PYTHON_<NAME>)"
    parser.add_argument("--python", type=pair, action="append", default=[], metavar="NAME=PATH", help=another)
    options = parser.parse_args()
    options.python = dict(options.python)
    return options


def main() -> None:
    """Run one case, or list all with who takes part."""
    options = parse()
    # ended from outside (`timeout`, a batch system): leave by an exception, so that no contender goes on alone
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if options.case == "list":
        for case, module in CASES.items():
            loaded = importlib.import_module(module)
            print(f"{case}: {(loaded.__doc__ or '').splitlines()[0]}")
            for name, contender in loaded.CONTENDERS.items():
                print(f"    {name:18} {contender.note}")
        return
    case = importlib.import_module(CASES[options.case])
    chosen(case.CONTENDERS, options)  # an unknown peer is said now, not after the data was made
    case.main(options)


if __name__ == "__main__":
    main()
