"""Attention of vision transformers over many images: time and peak memory, each net in a process of its own.

The small net processes 1,000 images of 32x32 with the cue's region; ViT-B/16 a few of 224x224, in batches of four.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import Any

from benchmarks.measuring import peak_memory, row

THREADS = 2
NETS = {
    "vit": ("1,000 images of 32x32, batches of 50", 1000, 50, 32),
    "vit_base_patch16_224": ("16 images", 16, 4, 224),
}
SHORT = ("vit",)
SECONDS, GIGABYTES = 30, 1  # for the small net
ALONE = 2  # images per second and core through the large net, without attention


def measure(short: bool) -> dict[str, Any]:
    rows = []
    for name in SHORT if short else NETS:
        print(f"  {name} ...", file=sys.stderr, flush=True)
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.attention", name],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "OMP_NUM_THREADS": str(THREADS)},
        )
        rows.append(net_row(name, **json.loads(done.stdout)))
    return {"rows": rows}


def net_row(name: str, seconds: float, alone: float, peak: float) -> dict[str, Any]:
    what, count, _, _ = NETS[name]
    gigabytes = peak / 2**30
    if name == "vit":
        reach = (f"at most {SECONDS} s, under {GIGABYTES} GB", seconds <= SECONDS and gigabytes < GIGABYTES)
    else:
        reach = (f"{ALONE} images/s and core without attention", count / alone >= ALONE * THREADS)
    return row(
        f"attention per layer and head and rolled out, {name}, {what}, {THREADS} threads",
        f"{seconds:.2f} s ({count / seconds:.1f} images/s; answers alone {count / alone:.1f} images/s), peak memory "
        f"{gigabytes:.2f} GB",
        *reach,
        seconds=seconds,
    )


def one(name: str) -> dict[str, float]:
    import torch

    from einstellung.backbones import build_backbone
    from einstellung.cues import PatchCue
    from einstellung.probes.attention import AttentionProbe

    _, count, batch, side = NETS[name]
    net = build_backbone(name, {}, 60, seed=1).eval()
    images = torch.randn(count, 3, side, side, generator=torch.Generator().manual_seed(1))
    region = PatchCue(place="per-index").region(torch.arange(count), 32, 32)
    probe = AttentionProbe(net, batch_size=batch)
    with torch.inference_mode():
        net(images[:batch])  # warm-up
        begin = time.perf_counter()
        for part in images.split(batch):
            net(part)
        alone = time.perf_counter() - begin
    begin = time.perf_counter()
    probe.summarise(zip(images.split(batch), region.split(batch), strict=True))
    seconds = time.perf_counter() - begin
    peak = peak_memory()
    return {"seconds": seconds, "alone": alone, "peak": peak}


if __name__ == "__main__":
    print(json.dumps(one(sys.argv[1])))
