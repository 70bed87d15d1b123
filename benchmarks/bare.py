"""The reference: a training loop in plain torch on ready-made inputs, and the matrix products it consists of.

It shares only the net's architecture with ours: weights in torch's default layout, fp32, ``F.cross_entropy``,
``torch.optim.SGD`` and two alternating ready-made batches.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from itertools import cycle
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from einstellung.backbones import build_backbone

OUTPUTS = 36


def bare_steps(
    width: int, steps: int, batch: int, *, channels_last: bool = False, bf16: bool = False
) -> Callable[[], None]:
    """A number of steps of a bare loop; bf16 by autocast, as documented by torch."""
    net = bare_net(width).train()
    inputs = torch.randn(2, batch, 3, 32, 32, generator=torch.Generator().manual_seed(1))
    labels = torch.arange(batch) % OUTPUTS
    layout = torch.channels_last if channels_last else torch.contiguous_format
    net = net.to(memory_format=layout)  # type: ignore[call-overload]
    batches = cycle([one.contiguous(memory_format=layout) for one in inputs])
    optimiser = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)

    def autocast() -> AbstractContextManager[Any]:
        return torch.autocast("cpu", torch.bfloat16) if bf16 else nullcontext()

    def loop() -> None:
        for _ in range(steps):
            optimiser.zero_grad()
            with autocast():
                loss = F.cross_entropy(net(next(batches)), labels)
            loss.backward()
            optimiser.step()

    return loop


def bare_net(width: int) -> nn.Module:
    return build_backbone("resnet18", {"width": width}, OUTPUTS, seed=1)


def fisher_one_at_a_time(net: nn.Module, inputs: Tensor, labels: Tensor) -> dict[str, Tensor]:
    """mean_i (d log p(y_i | x_i) / d theta)^2 from one backward pass per image, in evaluation mode."""
    net.eval()
    parameters = dict(net.named_parameters())
    total = {name: torch.zeros_like(parameter) for name, parameter in parameters.items()}
    for image, label in zip(inputs, labels, strict=True):
        loss = F.cross_entropy(net(image.unsqueeze(0)), label.unsqueeze(0))
        gradients = torch.autograd.grad(loss, list(parameters.values()))
        for name, gradient in zip(parameters, gradients, strict=True):
            total[name] += gradient.square()
    return {name: value.detach() / len(labels) for name, value in total.items()}


def peak_gflops(kind: torch.dtype, sides: tuple[int, ...] = (1024, 1536, 2048), times: int = 4) -> float:
    """Peak FLOPs per core-second of square matrix products: the machine's limit for a step."""
    best = 0.0
    for side in sides:
        one, other = (torch.randn(side, side).to(kind) for _ in range(2))
        torch.mm(one, other)
        for _ in range(times):
            begin = time.process_time()
            torch.mm(one, other)
            best = max(best, 2 * side**3 / (time.process_time() - begin) / 1e9)
    return best


def has_bf16_instructions() -> bool:
    return bool(torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported())
