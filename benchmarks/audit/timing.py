"""Time and memory of an audit of 1,000 images and of a data map, in a process of its own: its memory is that of nothing else."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import torch

from benchmarks.audit.nets import RESNET
from benchmarks.audit.zoo import Member, net_of, normalised, truth
from benchmarks.measuring import row
from einstellung.experiments.data_maps import predictive_windows
from einstellung.probes.audit import AuditedModel, audit_model
from einstellung.training.acceleration import load_kernels

_IMAGES, _MAPPED = 1000, 10_000
_SECONDS, _MAP_SECONDS, _MEMORY = 60, 20, 1.5


def measured(folder: Path) -> dict[str, float]:
    """Wall-clock and core seconds, and GB."""
    torch.set_num_threads(os.cpu_count() or 1)
    load_kernels()
    member = Member("cifar", None, 0.0, 51, net=RESNET)
    known = truth(member)
    model = AuditedModel("timed", net_of(member, folder), normalised)
    rows = torch.arange(_IMAGES) % len(known.images)
    begin, used = time.perf_counter(), time.process_time()
    audit_model(model, known.images[rows], known.labels[rows], {})
    took = {"wall": time.perf_counter() - begin, "cores": time.process_time() - used}
    many = torch.arange(_MAPPED) % len(known.images)
    begin, used = time.perf_counter(), time.process_time()
    predictive_windows(known.images[many], known.labels[many])
    took |= {"map_wall": time.perf_counter() - begin, "map_cores": time.process_time() - used}
    return took | {"memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6}


def timing_rows(folder: Path) -> list[dict[str, Any]]:
    """Seconds are those of the wall clock where the machine had nothing else to do: core seconds, divided among the cores."""
    command = [sys.executable, "-c", "from benchmarks.audit import timing; timing.main()", str(folder)]
    took = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    cores = os.cpu_count() or 1
    rows = []
    for what, name, most in (
        ("an audit of 1,000 images of 32x32, ResNet-18 of width 8", "", _SECONDS),
        ("the data map of 10,000 images", "map_", _MAP_SECONDS),
    ):
        wall, spent = took[f"{name}wall"], took[f"{name}cores"]
        rows.append(
            row(
                f"{what}, {cores} cores",
                f"{spent:.0f} core seconds, {spent / cores:.0f} s on {cores} idle cores; {wall:.0f} s as it was run",
                f"at most {most} s",
                spent / cores <= most,
                seconds=wall,
                core_seconds=spent,
            )
        )
    memory = took["memory"]
    rows.append(row("... largest memory of both", f"{memory:.2f} GB", f"under {_MEMORY} GB", memory < _MEMORY))
    return rows


def main() -> None:
    """Print what was measured as one line of JSON."""
    print(json.dumps(measured(Path(sys.argv[1]))))
