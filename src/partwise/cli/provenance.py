"""Where a result comes from: names and parameters, for the manifest."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from partwise.cli.job import Job
    from partwise.io import Table


def names_hash(table: Table) -> str:
    """Hash of the names of features and samples."""
    return hashlib.sha256(json.dumps([table.feature_names, table.sample_names]).encode()).hexdigest()


def parameters(model: Any, job: Job) -> dict[str, Any]:
    """All parameters; a start from a file is named by the file, and known parts by their names."""
    values = {name: value for name, value in model.get_params(deep=False).items() if name != "callbacks"}
    values |= {} if job.fixed is None else {"fixed": job.fixed}
    return values | ({} if job.start is None else {"init": str(job.start)})
