"""What a SLURM job runs: one job of a study, in the results folder that all nodes share.

It answers by files in the folder of the launcher, so that no result has to be unpickled: its progress, and its outcome.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from einstellung.errors import InputError
from einstellung.experiments.execution import JobRunner
from einstellung.experiments.launcher import Failure
from einstellung.experiments.plan import Job
from einstellung.experiments.remote import RemoteStudy, prepare_process
from einstellung.files import digest, read_json, write_json


@dataclass(frozen=True)
class Answers:
    """The files in which a job says how far it is and how it ended."""

    folder: Path
    name: str

    @staticmethod
    def of(folder: Path, job: Job) -> Answers:
        return Answers(folder, digest({"folder": job.folder, "key": job.key}))

    @property
    def outcome_file(self) -> Path:
        return self.folder / "outcomes" / f"{self.name}.json"

    @property
    def progress_file(self) -> Path:
        return self.folder / "progress" / f"{self.name}.json"

    def forget(self) -> None:
        """Remove what an earlier attempt said."""
        self.outcome_file.unlink(missing_ok=True)
        self.progress_file.unlink(missing_ok=True)

    def note_outcome(self, failure: Failure | None) -> None:
        reason = None if failure is None else {"reason": failure.reason, "by_input": failure.by_input}
        write_json(self.outcome_file, {"failure": reason})

    def outcome(self, job: Job) -> tuple[Failure | None] | None:
        """The failure or None, in a tuple; None while there is no outcome."""
        if not self.outcome_file.exists():
            return None
        failure = read_json(self.outcome_file)["failure"]
        if failure is None:
            return (None,)
        return (Failure(job, str(failure["reason"]), bool(failure["by_input"])),)

    def progress(self) -> tuple[float, str] | None:
        with suppress(InputError, KeyError, TypeError, ValueError):  # a file system over a network may show half of it
            said = read_json(self.progress_file)
            return float(said["work"]), str(said["where"])
        return None


@dataclass(frozen=True)
class SlurmTask:
    """A job with its study. ``pause``: seconds between two reports of progress."""

    job: Job
    study: RemoteStudy
    folder: Path
    pause: float

    def __call__(self) -> None:
        answers, last = Answers.of(self.folder, self.job), float("-inf")

        def report(work: float, where: str) -> None:
            nonlocal last
            if time.monotonic() - last >= self.pause:
                last = time.monotonic()
                with suppress(InputError):
                    write_json(answers.progress_file, {"work": work, "where": where})

        report(0.0, "starting")
        try:
            prepare_process(self.study, "a node of the cluster")
        except InputError as error:
            answers.note_outcome(Failure(self.job, str(error), by_input=True))
            return
        study = self.study
        answers.note_outcome(JobRunner(study.config, study.root, study.digests)(self.job, report))

    def checkpoint(self) -> Any:
        """Called shortly before SLURM stops the job: the same again, which goes on after the last whole epoch."""
        from submitit.helpers import DelayedSubmission

        return DelayedSubmission(self)
