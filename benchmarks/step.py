"""Training sgd through our loop (reading, augmentation, cue, normalisation, bookkeeping) against a bare loop."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

from einstellung.cues import PatchCue
from einstellung.experiments.assembly import build_learner
from einstellung.experiments.config import build_config
from einstellung.streams import Stream, shapes
from einstellung.training import LoopSettings, PhaseLoop
from einstellung.training.precision import Precision

BATCH = 32


def measure() -> dict[str, Any]:
    torch.set_num_threads(1)
    rows = []
    for width, per_class, repeats in ((64, 10, 7), (16, 30, 15)):
        stream = shapes(PatchCue(), train_per_class=per_class, test_per_class=1)
        ratios, bare_rates = compare(stream, width, repeats)
        rows.append(
            {
                "what": f"an epoch of sgd, ResNet-18 width {width}, batches of {BATCH}, 1 thread, "
                f"{Precision.resolve('auto', 'cpu').name}: our loop / bare loop",
                "measured": f"{statistics.median(ratios):.3f} (spread {min(ratios):.3f} to {max(ratios):.3f}, "
                f"{repeats} pairs; bare loop {statistics.median(bare_rates):.0f} images/s)",
                "reach": "at most 1.05" if width == 64 else "no target",
            }
        )
    return {"rows": rows}


def compare(stream: Stream, width: int, repeats: int) -> tuple[list[float], list[float]]:
    """Time of an epoch through our loop over that of as many bare steps on ready-made inputs, in turn."""
    config = build_config({"backbone": {"name": "resnet18", "width": width}, "training": {"batch_size": BATCH}})
    ours, bare = (build_learner(config, "sgd", 1, stream) for _ in range(2))
    phase = stream.phases[-1]
    for learner in (ours, bare):
        learner.begin_phase(phase)
        learner.net.train()
    optimiser, autocast = bare.optimiser, bare.context.autocast
    assert optimiser is not None
    batches = [
        (bare.context.presentation.unaugmented(images), images.labels)
        for images in (phase.train.take(rows) for rows in torch.arange(len(phase.train)).split(BATCH))
    ]

    def our_epoch() -> None:
        settings = LoopSettings(1, BATCH, config.training.lr)
        PhaseLoop(ours, phase, settings, lambda *_: None, lambda _: None, lambda _: None).run()

    def bare_epoch() -> None:
        for inputs, labels in batches:
            optimiser.zero_grad()
            with autocast():
                loss = F.cross_entropy(bare.net(inputs).float(), labels)
            loss.backward()
            optimiser.step()

    def seconds(epoch: Callable[[], None]) -> float:
        begin = time.perf_counter()
        epoch()
        return time.perf_counter() - begin

    our_epoch(), bare_epoch()  # the first calls of a kernel are not what is measured
    ratios, rates = [], []
    for repeat in range(repeats):
        first, second = (our_epoch, bare_epoch) if repeat % 2 else (bare_epoch, our_epoch)
        took = {first: seconds(first), second: seconds(second)}
        ratios.append(took[our_epoch] / took[bare_epoch])
        rates.append(len(phase.train) / took[bare_epoch])
    return ratios, rates
