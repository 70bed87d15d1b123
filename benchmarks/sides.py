"""The two sides of a comparison, each in a process of its own: ``python -m benchmarks.sides study|run|steps``.

``study``: a whole study through our launcher, with shared first phases and parallel workers. ``run``: one method with one seed as
in a framework: in this process, from the first phase on, with torch's kernels in fp32 and Fisher information one image at a time.
``steps``: a step of such a run against a step of a bare loop.
Timing starts after torch is imported and kernels are compiled (once per machine); for a study it includes starting the workers.
Requests are JSON on standard input, answers JSON on standard output.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
import torch._dynamo  # torch imports it at the first optimiser: no work of a run's
from torch import Tensor, nn

from benchmarks.bare import bare_steps, fisher_one_at_a_time
from benchmarks.measuring import core_seconds, wall_seconds
from einstellung.experiments.assembly import build_learner, build_stream, resolve
from einstellung.experiments.execution import execute
from einstellung.experiments.plan import plan
from einstellung.experiments.study import prepare_study, ready_kernels, run_study
from einstellung.learners import ewc_on
from einstellung.results.config import build_config
from einstellung.results.folder import ResultsFolder
from einstellung.training import LoopSettings, PhaseLoop


def asked(what: str, **question: Any) -> Any:
    """The answer to a question, from a new process.

    A framework lets OpenMP's threads wait as they do by default; our launcher sees to its workers' threads itself.
    """
    environment = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"}
    command = [sys.executable, "-m", "benchmarks.sides", what]
    done = subprocess.run(command, input=json.dumps(question), capture_output=True, text=True, env=environment)
    if done.returncode:
        raise RuntimeError(f"{what} failed:\n{done.stderr}")
    return json.loads(done.stdout)


def study(values: Mapping[str, Any], out: str, workers: int) -> dict[str, float]:
    """The cost of a whole study, from its configuration to its merged timeline."""
    config = build_config(values)
    ready_kernels(resolve(config))

    def work() -> None:
        prepared = prepare_study(config, Path(out))
        with ResultsFolder(Path(out)).in_use():
            outcome = run_study(prepared, Path(out), workers, "a benchmark")
        if outcome.failures:
            raise RuntimeError(f"{outcome.failures[0].job.label}: {outcome.failures[0].reason}")
        _end_the_server()

    return _cost(work)


def run(values: Mapping[str, Any], out: str) -> dict[str, float]:
    """The cost of one method with one seed, trained alone in this process without sharing anything."""

    def work() -> None:
        config = resolve(build_config(values))
        stream = build_stream(config)
        # the same Fisher information, at a framework's price
        with patch.object(ewc_on, "fisher_per_sample", one_at_a_time):
            for job in plan(config, stream):
                execute(job, config, Path(out), stream, lambda *_: None)

    return _cost(work)


def steps(
    values: Mapping[str, Any], count: int, repeats: int, threads: Sequence[int]
) -> dict[str, dict[str, list[float]]]:
    """Seconds of ``count`` steps of sgd as :func:`run` takes them and as a bare loop does, in turn, by number of threads.

    Every second time the bare loop comes first.
    """
    config = resolve(build_config(values))
    stream, training = build_stream(config), config.training
    phase = stream.phases[0]
    some = phase.train.take(torch.arange(count * training.batch_size) % len(phase.train))
    learner = build_learner(config, "sgd", 1, stream)
    learner.begin_phase(phase)
    settings = LoopSettings(1, training.batch_size, training.lr)
    loop = PhaseLoop(learner, replace(phase, train=some), settings, lambda *_: None, lambda _: None, lambda _: None)
    bare = bare_steps(config.backbone.options["width"], count, training.batch_size)
    took = {}
    for number in threads:
        torch.set_num_threads(number)
        loop.run()
        bare()
        pairs = [_in_turn(loop.run, bare, repeat) for repeat in range(repeats)]
        took[str(number)] = {"run": [one for one, _ in pairs], "bare": [other for _, other in pairs]}
    return took


def one_at_a_time(net: nn.Module, inputs: Any, labels: Tensor, **_: Any) -> dict[str, Tensor]:
    """The Fisher information of images that the learner hands over a slice at a time."""
    return fisher_one_at_a_time(net, inputs[0 : len(labels)], labels)


def _in_turn(one: Callable[[], None], other: Callable[[], None], repeat: int) -> tuple[float, float]:
    """Wall seconds of both."""
    if repeat % 2:
        later = wall_seconds(other)
        return wall_seconds(one), later
    return wall_seconds(one), wall_seconds(other)


def _cost(work: Callable[[], None]) -> dict[str, float]:
    begin = time.perf_counter()
    used = core_seconds(work)
    return {"core": used, "wall": time.perf_counter() - begin}


def _end_the_server() -> None:
    """End the fork server: its CPU time and that of its workers are known only after it has ended."""
    if "forkserver" in multiprocessing.get_all_start_methods():
        from multiprocessing.forkserver import _forkserver

        _forkserver._stop()


if __name__ == "__main__":
    said: Any = {"study": study, "run": run, "steps": steps}[sys.argv[1]](**json.load(sys.stdin))
    print(json.dumps(said))
