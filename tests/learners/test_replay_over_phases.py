"""Buffers over three phases: a reservoir goes on from phase to phase, and what it holds is a fair sample of all of them."""

from __future__ import annotations

import torch
from scipy.stats import chisquare

from einstellung.learners import learners


def test_every_image_of_three_phases_has_the_same_chance(make, tasks, monkeypatch):
    zeros = torch.zeros(12, 2)
    monkeypatch.setattr(learners["er"], "_logits_in_evaluation", lambda _, images: zeros[: len(images)])  # costly
    kept, trials = torch.zeros(300), 150
    for seed in range(trials):
        learner = make("er", seed=seed, buffer=12, replay="earlier", phases=tasks)
        for phase in tasks:
            learner.end_phase(phase)
        assert (learner.buffer.seen, len(learner.buffer)) == (108, 12)
        kept[learner.buffer.images.index] += 1
    counts = kept[torch.cat([phase.train.index for phase in tasks])]
    assert int(counts.sum()) == trials * 12
    assert chisquare(counts.numpy()).pvalue > 1e-3
    assert chisquare(counts.view(3, 36).sum(dim=1).numpy()).pvalue > 1e-3


def test_the_third_phase_replays_both_before_it_and_not_itself(make, batch_of, tasks):
    learner = make("der", buffer=24, draw=24, replay="earlier", phases=tasks)
    for phase in tasks[:2]:
        learner.begin_phase(phase)
        learner.end_phase(phase)
    learner.begin_phase(tasks[2])
    learner.begin_epoch(tasks[2], 1)
    learner.net.train()
    drawn, draw = [], learner.buffer.draw
    learner.buffer.draw = lambda *args: drawn.append(draw(*args)) or drawn[-1]
    learner.observe(batch_of(tasks[2]))
    ((images, _),) = drawn
    assert set((images.index // 100).tolist()) == {0, 1}
