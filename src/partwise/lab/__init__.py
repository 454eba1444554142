"""The lab: published experiments as data, on one command, beside the published numbers.

An experiment is data sets x methods x measures; its result is a table; claims and figures are functions of that table.
"""

from partwise.lab.experiment import (
    Case,
    Claim,
    Contender,
    Experiment,
    Figure,
    Found,
    Measure,
    Problem,
    Reproduction,
    Verdict,
)
from partwise.lab.measurements import Measurements
from partwise.lab.registry import experiments, find_experiment
from partwise.lab.run import finish, load_result, read_manifest, run_experiment

__all__ = [
    "Case",
    "Claim",
    "Contender",
    "Experiment",
    "Figure",
    "Found",
    "Measure",
    "Measurements",
    "Problem",
    "Reproduction",
    "Verdict",
    "experiments",
    "find_experiment",
    "finish",
    "load_result",
    "read_manifest",
    "run_experiment",
]
