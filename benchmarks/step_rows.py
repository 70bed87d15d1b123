"""The table rows of the verb ``step``, from rates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.learners import BATCH
from benchmarks.measuring import Spread, ratios, row
from benchmarks.rates import Rates

TARGETED = 64  # the width of the net that the targets are for
REPLAY_VARIANTS = {"derpp joined": "derpp with `joined`", "derpp earlier": "derpp with `replay: earlier`"}
OURS = {**REPLAY_VARIANTS, "fisher fp32": "Fisher pass in fp32"}
THEIRS = {
    "fisher": "Fisher pass, one image at a time",
    "EWC": "EWC with its Fisher pass, which takes whole batches",
    "DER": "DER (one draw, joined) with its pass over the new images",
    "Replay": "Replay with what it keeps at the end",
}
NO_BF16 = "no bf16 instructions on this CPU"


def peak_row(peak: Mapping[str, float]) -> dict[str, Any]:
    words = ", ".join(f"{value:.0f} GFLOP in {name}" for name, value in peak.items())
    return row("products of square matrices: the most they reach in a core-second", words)


def describe_net(width: int, rest: str = "") -> str:
    return f"ResNet-18 width {width}{rest}, batches of {BATCH}, 1 thread"


def bare_rows(width: int, rates: Rates, flops: float, peak: Mapping[str, float]) -> list[dict[str, Any]]:
    kinds = {"bare": "bare loop, fp32", "bare channels_last": "bare loop, fp32, channels_last"}
    return [
        row(
            f"{describe_net(width)}: {words}, images per core-second ({flops / 1e9:.2f} GFLOP an image, counted)",
            f"{rates.of(name).words(1)}; {_percent(_share(rates.of(name), flops, peak['fp32']))} of the fp32 peak",
        )
        for name, words in kinds.items()
        if name in rates
    ]


def plain_rows(width: int, rates: Rates, flops: float, peak: Mapping[str, float]) -> list[dict[str, Any]]:
    """sgd with torch's kernels, with ours, and in bf16."""
    slower = ratios(rates.seconds["sgd fp32 torch"], rates.seconds["bare"])
    return [
        row(
            f"{describe_net(width)}: sgd in fp32 with torch's kernels, everything inside / bare loop, time of a step",
            slower.words(3),
            *_aim("at most 1.10", width, slower.median <= 1.10),
        ),
        _own_kernels_row(width, rates, flops, peak["fp32"]),
        *_bf16_rows(width, rates, flops, peak),
    ]


def _own_kernels_row(width: int, rates: Rates, flops: float, peak: float) -> dict[str, Any]:
    what = f"{describe_net(width)}: sgd in fp32 with our kernels, everything inside, images per core-second"
    if "sgd fp32 own" not in rates:
        return row(what, "not measured: the package numba is not installed")
    own, faster = rates.of("sgd fp32 own"), rates.over("sgd fp32 own", "bare")
    return row(
        what,
        f"{own.words(1)}; {faster.words()} x the bare loop's; effective share of the fp32 peak "
        f"{_percent(_share(own, flops, peak))} (by the FLOPs of direct convolutions; Winograd's way needs fewer)",
    )


def _bf16_rows(width: int, rates: Rates, flops: float, peak: Mapping[str, float]) -> list[dict[str, Any]]:
    speed = f"{describe_net(width)}: sgd in bf16 / bare loop in fp32, images per core-second"
    share = f"{describe_net(width)}: sgd in bf16, share of the bf16 peak"
    if "sgd bf16" not in rates:
        return [
            row(speed, NO_BF16, *_aim("at least 1.8", width, None)),
            row(share, NO_BF16, *_aim("at least 75 %", width, None)),
        ]
    faster, bare = rates.over("sgd bf16", "bare"), rates.over("bare bf16", "bare")
    part = _share(rates.of("sgd bf16"), flops, peak["bf16"])
    return [
        row(
            speed,
            f"{faster.words()}; a bare loop in bf16, channels_last {bare.words()}",
            *_aim("at least 1.8", width, faster.median >= 1.8),
        ),
        row(share, _percent(part), *_aim("at least 75 %", width, part >= 0.75)),
    ]


def learner_rows(width: int, rates: Rates, learners: Sequence[str], usual: str) -> list[dict[str, Any]]:
    """``usual``: the default precision and kernels on this machine."""
    net = describe_net(width)
    rows = [
        row(
            f"{net}: {method} in T2, {usual}, images per core-second",
            f"{rates.of(method).words(1)}; {rates.over(method, 'bare').words()} x the bare loop's",
        )
        for method in learners
        if method in rates
    ]
    for name, words in REPLAY_VARIANTS.items():
        if name in rates:
            faster = rates.over(name, "derpp").words()
            rows.append(
                row(f"{net}: {words}, images per core-second", f"{rates.of(name).words(1)}; {faster} x derpp's")
            )
    return rows


def peer_rows(
    peer: str, facts: Mapping[str, Any], pairs: Sequence[tuple[str, str]], width: int, rates: Rates, flops: float
) -> list[dict[str, Any]]:
    """``pairs``: our workloads, each with the peer's workload it is compared with."""
    same = "the same FLOPs an image" if facts["flops_per_image"] == flops else "with OTHER FLOPs an image"
    rows = []
    for ours, theirs in pairs:
        if (work := f"{peer} {theirs}") not in rates or ours not in rates:
            continue
        faster = rates.over(ours, work)
        aim = _aim("at least 1.7", width, faster.median >= 1.7) if (ours, work) == ("derpp", "Mammoth derpp") else ()
        rows.append(
            row(
                f"{describe_net(width, f' ({same})')}: our {OURS.get(ours, ours)} / {peer}'s {THEIRS.get(theirs, theirs)}, "
                "images per core-second",
                f"{faster.words()} (theirs {rates.of(work).words(1)})",
                *aim,
            )
        )
    return rows


def _aim(reach: str, width: int, reached: bool | None) -> tuple[Any, ...]:
    return (reach, reached) if width == TARGETED else ()


def _share(rate: Spread, flops: float, peak: float) -> float:
    return rate.median * flops / 1e9 / peak


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
