"""A launcher in one file: runs the jobs of a study one after the other in this process. Works as a plug-in as it stands."""

from __future__ import annotations

from collections.abc import Sequence

from einstellung.experiments.execution import JobRunner
from einstellung.experiments.launcher import Failure, Launcher, StudyRun, launchers
from einstellung.experiments.plan import Job
from einstellung.experiments.schedule import JobQueue, in_order
from einstellung.training.devices import torch_threads


@launchers.register("in_process")
class InProcessLauncher(Launcher):
    """Runs jobs in this process."""

    def run(self, jobs: Sequence[Job], study: StudyRun) -> list[Failure]:
        queue = JobQueue(in_order(jobs, workers=1), study.display)
        run_job = JobRunner(study.config, study.root, study.digests)
        with torch_threads(study.config.training.thread_count):
            while (job := queue.take()) is not None:
                queue.finish(job, run_job(job, lambda work, where: study.display.advanced(job, work, where)))
        return queue.failures
