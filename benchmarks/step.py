"""Training steps: images per core-second of every learner, against a bare loop, the machine's limit, and other frameworks.

All workloads alternate on one thread, peers in processes of their own, so that every ratio compares neighbours in time.
Only images of the current phase count; replayed ones do not, for us and for the peers.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

import torch

from benchmarks import step_rows as say
from benchmarks.bare import bare_net, bare_steps, has_bf16_instructions, peak_gflops
from benchmarks.fisher import fisher_passes, fisher_rows, fisher_works
from benchmarks.learners import BATCH, Setting, some_stream, steps_in_t2
from benchmarks.measuring import row
from benchmarks.peers.answering import flops_per_image
from benchmarks.peers.places import start_avalanche, start_mammoth
from benchmarks.peers.process import Peer, PeerError
from benchmarks.rates import Rates, Work, measured, warm
from einstellung.training.acceleration import available
from einstellung.training.devices import torch_threads

FULL, NARROW = 64, 8  # the paper's net, and that of the preset paper-fast
NARROW_STEPS = 4  # at a time, so that a measurement is long enough for the clock
LEARNERS = ("sgd", "ewc_on", "derpp", "er", "der", "gpm", "dgr")
PEERS = {"Mammoth": start_mammoth, "Avalanche": start_avalanche}
PAIRS = {  # ours and theirs
    "Mammoth": (
        ("sgd", "sgd"),
        ("ewc_on", "ewc_on"),
        ("fisher fp32", "fisher"),
        ("derpp", "derpp"),
        ("derpp joined", "derpp"),
    ),
    "Avalanche": (("sgd", "Naive"), ("ewc_on", "EWC"), ("derpp", "DER"), ("er", "Replay")),
}
LONG_ONLY = (
    "Avalanche EWC",
    "Avalanche DER",
    "Avalanche Replay",
    "bare channels_last",
    "er",
    "der",
    "derpp joined",
    "derpp earlier",
)


def measure(short: bool) -> dict[str, Any]:
    with torch_threads(1), ExitStack() as stack:
        waiting = started(stack)  # they start while ours are prepared
        passes = fisher_passes(FULL)
        works = {**plain_works(FULL, 1, short), **fisher_works(passes)}
        warm(works)
        peers, absent = ready(waiting)
        asked = {f"{name} {work}": (peer, work) for name, peer in peers.items() for work in peer.facts["works"]}
        asked = {name: whom for name, whom in asked.items() if not (short and name in LONG_ONLY)}
        _log(f"measuring {len(works) + len(asked)} works, width {FULL}")
        rates = measured(works, asked, 2 if short else 7)
        narrow = measured_narrow(short)
        peak = measured_peak()
    flops = {width: flops_per_image(bare_net(width).train()) for width in (FULL, NARROW)}
    rows = [say.peak_row(peak)]
    for width, found in ((FULL, rates), (NARROW, narrow)):
        rows += say.bare_rows(width, found, flops[width], peak)
        rows += say.plain_rows(width, found, flops[width], peak)
        rows += say.learner_rows(width, found, LEARNERS, usual(width))
    rows += fisher_rows(FULL, rates, passes)
    for name, peer in peers.items():
        if peer in rates.lost:
            absent[name] = f"it ended in the middle: {rates.lost[peer]}"
            continue
        rows += say.peer_rows(name, peer.facts, PAIRS[name], FULL, rates, flops[FULL])
    rows += [row(f"{name} in the same run", f"not measured: {why}") for name, why in absent.items()]
    return {
        "rows": rows,
        "peak_gflops": peak,
        "flops_per_image": {str(width): value for width, value in flops.items()},
        "images": {"full": rates.images, "narrow": narrow.images},
        "core_seconds": {"full": rates.seconds, "narrow": narrow.seconds},
    }


def plain_works(width: int, steps: int, short: bool) -> dict[str, Work]:
    """Bare loops, sgd by kernels and precision, and every learner."""
    bare: dict[str, dict[str, bool]] = {"bare": {}, "bare channels_last": {"channels_last": True}}
    settings = {method: Setting(method, width) for method in LEARNERS}
    for kernels in ("torch", *(("own",) if available() else ())):
        settings[f"sgd fp32 {kernels}"] = Setting("sgd", width, None, {"precision": "fp32", "kernels": kernels})
    settings["derpp joined"] = Setting("derpp", width, {"joined": True})
    settings["derpp earlier"] = Setting("derpp", width, {"replay": "earlier"})
    if has_bf16_instructions():
        bare["bare bf16"] = {"channels_last": True, "bf16": True}
        settings["sgd bf16"] = Setting("sgd", width, None, {"precision": "bf16"})
    works = {
        name: Work(steps * BATCH, bare_steps(width, steps, BATCH, **kind))
        for name, kind in bare.items()
        if not (short and name in LONG_ONLY)
    }
    stream = some_stream()
    for name, setting in settings.items():
        if not (short and name in LONG_ONLY):
            works[name] = Work(steps * BATCH, steps_in_t2(setting, stream, steps))
    return works


def measured_narrow(short: bool) -> Rates:
    _log(f"measuring width {NARROW}")
    works = plain_works(NARROW, NARROW_STEPS, short)
    warm(works)
    return measured(works, {}, 3 if short else 11)


def measured_peak() -> dict[str, float]:
    kinds = {"fp32": torch.float32, **({"bf16": torch.bfloat16} if has_bf16_instructions() else {})}
    return {name: peak_gflops(kind) for name, kind in kinds.items()}


def usual(width: int) -> str:
    """The default precision and kernels of a run."""
    training = Setting("sgd", width).config().training
    return f"{training.precision}, {training.kernels} kernels"


def started(stack: ExitStack) -> dict[str, Peer | PeerError]:
    found: dict[str, Peer | PeerError] = {}
    for name, start in PEERS.items():
        try:
            found[name] = stack.enter_context(start(FULL))
        except PeerError as error:
            found[name] = error
    return found


def ready(waiting: Mapping[str, Peer | PeerError]) -> tuple[dict[str, Peer], dict[str, str]]:
    """The available peers, and the reason for each unavailable one."""
    there: dict[str, Peer] = {}
    absent: dict[str, str] = {}
    for name, peer in waiting.items():
        try:
            if isinstance(peer, PeerError):
                raise peer
            _log(f"{name} is ready: {', '.join(peer.facts['works'])}")
            there[name] = peer
        except PeerError as error:
            absent[name] = str(error)
    return there, absent


def _log(what: str) -> None:
    print(f"  {what} ...", file=sys.stderr, flush=True)
