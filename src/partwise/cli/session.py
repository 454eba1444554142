"""One run of ``partwise fit``, from the data to the last file."""

from __future__ import annotations

from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from partwise.cli.console import INTERRUPTED, Failure, Voice, errors, plain, told
from partwise.cli.files import writing
from partwise.cli.fitting import Fitted, align_start, build_model, fit, start_file
from partwise.cli.provenance import names_hash, parameters
from partwise.cli.results import MODEL, Results
from partwise.cli.wording import told_of

if TYPE_CHECKING:
    from partwise.cli.job import Job
    from partwise.io import Table
    from partwise.runs import Interrupt, RunFolder
    from partwise.sources import RowSource

KINDS = {"schema": int, "status": str, "job": dict, "data": dict, "outputs": dict, "inputs": dict, "fit": dict}
KINDS |= {"warnings": list, "timings": dict, "resumed": list, "versions": dict, "sessions": list}
WAITS = "the iteration ends first; Ctrl-C again stops at once"


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
        from partwise.runs import Timings

        self.job, self.folder, self.voice = job, folder, voice
        self.earlier, self.resume, self.force = manifest, resume, force
        self.timings = Timings((manifest or {}).get("timings", {}) if resume else {})

    def run(self, checkpoint_every: float) -> int:
        """Do it all; returns the exit code."""
        model, self.start_names = build_model(self.job)
        self._check_places()
        if self.folder.path.exists() and not self.folder.path.is_dir():
            raise Failure(f"-o {self.folder.path} is a file; give a folder", 2)
        with writing(f"into {self.folder.path}"), self.folder:
            return self._run(model, checkpoint_every)

    def _run(self, model: Any, checkpoint_every: float) -> int:
        from partwise.runs import AtOnce, Interrupt
        from partwise.runs.progress import bar, step

        begun = False
        try:
            with told():
                table, source, known = self._data()
                self._check(model, table)
                align_start(model, self.job, self.start_names, table.feature_names)
                self._begin(model, known)
                begun = True
                with bar(errors(), hidden=self.voice.quiet) as progress:
                    with Interrupt(lambda: _wait(progress)) as interrupt:
                        results = self._fit(model, table, source, known, progress, interrupt, checkpoint_every)
                    with step(progress, "Writing"), self.timings.of("write"):
                        results.write_tables()
                        results.write_report(self.fitted.warnings, self._about())
        except (KeyboardInterrupt, AtOnce):
            self._give_up(begun)
            rest = f"; --resume -o {self.folder.path} {self.prospect}" if begun and self._kept else ""
            raise Failure(f"interrupted{rest or ' before there was anything to keep'}", INTERRUPTED) from None
        except Failure:
            self._give_up(begun)
            raise
        return self._end()

    @property
    def prospect(self) -> str:
        """What --resume would do."""
        finished = self.folder.manifest["fit"].get("finished")
        return "goes on" if finished or self.folder.checkpoint.exists() else "begins anew"

    @property
    def _kept(self) -> bool:
        """Whether there is something that --resume can go on with."""
        return self.resume or self.folder.checkpoint.exists() or MODEL in self.folder.manifest["outputs"]

    def _give_up(self, begun: bool) -> None:
        """Leave what can be gone on with, or nothing; an earlier run that this one has not begun to replace stays."""
        if begun and self._kept:
            with suppress(OSError):  # no room: "running" is as good to go on with
                self.folder.finish("interrupted")
        elif begun:
            self.folder.discard()
        else:
            self.folder.abandon()

    def _data(self) -> tuple[Table, RowSource, dict[str, Any]]:
        """The table, its rows, and the fingerprint of what was read."""
        from partwise.estimators.saving import fingerprint
        from partwise.io import summarize
        from partwise.runs.progress import bar, step

        show = bar(errors(), hidden=self.voice.quiet)
        with self.timings.of("read"), told(2), show, step(show, "Reading"):
            table = self.job.reading.read(self.job.data)
            if 0 in table.X.shape:
                raise Failure(f"{self.job.data}: there is no number in it (shape {table.X.shape})", 2)
            raw = table.source()
            summary = "" if self.voice.quiet else summarize(replace(table, origin=self.job.data), raw)
            known = fingerprint(raw) | {"names": names_hash(table)}
        self.voice.say(summary)
        self.voice.say()
        self._compare(known)
        return table, raw, known

    def _compare(self, known: dict[str, Any]) -> None:
        """The data of a run that is repeated must be the same."""
        from partwise.io.versions import library_versions

        if self.earlier is None:
            return
        before = self.earlier["data"]
        changed = any(before.get(key) != known[key] for key in known)
        if changed and not self.force:
            what = "numbers" if before.get("sha256") != known["sha256"] else "names"
            raise Failure(
                f"{self.job.data} has changed since that run (its {what} are others, shape {known['shape']} now and "
                f"{before.get('shape')} then); --force takes it all the same",
                2,
            )
        if self.earlier["inputs"] != self._inputs() and not self.force:
            raise Failure("the file of --init has changed since that run; --force takes it all the same", 2)
        notes = []
        if self.earlier["versions"] != library_versions():
            notes.append("That run had other versions of the libraries; the last bits may differ.")
        if changed and self.resume:  # a state goes with its data
            notes.append("The data has changed since that run: the fit begins anew.")
            self.resume = False
        self.voice.warn(notes)

    def _inputs(self) -> dict[str, str]:
        """Hash of the file that the fit starts from."""
        from partwise.runs import file_hash

        place = None if self.job.start is None else start_file(self.job.start)
        return {} if place is None or not place.is_file() else {"init": file_hash(place)}

    def _check_places(self) -> None:
        """What is read must not be what is replaced."""
        ours = {(self.folder.path / name).resolve() for name in self.folder.names}
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
        data = {"path": self.job.path, **known}
        if self.resume:
            assert self.earlier is not None
            self.folder.begin(self.earlier | {"data": data, "timings": self.timings}, self.earlier)
            return
        entries = {
            "command": self.job.command(self.folder.path),
            "data": data,
            "job": self.job.as_json(),
            "parameters": parameters(model, self.job),
            "inputs": self._inputs(),
            "fit": {},
            "warnings": [],
            "resumed": [],
        }
        self.folder.begin(plain(entries) | {"timings": self.timings})

    def _fit(
        self,
        model: Any,
        table: Table,
        source: RowSource,
        known: dict[str, Any],
        progress: Any,
        interrupt: Interrupt,
        every: float,
    ) -> Results:
        """Fit, or take the model that an earlier run had finished before it was killed; what is to be written."""
        from partwise.estimators.saving import load
        from partwise.estimators.weights import stored_weights

        manifest = self.folder.manifest
        if self.resume and self.folder.has(MODEL) and manifest["fit"].get("finished"):
            with told():
                model = load(self.folder.path / MODEL)
            weights = stored_weights(model, source, check=False)
            self.fitted = Fitted(model, weights, list(manifest["warnings"]))
            return Results(self.folder, self.job, model, table, source, known, weights)
        iterates = "callbacks" in model.get_params(deep=False)  # what does not end between iterations ends at once
        with interrupt.held() if iterates else nullcontext():
            try:
                with self.timings.of("fit"), told_of(self.job.data, table):
                    self.fitted = fit(model, source, self.job, self.folder, progress, interrupt, every)
            except Failure as failure:
                raise Failure(failure.message + _others(failure.__cause__), failure.code) from failure.__cause__
            if self.fitted.done_before:
                manifest["resumed"].append(self.fitted.done_before)
            # in the manifest with the model itself: what is told of a fit is told of the model that is there
            facts = plain(self.fitted.facts()) | {"finished": not self.fitted.interrupted}
            manifest.entries.update(fit=facts, warnings=self.fitted.warnings, noise=_noise(model, source))
            results = Results(self.folder, self.job, model, table, source, known, self.fitted.weights)
            results.write_model()
        return results

    def _about(self) -> dict[str, str]:
        data = self.folder.manifest["data"]
        return {
            "Data": f"{Path(self.job.data).name}, SHA-256 {data['sha256'][:16]}...",
            "Method": self.job.method,
            "Seed": str(self.job.seed),
            "Started": self.folder.manifest["sessions"][0]["begun"],
        }

    def _end(self) -> int:
        self.folder.finish("interrupted" if self.fitted.interrupted else "complete")
        facts, manifest = self.fitted.facts(), self.folder.manifest.entries
        self.voice.warn(self.fitted.warnings)
        self.voice.say(_outcome(facts, self.timings.get("fit", 0.0)))
        outputs = outputs_of(self.folder.path, manifest)
        for name, path in outputs.items():
            self.voice.say(f"  {name:<11}{path}")
        self.voice.result(told_result(self.folder.path, manifest, outputs, self.job.method, facts))
        return INTERRUPTED if self.fitted.interrupted else 0


def read_run(path: Path) -> dict[str, Any]:
    """The manifest of a run of this program."""
    from partwise.runs import read_manifest
    from partwise.runs.folder import SCHEMA

    with told(2):
        manifest = read_manifest(path, KINDS, of="partwise fit")
    if manifest["schema"] > SCHEMA:
        raise Failure(f"{path} has schema {manifest['schema']}, and this version reads up to {SCHEMA}", 2)
    if not all(isinstance(text, str) for text in manifest["warnings"]):
        raise Failure(f"{path} is not a manifest of partwise fit: its warnings are none", 2)
    return manifest


def outputs_of(folder: Path, manifest: dict[str, Any]) -> dict[str, str]:
    """What was written, by kind."""
    from partwise.runs import MANIFEST

    return {name.partition(".")[0]: str(folder / name) for name in (MANIFEST, *manifest["outputs"])}


def told_result(
    folder: Path, manifest: dict[str, Any], outputs: dict[str, str], method: str, facts: dict[str, Any]
) -> dict[str, Any]:
    """The JSON object of a run that is over."""
    result = {"status": manifest["status"], "folder": str(folder), "outputs": outputs, "method": method}
    result |= {**plain(facts), "warnings": manifest["warnings"], "seconds": manifest["timings"]}
    return result


def _noise(model: Any, source: RowSource) -> dict[str, Any]:
    """What lies outside as many dimensions as there are parts, in the data as the model sees it."""
    from partwise.noise import name_noise

    prepared = model.preparation_.apply(source)
    found = name_noise(prepared, min(len(model.components_), *prepared.shape))
    return dict(plain(found.facts() | {"sentence": str(found)}))


def _wait(progress: Any) -> None:
    """Tell that Ctrl-C was heard."""
    for task in progress.task_ids[-1:]:
        progress.update(task, note=WAITS)


def _others(error: BaseException | None) -> str:
    """Which methods take what this one refuses."""
    from partwise.estimators.catalog import METHODS

    if getattr(error, "kind", "") != "negative":
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
