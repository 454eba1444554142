"""One run of anything that takes time: its folder, manifest, journal, checkpoints, Ctrl-C and progress."""

from partwise.runs.checkpoints import CHECKPOINT, Checkpoints, read_state, write_state
from partwise.runs.folder import COMPLETE, INTERRUPTED, RunFolder, file_hash, lock, make_folder, sweep
from partwise.runs.interrupt import AtOnce, Interrupt
from partwise.runs.journal import Journal
from partwise.runs.manifest import MANIFEST, Manifest, Timings, machine, read_manifest, threads

__all__ = [
    "CHECKPOINT",
    "COMPLETE",
    "INTERRUPTED",
    "MANIFEST",
    "AtOnce",
    "Checkpoints",
    "Interrupt",
    "Journal",
    "Manifest",
    "RunFolder",
    "Timings",
    "file_hash",
    "lock",
    "machine",
    "make_folder",
    "read_manifest",
    "read_state",
    "sweep",
    "threads",
    "write_state",
]
