"""The peer's side: a process that holds what is to be measured ready and does a piece of it for every line it is sent.

So a peer is started once, and its work and ours can be done in turn. Whatever a framework prints goes to standard error; the
answers alone leave by standard output.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any, TextIO


def own_channel() -> TextIO:
    """Standard output for the answers alone; what is printed from here on goes to standard error."""
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return channel


def answer(works: Mapping[str, Callable[[], int]], channel: TextIO, **facts: Any) -> None:
    """Tell what can be done, then do what is asked until the questions end.

    A work returns how many images it went through; the answer is that and the core-seconds it took. Each is done once right
    before, unmeasured: while others were at work, its memory has left the caches, or even the machine's.
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
    """Of a training step, forward and backward, counted by torch as it goes through the net."""
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as counter:
        net(torch.zeros(images, 3, side, side)).sum().backward()
    net.zero_grad(set_to_none=True)
    return float(counter.get_total_flops() / images)


def _say(channel: TextIO, what: Mapping[str, Any]) -> None:
    channel.write(json.dumps(what) + "\n")
    channel.flush()
