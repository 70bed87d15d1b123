"""Learners that go through images of several phases: what they were shown, and what counted."""

from __future__ import annotations

from dataclasses import replace

import torch

from einstellung.training import LoopSettings, PhaseLoop


def first(phase, count):
    """The same phase with its first few training images only."""
    return replace(phase, train=phase.train.take(torch.arange(count)))


def with_phases(learner, *phases):
    learner.context = replace(learner.context, phases=phases)
    return learner


def went_through(learner, phase, epochs, size=8, every_steps=None, on_step=lambda e: None):
    """Every batch (identities with the phase they belong to), the counts heard, and the effective epochs."""
    batches, counts, effective = [], [], []
    plain = learner.observe

    def observe(batch):
        raw = batch.raw
        pairs = zip(raw.labels.tolist(), raw.index.tolist(), strict=True)
        batches.append([(label in phase.classes, index) for label, index in pairs])
        return plain(batch)

    learner.observe = observe
    learner.begin_phase(phase)
    settings = LoopSettings(epochs, size, 0.01, evaluate_every_steps=every_steps)
    PhaseLoop(learner, phase, settings, lambda _, e: effective.append(e), on_step, counts.append).run()
    return batches, counts, effective


def watched_steps(learner, phase, count, size):
    """The first ``count`` batches of a phase, learned for real; what comes after is left out."""
    seen = []
    plain = learner.observe

    def observe(batch):
        if len(seen) == count:
            return torch.zeros(())
        seen.append(batch)
        return plain(batch)

    learner.observe = observe
    learner.begin_phase(phase)
    PhaseLoop(learner, phase, LoopSettings(1, size, 0.1), lambda *_: None, lambda e: None, lambda c: None).run()
    return seen
