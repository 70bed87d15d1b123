"""Execution of one job: train, evaluate, save checkpoints, leave a finished run folder."""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from torch import Tensor

from einstellung.errors import InputError
from einstellung.experiments.assembly import build_learner, build_stream, data_digests
from einstellung.experiments.attention_log import AttentionLog
from einstellung.experiments.evaluation_cache import EvaluationCache
from einstellung.experiments.evaluation_schedule import splits_due
from einstellung.experiments.launcher import Failure
from einstellung.experiments.live_timeline import LiveTimeline
from einstellung.experiments.log_targets import LoggedRun
from einstellung.experiments.plan import Job, phase_work, stages
from einstellung.experiments.plugins import load_plugins, place_in_plugin
from einstellung.experiments.run_log import RunLog
from einstellung.experiments.samples import image_archive
from einstellung.experiments.shown_accuracy import shown_accuracy
from einstellung.files import write_bytes, write_text
from einstellung.folders import never_recreated
from einstellung.hashes import DamagedError, fingerprint, write_sealed
from einstellung.learners import Learner, Stage
from einstellung.randomness import seeded_globally
from einstellung.results.config import StudyConfig
from einstellung.results.folder import CHECKPOINT, TRACE, require_whole
from einstellung.streams import Phase, Stream
from einstellung.timeline import Timeline
from einstellung.training import Evaluator, LoopSettings, PhaseLoop
from einstellung.training.checkpoint import load_checkpoint, load_state, save_checkpoint, save_state
from einstellung.training.devices import accelerator_facts
from einstellung.training.evaluator import Measurement
from einstellung.training.loop import require_finite
from einstellung.visible import visible

OnProgress = Callable[[float, str], None]  # work done, and the position in words
_TIE = 1e-12
_METRICS = ("acc", "loss", "n", "acc_task", "acc_within", "top5")


class JobRunner:
    """Runs jobs of one study in this process; the stream is built once and compared with the data that were checked."""

    def __init__(
        self, config: StudyConfig, root: Path, digests: Mapping[str, str], stream: Stream | None = None
    ) -> None:
        self.config, self.root, self.digests = config, root, digests
        self._stream = stream  # of :func:`proved_stream`

    def __call__(self, job: Job, on_progress: OnProgress) -> Failure | None:
        """Run one job to its finished folder, or say why it failed."""
        (self.root / job.folder / TRACE).unlink(missing_ok=True)
        try:
            if self._stream is None:
                self._stream = proved_stream(self.config, self.digests)
            with torch.random.fork_rng(devices=[]), never_recreated(self.root):
                execute(job, self.config, self.root, self._stream, on_progress)
        except InputError as error:
            return Failure(job, str(error), by_input=True)
        except Exception as error:  # noqa: BLE001 (any error is recorded as this job's failure, and the study continues)
            what = f"{type(error).__name__}: {error}".splitlines()[0]
            return Failure(job, what + place_in_plugin(error, self.config.plugins) + self._trace(job), by_input=False)
        return None

    def _trace(self, job: Job) -> str:
        """Write the traceback before the failure is reported; where it is, as the end of the message."""
        file = self.root / job.folder / TRACE
        try:
            with never_recreated(self.root):
                write_text(file, visible(traceback.format_exc()))
        except InputError:  # a full disk, perhaps: the failure itself matters more
            return ""
        return f"; traceback: {file}"


def proved_stream(config: StudyConfig, digests: Mapping[str, str], received: Stream | None = None) -> Stream:
    """The stream of a study, built here or ``received``; its data must be those that were checked."""
    load_plugins(config.plugins)
    stream = received or build_stream(config)
    if data_digests(stream) != digests:
        raise InputError("the data differ from those checked at the start of the study; has a file changed?")
    return stream


def execute(job: Job, config: StudyConfig, root: Path, stream: Stream, on_progress: OnProgress) -> None:
    """Run the job; the caller handles errors."""
    torch.set_num_threads(config.training.thread_count)  # sums depend on it
    JobExecution(job, config, root, stream, on_progress).run()


class JobExecution:
    """The state of a job: learner, timeline rows so far, the chosen checkpoint, and the work done."""

    def __init__(self, job: Job, config: StudyConfig, root: Path, stream: Stream, on_progress: OnProgress) -> None:
        self.job = job
        self.config = config
        self.root = root
        self.stream = stream
        self.on_progress = on_progress
        self.folder = root / job.folder
        self.checkpoint_file = self.folder / CHECKPOINT
        self.learner: Learner = build_learner(config, job.method, job.seed, stream)
        context = replace(self.learner.context, report_progress=self._report)
        self.learner.context = context
        self.evaluator = Evaluator(stream, context.presentation, context.autocast, config.evaluation.batch_size)
        self.attention = (
            AttentionLog(config.attention, stream, context.presentation, context.autocast) if config.attention else None
        )
        shared = job.kind == "first_phase"
        logged = LoggedRun(self.folder, root, config.name, job.method, job.seed, shared)
        self.log = RunLog(logged, config.logging)
        self.live = LiveTimeline(self.folder)
        self.rows: list[dict[str, Any]] = []
        self._sizes = [len(phase.train) for phase in stream.phases]
        self.samples = {phase.name: 0 for phase in stream.phases}
        self.best: dict[str, Any] = {}
        self.cache = EvaluationCache()
        self.last: dict[str, Tensor] = {}  # predictions after the last epoch, by split
        self.seconds = 0.0
        self._clock = time.monotonic()
        self._work = 0.0
        self._reported_at = 0.0
        self._accuracy = ""  # the latest, in words

    def run(self) -> None:
        try:
            self._run()
        finally:
            self.log.close()

    def _run(self) -> None:
        phases = self._phases()
        number, done = 0, 0
        if (state := self._interrupted()) is not None:
            number, done = self._resume(phases, state)
        else:
            self._inherit()
        self.log.start(self.rows)
        self.live.add(self.rows)
        for position in range(number, len(phases)):
            phase = phases[position]
            self._accuracy = shown_accuracy(self.stream, phase, self.rows)
            if not done:
                self.learner.begin_phase(phase)
                self._measure(phase, 0.0)
            self._learn(phases, position, done)
            done = 0
            if position < len(phases) - 1:
                self._close(phase)
        self._report("saving", force=True)
        if self.job.kind == "first_phase":
            self._finish_first_phase()
        else:
            self._finish_run()
        self.checkpoint_file.unlink(missing_ok=True)
        self.live.remove()

    def _phases(self) -> list[Phase]:
        if self.job.kind == "first_phase":
            return [self.stream.phases[0]]
        return list(self.stream.phases[-1:] if self.job.needs is None else self.stream.phases[1:])

    def _inherit(self) -> None:
        """Load weights, memory and rows of the first phase, and let the learner end it."""
        if self.job.needs is None:
            return
        file = self.root / self.job.needs / "state.safetensors"
        require_whole(file)
        state = load_state(file)
        self.learner.net.load_state_dict(state["net"])
        if not self.learner.shares_first_phase(self.learner.options):
            self.learner.load_state_dict(state["learner"])
        self.rows = [{**row, "method": self.job.method} for row in state["rows"]]
        self.samples.update(state["samples"])
        if self.attention is not None:
            self.attention.load_state_dict(state["attention"])
        first = self.stream.phases[0]
        if (end := state.get("measured_at_end")) is not None:
            self.cache.store(self.learner.net, [row for row in self.rows if row["epoch"] == end])
        self._close(first)

    def _close(self, phase: Phase) -> None:
        self._report(f"closing {phase.name}", force=True)
        with seeded_globally(self.job.seed, "net", phase.name, "end"):
            self.learner.end_phase(phase)
        self._work += self._closing_work(phase)

    def _closing_work(self, phase: Phase) -> float:
        return self.learner.workload.closing_cost(self.learner.options, len(phase.train))

    def _price(self, number: int, stage: Stage) -> float:
        batch_size = self.config.training.batch_size
        return self.learner.workload.price(self.learner.options, self._sizes, number, batch_size, stage.name)

    def _learn(self, phases: list[Phase], position: int, done: int) -> None:
        """Train the stages of a phase, from its epoch ``done`` on."""
        phase = phases[position]
        number = self._number(phase)
        parts = self._stages(phase)
        total = sum(stage.epochs for stage in parts)
        epoch = done

        def on_step(counts: dict[str, int]) -> None:
            for name, count in counts.items():
                self.samples[name] += count
            self._work += price * (counts[phase.name] if covers_phase else sum(counts.values()))
            self._report(f"{phase.name} epoch {epoch + 1}/{total}")

        def on_epoch(finished: int, effective: float) -> None:
            nonlocal epoch
            epoch = finished
            if measured:
                self._measure(phase, effective, last=finished == total)
            if finished < total or position < len(phases) - 1:
                self._save(position, finished)

        before, measured, price, covers_phase = 0, True, 1.0, True
        for stage in parts:
            measured = not stage.preparatory
            price = self._price(number, stage)
            # epochs of this stage that an interrupted run had finished
            within = min(max(done - before, 0), stage.epochs)
            share = self.learner.workload.share(self.learner.options, self._sizes, number, stage.name)
            self._work += within * share * len(phase.train) * price
            if not within:
                self.learner.begin_stage(phase, stage)
            covers_phase = any(source is phase for source in self.learner.sources(phase))
            loop = PhaseLoop(
                self.learner,
                phase,
                self._settings(number, stage, before),
                on_epoch,
                (lambda e: self._measure(phase, e)) if measured else lambda e: None,
                on_step,
                consumed=self.samples[phase.name],
            )
            loop.run(within)
            before += stage.epochs

    def _settings(self, number: int, stage: Stage, before: int) -> LoopSettings:
        training, name = self.config.training, self.stream.phases[number].name
        watched = number == len(self._sizes) - 1 or name in self.stream.phase_cues
        return LoopSettings(
            epochs=stage.passes,
            batch_size=training.batch_size,
            lr=training.lr,
            # a stage with another number of passes decays its learning rate at the same fractions of it
            milestones=tuple(m * stage.passes / training.epochs[number] for m in training.milestones_of(number)),
            decay=training.decay,
            evaluate_every_steps=self.config.evaluation.every_steps if watched else None,
            cosine=training.schedule == "cosine",
            lr_end=training.lr_end,
            before=before,
        )

    def _number(self, phase: Phase) -> int:
        return [other.name for other in self.stream.phases].index(phase.name)

    def _stages(self, phase: Phase) -> tuple[Stage, ...]:
        return stages(self.config, self.job.method, self._sizes, self._number(phase))

    def _measure(self, phase: Phase, epoch: float, last: bool = False) -> None:
        """Evaluate every split that is due; in the last phase, keep the best checkpoint by validation accuracy."""
        epoch = round(epoch, 6)
        due = splits_due(self.stream, phase, self.config.evaluation, epoch, last)
        known = self.cache.lookup(self.learner.net) if epoch == 0 else {}
        measurements, rows = self._record(phase, epoch, due, known)
        if last:
            self.cache.store(self.learner.net, rows)
        if self.attention is not None and self.attention.is_due(epoch, last):
            self._report(f"attention after epoch {epoch:g} of {phase.name}", force=True)
            self.attention.measure(self.learner.net, phase, epoch)
        if phase is not self.stream.phases[-1] or epoch == 0:
            return
        if last:
            self.last = {m.split: m.predictions for m in measurements}
        deciding = self.stream.selected_by or (f"{phase.name}_val",)
        found = [m.acc for m in measurements if m.split in deciding]
        validation = min(found) if len(found) == len(deciding) else None
        before = self.best.get("validation")
        if validation is None or before is None or validation > before + _TIE:
            self.best = {
                "validation": validation,
                "epoch": epoch,
                "net": {name: value.detach().clone() for name, value in self.learner.net.state_dict().items()},
                "predictions": {m.split: m.predictions for m in measurements},
            }

    def _record(
        self, phase: Phase, epoch: float, names: list[str], known: Mapping[str, dict[str, Any]] | None = None
    ) -> tuple[list[Measurement], list[dict[str, Any]]]:
        """Add a row for each of these splits; evaluate the net on those whose row is not ``known``."""
        known = known or {}
        measurements = self.evaluator.measure(self.learner.net, [name for name in names if name not in known])
        for measured in measurements:
            require_finite(measured.loss, f"on {measured.split} at epoch {epoch:g} of {phase.name}")
        values = {measured.split: {name: getattr(measured, name) for name in _METRICS} for measured in measurements}
        values |= {name: {key: row[key] for key in _METRICS} for name, row in known.items()}
        moment = {"method": self.job.method, "seed": self.job.seed, "phase": phase.name, "epoch": epoch}
        rows = [{**moment, "split": name, **values[name]} for name in names]
        self.rows += rows
        self._accuracy = shown_accuracy(self.stream, phase, self.rows)
        self.live.add(rows)
        self.log.add(rows, None if self.learner.optimiser is None else self.learner.optimiser.param_groups[0]["lr"])
        return measurements, rows

    def _save(self, position: int, done: int) -> None:
        assert self.learner.optimiser is not None
        optimiser = self.learner.optimiser.state_dict()
        save_checkpoint(
            self.checkpoint_file,
            {
                "key": self.job.key,
                "position": position,
                "done": done,
                "rows": self.rows,
                "samples": self.samples,
                "seconds": self.seconds + time.monotonic() - self._clock,
                "net": self.learner.net.state_dict(),
                "learner": self.learner.state_dict(),
                "optimiser": {str(number): state for number, state in optimiser["state"].items()},
                "best": self.best,
                "attention": {} if self.attention is None else self.attention.state_dict(),
            },
        )

    def _interrupted(self) -> dict[str, Any] | None:
        """The checkpoint of an earlier attempt; None where there is none, or a damaged one, which is named and given up."""
        if not self.checkpoint_file.exists():
            return None
        try:
            return load_checkpoint(self.checkpoint_file)
        except DamagedError as error:
            what = str(error).partition(";")[0]
            print(visible(f"einstellung: {what}; {self.job.label} starts again"), file=sys.stderr, flush=True)
            self.checkpoint_file.unlink(missing_ok=True)
            return None

    def _resume(self, phases: list[Phase], state: dict[str, Any]) -> tuple[int, int]:
        """Restore the end of the last whole epoch: the phase's position and its number of epochs done."""
        if state["key"] != self.job.key:
            raise InputError(f"{self.checkpoint_file} was made with other settings; delete it to train the run again")
        self.rows, self.samples, self.best = state["rows"], state["samples"], state["best"]
        self.seconds = state["seconds"]
        if self.attention is not None:
            self.attention.load_state_dict(state["attention"])
        self.learner.load_state_dict(state["learner"])  # begin_phase may use the learner's memory
        self._restart_phase(phases[state["position"]], state["done"])
        self.learner.net.load_state_dict(state["net"])
        self.learner.load_state_dict(state["learner"])
        assert self.learner.optimiser is not None
        fresh = self.learner.optimiser.state_dict()
        fresh["state"] = {int(number): value for number, value in state["optimiser"].items()}
        self.learner.optimiser.load_state_dict(fresh)
        self._work = self._work_before(phases, state["position"])
        return state["position"], state["done"]

    def _work_before(self, phases: list[Phase], position: int) -> float:
        """The work of a run before the phase at ``position``."""
        work = 0.0 if self.job.needs is None else self._closing_work(self.stream.phases[0])
        for phase in phases[:position]:
            work += phase_work(self.config, self.job.method, self._sizes, self._number(phase))
            work += self._closing_work(phase)
        return work

    def _restart_phase(self, phase: Phase, done: int) -> None:
        """Begin a phase of which ``done`` epochs are trained, and the stage that was interrupted."""
        self.learner.begin_phase(phase)
        before = 0
        for stage in self._stages(phase):
            if before < done < before + stage.epochs:
                self.learner.begin_stage(phase, stage)
            before += stage.epochs

    def _finish_first_phase(self) -> None:
        save_state(
            self.folder / "state.safetensors",
            {
                "net": self.learner.net.state_dict(),
                "learner": self.learner.state_dict(),
                "rows": self.rows,
                "samples": self.samples,
                "attention": {} if self.attention is None else self.attention.state_dict(),
                # the epoch at which this very net was evaluated: runs that start from it need not evaluate it again
                "measured_at_end": next((row["epoch"] for row in self.cache.lookup(self.learner.net).values()), None),
            },
        )
        self._write_status(["state.safetensors"], {})

    def _finish_run(self) -> None:
        save_state(self.folder / "model.safetensors", self.best["net"])
        save_state(self.folder / "model_last.safetensors", self.learner.net.state_dict())
        self._complete_chosen()
        Timeline(pd.DataFrame(self.rows)).write(self.folder / "timeline.csv")
        write_text(self.folder / "predictions.csv", self._predictions(self.best["predictions"]))
        write_text(self.folder / "predictions_last.csv", self._predictions(self.last))
        files = ["timeline.csv", "model.safetensors", "model_last.safetensors"]
        files += ["predictions.csv", "predictions_last.csv"]
        if pictures := self.learner.pictures():
            write_bytes(self.folder / "pictures.npz", image_archive(pictures))
            files.append("pictures.npz")
        if self.attention is not None:
            files += self.attention.write(self.folder)
        self._write_status(files, {"chosen_epoch": self.best["epoch"], "first_phase": self.job.needs})

    def _complete_chosen(self) -> None:
        """Evaluate the chosen checkpoint on the splits that were not due at its epoch; rows stay sorted by time."""
        absent = [split.name for split in self.stream.splits if split.name not in self.best["predictions"]]
        self.learner.net.load_state_dict(self.best["net"])
        measurements, _ = self._record(self.stream.phases[-1], self.best["epoch"], absent)
        self.best["predictions"] |= {measured.split: measured.predictions for measured in measurements}
        place = {phase.name: number for number, phase in enumerate(self.stream.phases)}
        self.rows.sort(key=lambda row: (place[row["phase"]], row["epoch"]))

    def _predictions(self, by_split: Mapping[str, Tensor]) -> str:
        """The prediction of every image, as CSV."""
        frames = []
        for split in self.stream.splits:
            images, predicted = split.images, by_split[split.name]
            columns: dict[str, Tensor] = {"index": images.index, "label": images.labels, "prediction": predicted}
            frame = pd.DataFrame({key: value.numpy() for key, value in columns.items()})
            frame.insert(0, "split", split.name)
            frames.append(frame)
        text: str = pd.concat(frames).to_csv(index=False, lineterminator="\n")
        return text

    def _write_status(self, files: list[str], more: dict[str, Any]) -> None:
        write_sealed(
            self.folder / "status.json",
            {
                "state": "finished",
                "key": self.job.key,
                "method": self.job.method,
                "seed": self.job.seed,
                "real_samples": self.samples,
                "seconds": round(self.seconds + time.monotonic() - self._clock, 2),
                "finished_at": datetime.now(UTC).isoformat(timespec="seconds"),
                **accelerator_facts(self.learner.context.device),
                **more,
                "files": {name: fingerprint(self.folder / name) for name in files},
            },
        )

    def _report(self, where: str, force: bool = False) -> None:
        """Report progress with the latest accuracy, at most every 0.4 s unless ``force``."""
        now = time.monotonic()
        if force or now - self._reported_at > 0.4:
            self._reported_at = now
            self.on_progress(self._work, f"{where}; {self._accuracy}" if self._accuracy else where)
