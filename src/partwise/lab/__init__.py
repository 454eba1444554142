"""The lab: published experiments as data, on one command, beside the published numbers.

An experiment is data sets x methods x measures; its result is a table; claims and figures are functions of that table.
Claims are in ``lab/claims``, a file an experiment; each is judged on the published thing itself and on ours.
"""

from partwise.lab.claim import Change, Claim, Judgement, Verdict
from partwise.lab.experiment import Case, Contender, Experiment, Figure, Found, Measure, Problem, Reproduction
from partwise.lab.measurements import Measurements
from partwise.lab.register import load_claims
from partwise.lab.registry import experiments, find_experiment
from partwise.lab.run import finish, load_result, read_manifest, run_experiment

__all__ = [
    "Case",
    "Change",
    "Claim",
    "Contender",
    "Experiment",
    "Figure",
    "Found",
    "Judgement",
    "Measure",
    "Measurements",
    "Problem",
    "Reproduction",
    "Verdict",
    "experiments",
    "find_experiment",
    "finish",
    "load_claims",
    "load_result",
    "read_manifest",
    "run_experiment",
]
