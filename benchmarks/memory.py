"""Peak memory of a run of the `paper` preset, per learner: a full ResNet-18 on streams as large as CIFAR-100's two phases.

Each learner gets a process of its own, closes T1 (Fisher information, bases, buffer, generator), takes some steps of T2, is
evaluated, and writes a checkpoint with its own and the selected weights. Only the table of measurements grows with the number
of epochs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from benchmarks.measuring import peak_memory, row
from benchmarks.peers.process import ONE_THREAD

LEARNERS = ("sgd", "ewc_on", "derpp", "gpm", "dgr", "interleaved")
SHORT = ("ewc_on",)
LIMIT = 2.5  # GB


def measure(short: bool) -> dict[str, Any]:
    rows = []
    for method in SHORT if short else LEARNERS:
        print(f"  {method} ...", file=sys.stderr, flush=True)
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.memory", method],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, **ONE_THREAD},
        )
        found = {name: value / 2**30 for name, value in json.loads(done.stdout).items()}
        rows.append(
            row(
                f"peak memory of {method}: ResNet-18 width 64, T1 closed, steps of T2, evaluation, checkpoint",
                f"{found['peak']:.2f} GB (after loading the data {found['data']:.2f} GB)",
                f"under {LIMIT} GB",
                found["peak"] < LIMIT,
                gigabytes=found,
            )
        )
    return {"rows": rows}


def one(method: str) -> dict[str, int]:
    import tempfile
    from pathlib import Path

    import torch

    from einstellung.cues import PatchCue
    from einstellung.experiments.assembly import build_learner
    from einstellung.learners import Batch
    from einstellung.randomness import generator
    from einstellung.results.config import build_config
    from einstellung.streams import ImageSet, shapes
    from einstellung.training import Evaluator
    from einstellung.training.checkpoint import save_state

    # 24 classes in T1 and 12 in T2: as many images of the same size as CIFAR-100's 40 and 20
    stream = shapes(PatchCue(), train_per_class=833, test_per_class=167)
    few = {"ewc_on": {"fisher_images": 64}, "dgr": {"generator_epochs": 1}}  # to save time
    config = build_config({"training": {"batch_size": 32}, "learners": few})
    learner = build_learner(config, method, 1, stream)
    loaded = peak_memory()
    first, last = stream.phases
    if not learner.skips_history:
        learner.begin_phase(first)
        learner.end_phase(first)
    learner.begin_phase(last)
    learner.training_mode()
    learner.begin_epoch(last, 1)
    draws = generator(1, "benchmark")
    images = ImageSet.joined([source.train for source in learner.sources(last)])
    for _ in range(6):
        raw = images.take(torch.randint(len(images), (32,), generator=draws))
        inputs = learner.context.presentation.training(raw, draws, draws)
        learner.observe(Batch(inputs, raw.labels, raw))
    evaluator = Evaluator(stream, learner.context.presentation, learner.context.autocast)
    evaluator.measure(learner.net, ["T2_val"])  # other splits are as large or larger, and evaluated in equal batches
    assert learner.optimiser is not None
    chosen = {name: value.detach().clone() for name, value in learner.net.state_dict().items()}
    momentum = {str(number): state for number, state in learner.optimiser.state_dict()["state"].items()}
    with tempfile.TemporaryDirectory() as folder:
        state = {
            "net": learner.net.state_dict(),
            "learner": learner.state_dict(),
            "optimiser": momentum,
            "best": chosen,
        }
        save_state(Path(folder) / "checkpoint.safetensors", state)
    return {"data": loaded, "peak": peak_memory()}


if __name__ == "__main__":
    print(json.dumps(one(sys.argv[1])))
