"""Texts and series: training steps of our loop against a bare loop in plain torch, and the peak memory of a run.

Both sides take turns in one process on one thread, with the same net, batch size and optimiser. Ours reads, paints the cue,
normalises, steps and keeps count; the bare loop gets two ready-made batches, as the net takes them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import cycle
from typing import Any

import torch
import torch.nn.functional as F

from benchmarks.measuring import peak_memory, row
from benchmarks.peers.process import ONE_THREAD
from benchmarks.rates import Work, measured, warm
from einstellung.backbones import build_backbone
from einstellung.errors import InputError
from einstellung.experiments.assembly import build_learner, build_stream, resolve
from einstellung.results.config import StudyConfig, build_config
from einstellung.streams import Stream
from einstellung.training import LoopSettings, PhaseLoop
from einstellung.training.devices import torch_threads

BATCH, STEPS = 32, 10  # steps at a time, so that a measurement is long enough for the clock
REACH, LIMIT = 0.8, 1.5  # of the bare loop's speed; GB


@dataclass(frozen=True)
class Case:
    """A net on a stream, and the synthetic stream that stands in where the real data were not found."""

    stream: Mapping[str, Any]
    stand_in: Mapping[str, Any]
    backbone: Mapping[str, Any]
    is_short: bool = True

    def prepared(self) -> tuple[StudyConfig, Stream]:
        """Configuration and stream, of the real data where they are found."""
        values = {
            "backbone": dict(self.backbone),
            "methods": ["sgd"],
            "training": {"batch_size": BATCH, "precision": "fp32", "epochs": [1, 1], "milestones": []},
        }
        config = resolve(build_config({**values, "stream": dict(self.stream)}))
        try:
            return config, build_stream(config)
        except InputError as error:
            if "EINSTELLUNG_DATA" not in str(error):
                raise
        config = resolve(build_config({**values, "stream": dict(self.stand_in)}))
        return config, build_stream(config)


_TEXTS = ({"name": "newsgroups"}, {"name": "phrases", "length": 112})
_SERIES = ({"name": "ucr", "dataset": "Crop"}, {"name": "waves", "length": 46})
CASES = {
    "embedding_bag": Case(*_TEXTS, {"name": "embedding_bag"}),
    "text_transformer": Case(*_TEXTS, {"name": "text_transformer"}),
    "resnet1d": Case(*_SERIES, {"name": "resnet1d"}),
    "resnet1d, width 8": Case(*_SERIES, {"name": "resnet1d", "width": 8}, is_short=False),
}


def measure(short: bool) -> dict[str, Any]:
    rows: list[dict[str, Any]] = []
    found: dict[str, Any] = {}
    for name, case in CASES.items():
        if short and not case.is_short:
            continue
        print(f"  {name} ...", file=sys.stderr, flush=True)
        config, stream = case.prepared()
        with torch_threads(1):
            works = {
                "ours": Work(STEPS * BATCH, our_steps(config, stream, STEPS)),
                "bare": Work(STEPS * BATCH, bare_steps(config, stream, STEPS)),
            }
            warm(works)
            rates = measured(works, {}, 5 if short else 21)
        ratio, words = rates.over("ours", "bare"), stream.modality.words
        where = f"{name} on {stream.name}, {stream.modality.size(stream.phases[0].train.images)} a {words.one}"
        rows.append(
            row(
                f"{where}, batches of {BATCH}, 1 thread: sgd in T2, everything inside / bare loop, {words.many} per core-second",
                f"{ratio.words()} ({rates.of('ours').words(0)} against {rates.of('bare').words(0)})",
                f"at least {REACH}",
                ratio.median >= REACH,
            )
        )
        gigabytes = run_memory(name)
        rows.append(
            row(
                f"{where}: peak memory of a run: data, proof, steps and evaluation of both phases, checkpoint",
                f"{gigabytes:.2f} GB",
                f"under {LIMIT} GB",
                gigabytes < LIMIT,
            )
        )
        found[name] = {"stream": dict(config.stream.options), "core_seconds": rates.seconds, "gigabytes": gigabytes}
    return {"rows": rows, "cases": found}


def our_steps(config: StudyConfig, stream: Stream, steps: int) -> Callable[[], None]:
    """An epoch over ``steps`` batches of T2, through the real loop."""
    learner, last = build_learner(config, "sgd", 1, stream), stream.phases[-1]
    every = torch.linspace(0, len(last.train) - 1, steps * BATCH).long()  # from all of its classes
    phase = replace(last, train=last.train.take(every))
    learner.begin_phase(phase)
    settings = LoopSettings(1, BATCH, config.training.lr)
    return PhaseLoop(learner, phase, settings, lambda *_: None, lambda _: None, lambda _: None).run


def bare_steps(config: StudyConfig, stream: Stream, steps: int) -> Callable[[], None]:
    """The same number of steps in plain torch, on ready-made inputs of the same shape and content."""
    net = build_backbone(config.backbone.name, config.backbone.options, stream.n_outputs, seed=1).train()
    some = stream.phases[-1].train.take(torch.linspace(0, len(stream.phases[-1].train) - 1, 2 * BATCH).long())
    stored = some.images
    # written out here, not by our own presentation, which is what is measured
    inputs = stored.flatten(1).long() if stream.modality.name == "text" else stored.flatten(2).float()
    batches = cycle(list(zip(inputs.split(BATCH), some.labels.split(BATCH), strict=True)))
    training = config.training
    optimiser = torch.optim.SGD(
        net.parameters(), lr=training.lr, momentum=training.momentum, weight_decay=training.weight_decay
    )

    def loop() -> None:
        for _ in range(steps):
            batch, labels = next(batches)
            optimiser.zero_grad()
            loss = F.cross_entropy(net(batch), labels)
            loss.backward()
            optimiser.step()

    return loop


def run_memory(name: str) -> float:
    """Peak memory of one whole run in gigabytes, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.modalities", name],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **ONE_THREAD},
    )
    return float(json.loads(done.stdout)) / 2**30


def one_run(name: str) -> int:
    """Peak memory in bytes: the data are read, the stream is proved, and each phase is trained and evaluated as in a study.

    Phases are cut to some batches, which costs time and frees no memory that counts: all data have been in memory before.
    """
    import tempfile
    from pathlib import Path

    from einstellung.experiments.execution import execute
    from einstellung.experiments.plan import plan
    from einstellung.experiments.rehearsal import with_few_images
    from einstellung.streams import prove

    config, stream = CASES[name].prepared()
    prove(stream).require()
    whole = stream  # stays in memory
    stream = with_few_images(whole, 20 * BATCH)
    with tempfile.TemporaryDirectory() as place:
        for job in plan(config, stream)[:2]:  # T1, and T2 of the first seed
            execute(job, config, Path(place), stream, lambda *_: None)
    return peak_memory()


if __name__ == "__main__":
    print(json.dumps(one_run(sys.argv[1])))
