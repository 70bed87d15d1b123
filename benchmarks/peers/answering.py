"""The peer's side: a process that prepares its workloads and runs one for every request line.

So a peer starts once, and its workloads and ours can alternate. Whatever a framework prints goes to standard error; only
answers go to standard output.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any, TextIO


def own_channel() -> TextIO:
    """Reserve standard output for answers; further prints go to standard error."""
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return channel


def answer(works: Mapping[str, Callable[[], int]], channel: TextIO, **facts: Any) -> None:
    """Announce the available workloads, then serve requests until the input ends.

    A workload returns its number of images; the answer is that and the core-seconds it took. Each runs once right before as a
    warm-up, because other workloads may have evicted its memory from the caches, or even from RAM.
    """
    for work in works.values():
        work()
    _say(channel, {"works": list(works), **facts})
    for line in sys.stdin:
        work = works[line.strip()]
        work()
        begin = time.process_time()
        images = work()
        _say(channel, {"images": images, "core_seconds": time.process_time() - begin})


def flops_per_image(net: Any, images: int = 2, side: int = 32) -> float:
    """FLOPs of a training step, forward and backward, counted by torch."""
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as counter:
        net(torch.zeros(images, 3, side, side)).sum().backward()
    net.zero_grad(set_to_none=True)
    return float(counter.get_total_flops() / images)


def _say(channel: TextIO, what: Mapping[str, Any]) -> None:
    channel.write(json.dumps(what) + "\n")
    channel.flush()
