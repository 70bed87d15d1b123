"""What each part of the CPU kernels gains: a training step of ResNet-18 with one part after the other.

Each part is measured against the step with the parts before it, in one process, in turn, by core-seconds, on one thread and
32x32 images: convolutions, fused norms, residual blocks as one step, then the step of a rehearsal method (DER++'s three
batches) with its batches one by one and in one pass, and a pass for Fisher information without and with faster squares.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.bare import OUTPUTS, bare_net
from benchmarks.learners import BATCH
from benchmarks.measuring import Spread, interleaved, ratios, row
from einstellung.learners.fisher import fisher_per_sample
from einstellung.training.acceleration import PARTS, accelerate, available
from einstellung.training.devices import torch_threads

ONE_BY_ONE, ONE_PASS = "3 batches one by one", "3 batches in one pass"
FISHER, FISHER_FASTER = "Fisher information", "Fisher information with faster squares"
PART_NAMES = {"convolutions": "convolutions", "norms": "batch norm with addition and ReLU", "blocks": "residual blocks"}


@dataclass(frozen=True)
class Size:
    """A net's width, how many of its steps are measured at a time, and how often."""

    width: int
    steps: int
    repeats: int


SHORT = (Size(8, 2, 5), Size(16, 1, 5), Size(64, 1, 2))
LONG = (Size(8, 4, 25), Size(16, 2, 25), Size(64, 1, 11))


def measure(short: bool) -> dict[str, Any]:
    if not available():
        return {"rows": [row("training steps with our kernels", "not measured: the package numba is not installed")]}
    rows: list[dict[str, Any]] = []
    took: dict[str, dict[str, list[float]]] = {}
    with torch_threads(1):
        for size in SHORT if short else LONG:
            print(f"  width {size.width} ...", file=sys.stderr, flush=True)
            found = interleaved(works(size), size.repeats)
            rows += size_rows(size, found)
            took[str(size.width)] = found
    return {"rows": rows, "core_seconds": took}


def works(size: Size) -> dict[str, Callable[[], None]]:
    """By name, in the order in which parts are added."""
    made = {"torch": training_steps(size, ())}
    for number, part in enumerate(PARTS, start=1):
        made[part] = training_steps(size, PARTS[:number])
    made |= {ONE_BY_ONE: rehearsal_steps(size, one_pass=False), ONE_PASS: rehearsal_steps(size, one_pass=True)}
    return made | {FISHER: fisher_pass(size, faster=False), FISHER_FASTER: fisher_pass(size, faster=True)}


def training_steps(size: Size, parts: tuple[str, ...]) -> Callable[[], None]:
    net, optimiser = net_with(size.width, parts)
    inputs, labels = batch(1)

    def work() -> None:
        for _ in range(size.steps):
            optimiser.zero_grad(set_to_none=True)
            F.cross_entropy(net(inputs), labels).backward()
            optimiser.step()

    return work


def rehearsal_steps(size: Size, one_pass: bool) -> Callable[[], None]:
    """Cross entropy on a batch, distance of the logits on a second, cross entropy on a third."""
    net, optimiser = net_with(size.width, PARTS)
    (inputs, labels), (second, _), (third, third_labels) = (batch(seed) for seed in (1, 2, 3))
    target = torch.randn(BATCH, OUTPUTS, generator=torch.Generator().manual_seed(4))
    batches = [inputs, second, third]

    def work() -> None:
        for _ in range(size.steps):
            optimiser.zero_grad(set_to_none=True)
            outputs = net.forward_batches(batches) if one_pass else [net(one) for one in batches]
            loss = F.cross_entropy(outputs[0], labels) + 0.1 * F.mse_loss(outputs[1], target)
            (loss + 0.5 * F.cross_entropy(outputs[2], third_labels)).backward()
            optimiser.step()

    return work


def fisher_pass(size: Size, faster: bool) -> Callable[[], None]:
    net, _ = net_with(size.width, PARTS)
    if not faster:
        for layer in net.modules():
            if hasattr(layer, "add_weight_squares"):
                layer.add_weight_squares = lambda *_: False
    inputs, labels = batch(1)

    def work() -> None:
        for _ in range(size.steps):
            fisher_per_sample(net, inputs, labels)

    return work


def net_with(width: int, parts: tuple[str, ...]) -> tuple[Any, torch.optim.Optimizer]:
    net: nn.Module = bare_net(width).train().to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    accelerate(net, parts)
    return net, torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)


def batch(seed: int) -> tuple[Tensor, Tensor]:
    inputs = torch.randn(BATCH, 3, 32, 32, generator=torch.Generator().manual_seed(seed))
    return inputs.contiguous(memory_format=torch.channels_last), torch.arange(BATCH) % OUTPUTS


def size_rows(size: Size, took: dict[str, list[float]]) -> list[dict[str, Any]]:
    """``took``: core-seconds of each work, one value a repeat."""
    net = f"ResNet-18 width {size.width}, batches of {BATCH}, 1 thread"
    before = "torch"
    rows = [row(f"{net}: a step with torch's layers, channels_last", milliseconds(size, took["torch"]))]
    for part in PARTS:
        gain = ratios(took[before], took[part])
        total = ratios(took["torch"], took[part])
        words = f"{gain.words()} x as fast as before it; {total.words()} x torch's; {milliseconds(size, took[part])}"
        rows.append(row(f"{net}: a step with + {PART_NAMES[part]}", words))
        before = part
    pairs = {
        "a step on 3 batches in one pass, against one by one": (ONE_BY_ONE, ONE_PASS),
        "a pass for Fisher information with squares by Winograd's algorithm, against direct ones": (
            FISHER,
            FISHER_FASTER,
        ),
    }
    for what, (slow, fast) in pairs.items():
        words = f"{ratios(took[slow], took[fast]).words()} x as fast; {milliseconds(size, took[fast])}"
        rows.append(row(f"{net}: {what}", words))
    return rows


def milliseconds(size: Size, seconds: list[float]) -> str:
    return Spread.of([1000 * one / size.steps for one in seconds]).words(1, "ms")
