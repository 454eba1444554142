"""One run of ``partwise fit``, from the data to the last file."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from partwise.cli.console import INTERRUPTED, Failure, Voice, errors, plain, told
from partwise.cli.fitting import Fitted, align_start, build_model, fit, start_file
from partwise.cli.provenance import machine, names_hash, parameters
from partwise.cli.results import Results
from partwise.cli.run_folder import CHECKPOINT, COMPLETE, INTERRUPTED_RUN, MODEL, OURS, RunFolder, file_hash
from partwise.cli.watch import bar, step
from partwise.cli.wording import told_of

if TYPE_CHECKING:
    from partwise.cli.job import Job
    from partwise.io import Table
    from partwise.sources import RowSource


class Session:
    """What is known while a fit runs.

    Parameters
    ----------
    job : Job
        What is to be done.
    folder : RunFolder
        Where the results go.
    voice : Voice
        What people are told.
    manifest : dict or None
        Of the run that is repeated or gone on with.
    resume : bool
        Whether to go on with it.
    force : bool
        Whether the data may have changed since.
    """

    fitted: Fitted

    def __init__(
        self, job: Job, folder: RunFolder, voice: Voice, manifest: dict[str, Any] | None, *, resume: bool, force: bool
    ) -> None:
        self.job, self.folder, self.voice = job, folder, voice
        self.earlier, self.resume, self.force = manifest, resume, force
        self.timings: dict[str, float] = dict((manifest or {}).get("timings", {})) if resume else {}

    def run(self, checkpoint_every: float) -> int:
        """Do it all; returns the exit code."""
        model, self.start_names = build_model(self.job)
        self._check_places()
        self.folder.open()
        try:
            return self._run(model, checkpoint_every)
        finally:
            self.folder.close()

    def _run(self, model: Any, checkpoint_every: float) -> int:
        begun = False
        try:
            table, source, known = self._data()
            self._check(model, table)
            align_start(model, self.job, self.start_names, table.feature_names)
            self._begin(model, known)
            begun = True
            with bar(errors(), hidden=self.voice.quiet) as progress:
                self._fit(model, table, source, known, progress, checkpoint_every)
                results = Results(self.folder, self.job, self.fitted.model, table, source, known)
                with step(progress, "Writing"), self._timed("write"):
                    self._write(results)
        except KeyboardInterrupt:
            self._give_up(begun)
            rest = f"; --resume -o {self.folder.path} goes on" if begun and self._kept else ""
            raise Failure(f"interrupted{rest or ' before there was anything to keep'}", INTERRUPTED) from None
        except Failure:
            self._give_up(begun)
            raise
        return self._end()

    @property
    def _kept(self) -> bool:
        """Whether there is something that --resume can go on with."""
        checkpoint = (self.folder.path / CHECKPOINT).exists()
        return self.resume or checkpoint or MODEL in self.folder.manifest["outputs"]

    def _give_up(self, begun: bool) -> None:
        """Leave what can be gone on with, or nothing; an earlier run that this one has not begun to replace stays."""
        if begun and self._kept:
            with suppress(Failure):  # no room: "running" is as good to go on with
                self.folder.update(status=INTERRUPTED_RUN)
        elif begun:
            self.folder.discard()
        else:
            self.folder.abandon()

    def _data(self) -> tuple[Table, RowSource, dict[str, Any]]:
        """The table, its rows, and the fingerprint of what was read."""
        from partwise.estimators.saving import fingerprint
        from partwise.io import summarize

        show = bar(errors(), hidden=self.voice.quiet)
        with self._timed("read"), told(2), show, step(show, "Reading"):
            table = self.job.reading.read(self.job.data)
            if 0 in table.X.shape:
                raise Failure(f"{self.job.data}: there is no number in it (shape {table.X.shape})", 2)
            raw = table.source()
            summary = "" if self.voice.quiet else summarize(replace(table, origin=self.job.data))
            known = fingerprint(raw) | {"names": names_hash(table)}
        self.voice.say(summary)
        self.voice.say()
        self._compare(known)
        return table, raw, known

    def _compare(self, known: dict[str, Any]) -> None:
        """The data of a run that is repeated must be the same."""
        from partwise.io.versions import library_versions

        before = (self.earlier or {}).get("data", {})
        if self.earlier is None:
            return
        if any(before.get(key) != known[key] for key in known) and not self.force:
            what = "numbers" if before.get("sha256") != known["sha256"] else "names"
            raise Failure(
                f"{self.job.data} has changed since that run (its {what} are others, shape {known['shape']} now and "
                f"{before.get('shape')} then); --force goes on all the same",
                2,
            )
        if self.earlier["inputs"] != self._inputs() and not self.force:
            raise Failure("the file of --init has changed since that run; --force goes on all the same", 2)
        notes = []
        if self.earlier["versions"] != library_versions():
            notes.append("That run had other versions of the libraries; the last bits may differ.")
        if self.earlier["resumed"] and not self.resume:
            notes.append(
                "That run was broken off and gone on with; this one has no break, and the last bits may differ."
            )
        self.voice.warn(notes)

    def _inputs(self) -> dict[str, str]:
        """Hash of the file that the fit starts from."""
        place = None if self.job.start is None else start_file(self.job.start)
        return {} if place is None or not place.is_file() else {"init": file_hash(place)}

    def _check_places(self) -> None:
        """What is read must not be what is replaced."""
        ours = {(self.folder.path / name).resolve() for name in OURS}
        start = [] if self.job.start is None else [start_file(self.job.start)]
        for path in (Path(self.job.data), *start):
            if path.resolve() in ours and not self.resume:
                raise Failure(f"{path} would be replaced by the results: give another folder with -o", 2)

    def _check(self, model: Any, table: Table) -> None:
        """What would otherwise be found out after the fit."""
        n, m = table.X.shape
        k = model.n_components
        if k is not None and k > min(n, m):
            raise Failure(f"-k {k} is too many for {n:,} samples of {m:,} features: at most {min(n, m)}", 2)
        shape = self.job.image_shape
        if shape and shape[0] * shape[1] != m:
            raise Failure(
                f"--image-shape {shape[0]}x{shape[1]} has {shape[0] * shape[1]} pixels, a sample {m} features", 2
            )

    def _begin(self, model: Any, known: dict[str, Any]) -> None:
        from partwise.io.versions import library_versions

        if self.resume:
            assert self.earlier is not None
            self.folder.go_on(self.earlier | {"data": {"path": self.job.path, **known}})
            return
        self.folder.begin(
            {
                "command": self.job.command(self.folder.path),
                "started": datetime.now(UTC).isoformat(timespec="seconds"),
                "data": {"path": self.job.path, **known},
                "job": self.job.as_json(),
                "parameters": parameters(model, self.job),
                "inputs": self._inputs(),
                "versions": library_versions(),
                "machine": machine(),
                "fit": {},
                "warnings": [],
                "timings": {},
                "resumed": [],
            }
        )

    def _fit(
        self, model: Any, table: Table, source: RowSource, known: dict[str, Any], progress: Any, every: float
    ) -> None:
        """Fit, or take the model that an earlier run had finished before it was killed."""
        from partwise.estimators.saving import load

        done = self.folder.manifest["fit"]
        if self.resume and self.folder.has(MODEL) and done.get("finished"):
            with told():
                self.fitted = Fitted(
                    load(self.folder.path / MODEL), self.timings.get("fit", 0.0), list(self.folder.manifest["warnings"])
                )
            return
        try:
            with self._timed("fit"), told_of(self.job.data, table):
                self.fitted = fit(model, source, self.job, self.folder, progress, every)
        except Failure as failure:
            raise Failure(failure.message + _others(failure.message), failure.code) from failure.__cause__
        if self.fitted.done_before:
            self.folder.manifest["resumed"].append(self.fitted.done_before)
        # in the manifest with the model itself: what is told of a fit is told of the model that is there
        facts = self.fitted.facts() | {"finished": not self.fitted.interrupted}
        self.folder.manifest.update(fit=facts, warnings=self.fitted.warnings, timings=self._rounded())
        Results(self.folder, self.job, model, table, source, known).write_model()

    def _write(self, results: Results) -> None:
        with told():
            weights = results.write_tables()
            results.write_report(weights, self.fitted.warnings, self._about())

    def _about(self) -> dict[str, str]:
        data = self.folder.manifest["data"]
        return {
            "Data": f"{Path(self.job.data).name}, SHA-256 {data['sha256'][:16]}...",
            "Method": self.job.method,
            "Seed": str(self.job.seed),
            "Started": self.folder.manifest["started"],
        }

    def _end(self) -> int:
        status = INTERRUPTED_RUN if self.fitted.interrupted else COMPLETE
        self.folder.manifest["timings"] = self._rounded()
        self.folder.finish(status)
        facts = self.fitted.facts()
        self.voice.warn(self.fitted.warnings)
        self.voice.say(_outcome(facts, self.timings.get("fit", 0.0)))
        for name, path in self.folder.outputs().items():
            self.voice.say(f"  {name:<11}{path}")
        self.voice.result(told_result(self.folder, self.job.method, facts))
        return INTERRUPTED if self.fitted.interrupted else 0

    def _rounded(self) -> dict[str, float]:
        return {name: round(value, 3) for name, value in self.timings.items()}

    @contextmanager
    def _timed(self, what: str) -> Iterator[None]:
        begin = time.perf_counter()
        try:
            yield
        finally:
            self.timings[what] = self.timings.get(what, 0.0) + time.perf_counter() - begin


def told_result(folder: RunFolder, method: str, facts: dict[str, Any]) -> dict[str, Any]:
    """The JSON object of a run that is over."""
    manifest = folder.manifest
    result = {"status": manifest["status"], "folder": str(folder.path), "outputs": folder.outputs(), "method": method}
    result |= {**plain(facts), "warnings": manifest["warnings"], "seconds": manifest["timings"]}
    return result


def _others(message: str) -> str:
    """Which methods take what this one refuses."""
    from partwise.estimators.catalog import METHODS

    if "Negative values" not in message:
        return ""
    signed = [method.name for method in METHODS.values() if method.kind._allow_negative]
    return f". These methods take negative data: {', '.join(signed)}"


def _outcome(facts: dict[str, Any], seconds: float) -> str:
    k = facts["n_components"]
    parts = [f"{k} part{'s' * (k != 1)}, relative error {facts['error']:.4g}"]
    if facts["n_iter"] is not None:
        parts.append(f"{facts['n_iter']} iteration{'s' * (facts['n_iter'] != 1)}")
    parts.append(f"{seconds:.1f} s")
    reason = f"\nStopped: {facts['stop_reason']}." if facts["stop_reason"] else ""
    return ", ".join(parts) + reason
