"""One training step of sgd through our loop (augmentation, cue, normalisation, bookkeeping) against a bare loop."""

from __future__ import annotations

import statistics
import time
from typing import Any

import torch
import torch.nn.functional as F

from einstellung.cues import PatchCue
from einstellung.experiments.assembly import build_learner
from einstellung.experiments.config import build_config
from einstellung.learners import Batch
from einstellung.randomness import generator
from einstellung.streams import Stream, shapes
from einstellung.training.precision import Precision

BATCH = 32


def measure() -> dict[str, Any]:
    torch.set_num_threads(1)
    stream = shapes(PatchCue(), train_per_class=20, test_per_class=1)
    rows = []
    for width, steps, repeats in ((64, 3, 9), (16, 8, 15)):
        ratios, bare_rates = compare(stream, width, steps, repeats)
        low, high = min(ratios), max(ratios)
        rows.append(
            {
                "what": f"sgd step, ResNet-18 width {width}, {BATCH} images, 1 thread, "
                f"{Precision.resolve('auto', 'cpu').name}: our loop / bare loop",
                "measured": f"{statistics.median(ratios):.3f} (spread {low:.3f} to {high:.3f}, {repeats} pairs; "
                f"bare loop {statistics.median(bare_rates):.0f} images/s)",
                "reach": "at most 1.05" if width == 64 else "no target",
            }
        )
    return {"rows": rows}


def compare(stream: Stream, width: int, steps: int, repeats: int) -> tuple[list[float], list[float]]:
    """Time of ``steps`` of our steps over as many bare ones, in turn, ``repeats`` times."""
    config = build_config({"backbone": {"name": "resnet18", "width": width}, "training": {"batch_size": BATCH}})
    ours, bare = (build_learner(config, "sgd", 1, stream) for _ in range(2))
    phase = stream.phases[-1]
    for learner in (ours, bare):
        learner.begin_phase(phase)
        learner.net.train()
    order = torch.randperm(len(phase.train), generator=generator(1, "order"))
    augmentation, cue = generator(1, "augmentation"), generator(1, "cue")
    presentation, autocast, optimiser = ours.context.presentation, bare.context.autocast, bare.optimiser
    assert optimiser is not None
    rows = order[:BATCH]
    inputs, labels = presentation.unaugmented(phase.train.take(rows)), phase.train.labels[rows]

    def our_step(number: int) -> None:
        start = number * BATCH % (len(order) - BATCH)
        raw = phase.train.take(order[start : start + BATCH])
        ours.observe(Batch(presentation.training(raw, augmentation, cue), raw.labels, raw))

    def bare_step(number: int) -> None:
        optimiser.zero_grad()
        with autocast():
            loss = F.cross_entropy(bare.net(inputs).float(), labels)
        loss.backward()
        optimiser.step()

    def seconds(step: Any) -> float:
        begin = time.perf_counter()
        for number in range(steps):
            step(number)
        return time.perf_counter() - begin

    for step in (our_step, bare_step):
        step(0)
    ratios, rates = [], []
    for repeat in range(repeats):
        order_of_two = (our_step, bare_step) if repeat % 2 else (bare_step, our_step)
        took = {step.__name__: seconds(step) for step in order_of_two}
        ratios.append(took["our_step"] / took["bare_step"])
        rates.append(steps * BATCH / took["bare_step"])
    return ratios, rates
