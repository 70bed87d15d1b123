"""Attention of vision transformers over many images: time and peak memory, each net in a process of its own.

The small net looks at 1,000 images of 32x32 with the cue's region; ViT-B/16 at a few of 224x224, in batches of four.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import Any

THREADS = 2
NETS = {
    "vit": ("1,000 images of 32x32, batches of 50", 1000, 50, 32),
    "vit_base_patch16_224": ("16 images", 16, 4, 224),
}
REACH = {"vit": "at most 30 s, under 1 GB", "vit_base_patch16_224": "about 2 images/s and core without attention"}


def measure() -> dict[str, Any]:
    rows = []
    for name, (what, count, _, _) in NETS.items():
        print(f"  {name} ...", file=sys.stderr, flush=True)
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.attention", name],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "OMP_NUM_THREADS": str(THREADS)},
        )
        found = json.loads(done.stdout)
        rows.append(
            {
                "what": f"attention per layer and head and rolled out, {name}, {what}, {THREADS} threads",
                "measured": f"{found['seconds']:.2f} s ({count / found['seconds']:.1f} images/s; answers alone "
                f"{count / found['alone']:.1f} images/s), peak memory {found['peak'] / 2**30:.2f} GB",
                "reach": REACH[name],
            }
        )
    return {"rows": rows}


def one(name: str) -> dict[str, float]:
    import resource

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
        net(images[:batch])  # the first calls of a kernel are not what is measured
        begin = time.perf_counter()
        for part in images.split(batch):
            net(part)
        alone = time.perf_counter() - begin
    begin = time.perf_counter()
    probe.summarise(zip(images.split(batch), region.split(batch), strict=True))
    seconds = time.perf_counter() - begin
    unit = 1 if sys.platform == "darwin" else 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return {"seconds": seconds, "alone": alone, "peak": peak}


if __name__ == "__main__":
    print(json.dumps(one(sys.argv[1])))
