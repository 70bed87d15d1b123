"""Plasticity of the nets of a run: freshly initialised, after T1 and after T2."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from functools import partial
from typing import Literal

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from einstellung.metrics.plasticity import TAUS, dormant_share, effective_rank, stable_rank
from einstellung.modalities.transfer import to_device
from einstellung.probes.nets.layers import FEATURES
from einstellung.probes.nets.subject import ProbedNet, Subject
from einstellung.randomness import generator, seeded_globally
from einstellung.results.probe_files import DormantLayer, PlasticityReading
from einstellung.timeline import NSC, SC_PATCH

BATCHES = 4  # of T2's first epoch whose gradients are averaged
_IMAGES = (SC_PATCH, NSC)  # T2's test images, with the cue where training has it


def plasticity(subject: Subject, batch_size: int) -> Iterator[PlasticityReading]:
    """A reading of every net that the run has; gradients where a net may be about to learn T2."""
    beginnings: tuple[tuple[Literal["fresh", "T1"], ProbedNet | None], ...] = (
        ("fresh", subject.fresh),
        ("T1", subject.first),
    )
    for name, net in beginnings:
        if net is not None:
            norm = net.kept("gradient norm", partial(gradient_norm, net, subject.seed, batch_size))
            yield _reading(name, net, norm)
    yield _reading("T2", subject.net, None)


def _reading(name: Literal["fresh", "T1", "T2"], net: ProbedNet, gradient: float | None) -> PlasticityReading:
    seen = [net.observed(split) for split in _IMAGES if split in net.splits]
    sizes = np.array([len(one.logits) for one in seen])
    # features are pooled units of the last stage: they count only where a net declares no stages
    names = [layer for layer in seen[0].activity if layer != FEATURES] or [FEATURES]
    activity = {layer: np.average([one.activity[layer] for one in seen], axis=0, weights=sizes) for layer in names}
    features = np.concatenate([one.layers[FEATURES] for one in seen])
    layers = tuple(
        DormantLayer(layer=layer, units=len(units), dormant={f"{tau:g}": dormant_share(units, tau) for tau in TAUS})
        for layer, units in activity.items()
    )
    counts = np.array([layer.units for layer in layers])
    weights = [parameter.detach().abs().double() for parameter in net.net.parameters()]
    return PlasticityReading(
        net=name,
        dormant={
            f"{tau:g}": float(np.average([layer.dormant[f"{tau:g}"] for layer in layers], weights=counts))
            for tau in TAUS
        },
        layers=layers,
        effective_rank=effective_rank(features),
        stable_rank=stable_rank(features),
        weight_magnitude=float(sum(one.sum() for one in weights) / sum(one.numel() for one in weights)),
        gradient_norm=gradient,
        n=int(sizes.sum()),
    )


def gradient_norm(subject: ProbedNet, seed: int, batch_size: int) -> float:
    r"""The mean norm of the gradient over T2's first batches, in the order and augmentation of plain training.

    .. math:: \frac1B \sum_b \left\| \nabla_\theta \frac1{|b|} \sum_{i \in b} CE(f_\theta(x_i), y_i) \right\|_2
    """
    phase = subject.stream.phases[-1]
    net = copy.deepcopy(subject.net)  # batch norm would change its statistics
    net.train()
    augmentation, cue = (generator(seed, purpose, phase.name, 1) for purpose in ("augmentation", "cue"))
    order = torch.randperm(len(phase.train), generator=generator(seed, "order", phase.name, 1))
    norms: list[Tensor] = []
    with seeded_globally(seed, "net", phase.name, 1):
        for rows in order.split(batch_size)[:BATCHES]:
            raw = phase.train.take(rows)
            inputs = subject.presentation.training(raw, augmentation, cue)
            net.zero_grad(set_to_none=True)
            with subject.autocast():
                loss = F.cross_entropy(net(inputs).float(), to_device(raw.labels, inputs.device))
            loss.backward()
            squares = [one.grad.double().square().sum() for one in net.parameters() if one.grad is not None]
            norms.append(torch.stack(squares).sum().sqrt())
    return float(torch.stack(norms).mean())
