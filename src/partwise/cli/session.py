"""One run of ``partwise fit``, from the data to the last file."""

from __future__ import annotations

import hashlib
import json
from contextlib import nullcontext, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from partwise.cli.console import INTERRUPTED, Failure, Voice, errors, plain, told
from partwise.cli.fields import STARTS, Field, keep_parts
from partwise.cli.files import writing
from partwise.cli.fitting import Fitted, align_start, build_model, check_names, fit, judged, start_file
from partwise.cli.outcome import believed, decided, other_methods, outcome, outputs_of, told_result
from partwise.cli.reading import names_note
from partwise.cli.results import MODEL, Results
from partwise.cli.wording import suspected, told_of

if TYPE_CHECKING:
    from partwise.cli.job import Job
    from partwise.io import Table
    from partwise.runs import Interrupt, RunFolder
    from partwise.sources import RowSource

COUNTING = ("likelihood", "topics")  # methods whose model is one of counts
EXPECTED = {"texts": ("labels", "depth"), "spectra": ("depth",)}  # what is no mistake in a field
WAITS = "Ctrl-C heard: what has begun ends first, then all is written; again stops at once"


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
    suspected: list[str]
    field: Field

    def __init__(
        self, job: Job, folder: RunFolder, voice: Voice, manifest: dict[str, Any] | None, *, resume: bool, force: bool
    ) -> None:
        from partwise.runs import Timings

        self.job, self.folder, self.voice = job, folder, voice
        self.suspected = []
        self.earlier, self.resume, self.force = manifest, resume, force
        # with other limits the fit goes on where they ended it
        self.longer = resume and manifest is not None and manifest["job"]["options"] != job.as_json()["options"]
        self.choice: Any = None
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
                fixed = self.field.fixed()[1]
                if fixed is not None:
                    keep_parts(model, fixed, self.job)
                self._check_starts(model, 0 if fixed is None else len(fixed))
                align_start(model, self.job, self.start_names, table.feature_names)
                self._begin(model, known)
                begun = True
                with bar(errors(), hidden=self.voice.quiet) as progress:
                    with Interrupt(lambda: _wait(progress)) as interrupt:
                        self._choose(model, source, progress)
                        self._agree(model, source, progress)
                        results = self._fit(model, table, source, known, progress, interrupt, checkpoint_every)
                        self._judge(source, progress)
                    with step(progress, "Writing"), self.timings.of("write"):
                        results.write_tables()
                        results.write_report(self.fitted, self._about())
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
        return "goes on" if finished or self.folder.checkpoint.exists() or self.folder.has(STARTS) else "begins anew"

    @property
    def _kept(self) -> bool:
        """Whether there is something that --resume can go on with."""
        outputs = self.folder.manifest["outputs"]
        return self.resume or self.folder.checkpoint.exists() or MODEL in outputs or STARTS in outputs

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
        from partwise.runs.progress import bar, reading_step

        show = bar(errors(), hidden=self.voice.quiet)
        with self.timings.of("read"), told(2), show, reading_step(show, self.job.data):
            self.field = Field(self.job, self.job.reading.read(self.job.data))
            table = self.field.table
            if 0 in table.X.shape:
                raise Failure(f"{self.job.data}: there is no number in it (shape {table.X.shape})", 2)
            raw = table.source()
            summary = "" if self.voice.quiet else summarize(replace(table, origin=self.job.data), raw)
            known = fingerprint(raw) | {"names": _names_hash(table)}
        self.voice.say(summary)
        self.voice.say()
        for note in self.field.notes:
            self.voice.say(note)
        self.voice.warn([*names_note(table), *self._suspected(table, raw)])
        self._compare(known)
        return table, raw, known

    def _suspected(self, table: Table, source: RowSource) -> list[str]:
        """What looks like a mistake of a first try; those of a run that is gone on with have been told."""
        from partwise.io.suspicions import suspicions

        if self.resume:
            return []
        counting = self.job.method in COUNTING or str(self.job.options.get("beta_loss")) in ("kullback-leibler", "1")
        found = suspicions(table, source, counting=counting, preparation=self.job.preprocess)
        known = "" if self.field.profile is None else self.field.profile.name
        found = [one for one in found if one.kind not in EXPECTED.get(known, ())]
        self.suspected = [f"{text[:1].upper()}{text[1:]}." for text in map(suspected, found)]
        return self.suspected

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
        now, then = self._inputs(), self.earlier["inputs"]
        for flag in {**now, **then}:
            if now.get(flag) != then.get(flag) and not self.force:
                raise Failure(f"the file of --{flag} has changed since that run; --force takes it all the same", 2)
        notes = []
        if self.earlier["versions"] != library_versions():
            notes.append("That run had other versions of the libraries; the last bits may differ.")
        if changed and self.resume:  # a state goes with its data
            notes.append("The data has changed since that run: the fit begins anew.")
            self.resume = False
        self.voice.warn(notes)

    def _inputs(self) -> dict[str, str]:
        """Hashes of the files that the fit starts from, and that it keeps parts of."""
        from partwise.runs import file_hash

        places = {"init": None if self.job.start is None else start_file(self.job.start)}
        places["reference"] = None if self.job.reference is None else Path(self.job.reference)
        return {flag: file_hash(place) for flag, place in places.items() if place is not None and place.is_file()}

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
        if isinstance(k, int) and k > min(n, m):
            raise Failure(f"-k {k} is too many for {n:,} samples of {m:,} features: at most {min(n, m)}", 2)
        shape = self.job.image_shape
        if shape and shape[0] * shape[1] != m:
            raise Failure(
                f"--image-shape {shape[0]}x{shape[1]} has {shape[0] * shape[1]} pixels, a sample {m} features", 2
            )

    def _check_starts(self, model: Any, fixed: int) -> None:
        """Whether many starts can be made, before an earlier run is replaced."""
        if self.job.starts is None:
            return
        if "init" not in model.get_params(deep=False) or self.job.start is not None:
            raise Failure(
                f"--starts is for methods that begin at a start, and without --init; not {self.job.method}", 2
            )
        if fixed and fixed == model.n_components:
            raise Failure(f"--starts: all {fixed} parts are of --fixed, and nothing is left to agree on", 2)

    def _begin(self, model: Any, known: dict[str, Any]) -> None:
        data = {"path": self.job.path, **known}
        if self.resume:
            assert self.earlier is not None
            job = {"job": self.job.as_json(), "command": self.job.command(self.folder.path)} if self.longer else {}
            self.folder.begin(self.earlier | plain(job) | {"data": data, "timings": self.timings}, self.earlier)
            return
        entries = {
            "command": self.job.command(self.folder.path),
            "data": data,
            "job": self.job.as_json(),
            "parameters": _parameters(model, self.job),
            "inputs": self._inputs(),
            "fit": {},
            "warnings": [],
            "resumed": [],
        }
        self.folder.begin(plain(entries) | {"timings": self.timings})

    def _choose(self, model: Any, source: RowSource, progress: Any) -> None:
        """The number of parts, where none was given; a run that is gone on with has it already."""
        from partwise.cli.rank import choose
        from partwise.io.preparation import prepare

        if model.n_components is not None:
            return
        manifest = self.folder.manifest
        if not (self.resume and isinstance(manifest.entries.get("choice"), dict)):
            with self.timings.of("rank"), told_of(self.job.data, source):
                prepared = prepare(source, self.job.preprocess).apply(source)
                missing = getattr(model, "missing", None)
                halves = "further" if missing is None else None
                self.choice = choose(prepared, progress, random_state=self.job.seed, missing=missing, halves=halves)
            manifest.update(choice=plain(self.choice.facts() | {"sentence": str(self.choice)}))
        found = manifest["choice"]
        k = found.get("taken", found["k"] or found["low"])  # runs begun before 0.1.0 do not have it
        if found["k"] is None and k < 2:
            raise Failure(f"the number of parts {found['sentence']}: give it with -k; partwise rank shows more", 2)
        if found["k"] is None:
            self.voice.warn([f"The number of parts {found['sentence']}. {k} are taken; -k gives another number."])
        else:
            self.voice.say(f"{found['sentence'][:1].upper()}{found['sentence'][1:]}.")
        k = max(k, 0 if (fixed := getattr(model, "fixed", None)) is None else len(fixed))  # those are sure
        check_names(self.job, k)
        model.set_params(n_components=k)
        manifest.update(parameters=manifest["parameters"] | {"n_components": k})

    def _agree(self, model: Any, source: RowSource, progress: Any) -> None:
        """Begin at what many starts agree on, which a run that is gone on with has found already."""
        from partwise.belief.consensus import Agreement, agreement
        from partwise.runs import read_state, write_state
        from partwise.runs.progress import Counted

        starts = self.job.starts
        if starts is None:
            return
        if self.resume and self.folder.has(STARTS):
            found = Agreement(**read_state(self.folder.path / STARTS)[0])
        else:
            count = Counted(progress, "Starts")
            with self.timings.of("starts"), told_of(self.job.data, source):
                found = agreement(
                    model, source, n_starts=starts, random_state=self.job.seed, watch=lambda done: count(done, starts)
                )
            self.folder.write(STARTS, lambda path: write_state(path, vars(found)))
        self.field.agreement = found
        model.set_params(init=found.start)

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
        if self.resume and not self.longer and self.folder.has(MODEL) and manifest["fit"].get("finished"):
            with told():
                model = load(self.folder.path / MODEL)
            weights = stored_weights(model, source, check=False)
            notes = list(manifest["warnings"])
            self.fitted = Fitted(model, weights, notes, list(manifest.entries.get("warning_kinds", [""] * len(notes))))
            return Results(self.folder, self.job, model, table, source, known, weights, self.field)
        iterates = "callbacks" in model.get_params(deep=False)  # what does not end between iterations ends at once
        with interrupt.held() if iterates else nullcontext():
            try:
                with self.timings.of("fit"), told_of(self.job.data, table):
                    self.fitted = fit(model, source, self.job, self.folder, progress, interrupt, every)
            except Failure as failure:
                hint = other_methods(failure.__cause__, source)
                raise Failure(failure.message + hint, failure.code) from failure.__cause__
            if self.fitted.done_before:
                manifest["resumed"].append(self.fitted.done_before)
            # in the manifest with the model itself: what is told of a fit is told of the model that is there
            facts = plain(self.fitted.facts()) | {"finished": not self.fitted.interrupted}
            self.fitted.warnings[:0], self.fitted.kinds[:0] = self.suspected, [""] * len(self.suspected)
            if self.choice is not None and hasattr(model, "choice_"):
                model.choice_ = self.choice
            manifest.entries.update(fit=facts, warnings=self.fitted.warnings, warning_kinds=self.fitted.kinds)
            manifest.entries.update(noise=_noise(model, source))
            results = Results(self.folder, self.job, model, table, source, known, self.fitted.weights, self.field)
            results.write_model()
        return results

    def _judge(self, source: RowSource, progress: Any) -> None:
        """Ask which parts to believe; Ctrl-C leaves that open, and the rest is written."""
        from partwise.runs import AtOnce
        from partwise.runs.progress import step

        if not self.job.judge or self.fitted.interrupted:
            return
        try:
            with step(progress, "Judging", "four fits of halves of the samples"), self.timings.of("judge"):
                self.fitted.verdicts = judged(self.fitted, source)
        except (KeyboardInterrupt, AtOnce):
            self.voice.warn(["Interrupted while parts were judged: the report says nothing of which to believe."])
        rows = [] if self.fitted.verdicts is None else [asdict(row) for row in self.fitted.verdicts]
        self.folder.manifest.entries.update(
            plain({"verdicts": rows}), warnings=self.fitted.warnings, warning_kinds=self.fitted.kinds
        )

    def _about(self) -> dict[str, str]:
        data = self.folder.manifest["data"]
        return {
            "Data": f"{Path(self.job.data).name}, SHA-256 {data['sha256'][:16]}...",
            "Method": self.job.method,
            "Seed": str(self.job.seed),
            "Started": self.folder.manifest["sessions"][0]["begun"],
        }

    def _end(self) -> int:
        self.folder.finish("interrupted" if self.fitted.interrupted else "complete", keep=self.fitted.limited)
        facts, manifest = self.fitted.facts(), self.folder.manifest.entries
        self.voice.warn([text for text in self.fitted.warnings if text not in self.suspected])
        known = self.folder.manifest.entries.get("choice", {}).get("sentence", "")
        self.voice.say(decided(self.fitted.model, known=known))
        self.voice.say(outcome(facts, self.timings.get("fit", 0.0)))
        self.voice.say("" if self.fitted.verdicts is None else believed(self.fitted))
        outputs = outputs_of(self.folder.path, manifest)
        width = max(10, *map(len, outputs)) + 1
        for name, path in outputs.items():
            self.voice.say(f"  {name:<{width}}{path}")
        self.voice.result(told_result(self.folder.path, manifest, outputs, self.job.method, facts))
        return INTERRUPTED if self.fitted.interrupted else 0


def _noise(model: Any, source: RowSource) -> dict[str, Any]:
    """What lies outside as many dimensions as there are parts, in the data as the model sees it."""
    from partwise.report.facts import noise_of

    if getattr(model, "missing", None) is not None and getattr(model, "noise_", None) is None:
        return {"sentence": "not measured: entries may be unknown"}
    found = noise_of(model, model.preparation_.apply(source))
    return dict(plain(found.facts() | {"sentence": str(found)}))


def _wait(progress: Any) -> None:
    """Tell that Ctrl-C was heard."""
    for task in progress.task_ids[-1:]:
        progress.update(task, note=WAITS)


def _names_hash(table: Table) -> str:
    """Hash of the names of features and samples."""
    return hashlib.sha256(json.dumps([table.feature_names, table.sample_names]).encode()).hexdigest()


def _parameters(model: Any, job: Job) -> dict[str, Any]:
    """All parameters; a start from a file is named by the file, and known parts by their names."""
    values = {name: value for name, value in model.get_params(deep=False).items() if name != "callbacks"}
    values |= {} if job.fixed is None else {"fixed": job.fixed}
    return values | ({} if job.start is None else {"init": str(job.start)})
