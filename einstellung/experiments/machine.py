"""Cores and free memory that a study may use, including container limits. Does not import torch."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

Workers = int | Literal["auto"]  # runs at a time; auto: by a short measurement


def usable_cores(system: Path = Path("/")) -> int:
    """Cores that this process may use: its affinity, or its container's CPU quota where that is less."""
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, int(min([bound, *_cpu_quotas(system)])))


def default_workers(threads: int) -> int:
    """How many runs with ``threads`` each fit on this machine's cores, at least one."""
    return max(1, usable_cores() // threads)


def free_memory(system: Path = Path("/")) -> int | None:
    """Bytes that new processes may take, by the machine and by the container; None where neither is known."""
    counts = [*_container_memory(system)]
    if (available := _field(system / "proc/meminfo", "MemAvailable:")) is not None:
        counts.append(available * 1024)
    return min(counts, default=None)


def own_memory(system: Path = Path("/")) -> int | None:
    """The peak memory of this process in bytes, without the pages of libraries, which all processes share."""
    status = system / "proc/self/status"
    peak, shared = _field(status, "VmHWM:"), _field(status, "RssFile:")
    return None if peak is None or shared is None else (peak - shared) * 1024


def _cpu_quotas(system: Path) -> Iterator[float]:
    """The CPU quotas of the control groups around this process, in cores."""
    for group in _groups(system, "cpu"):
        if (group / "cpu.max").is_file():
            try:
                quota, period = [*(group / "cpu.max").read_text().split(), "100000"][:2]
                share = int(quota) / int(period)
            except (OSError, ValueError):
                continue  # 'max' (no limit), or not readable
            yield share
        elif (limit := _number(group / "cpu.cfs_quota_us")) is not None and limit > 0:
            yield limit / (_number(group / "cpu.cfs_period_us") or 100_000)


def _container_memory(system: Path) -> Iterator[int]:
    """Bytes left below each memory limit of the control groups; the page cache counts as free."""
    names = (
        ("memory.max", "memory.current", "inactive_file"),
        ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    )
    for group in _groups(system, "memory"):
        for limit_file, taken_file, cached in names:
            limit, taken = _number(group / limit_file), _number(group / taken_file)
            if limit is not None and taken is not None:
                yield max(0, limit - taken + (_field(group / "memory.stat", cached) or 0))


def _groups(system: Path, controller: str) -> Iterator[Path]:
    """The folders of the control groups of this process, from its own to the outermost."""
    try:
        lines = (system / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return  # a system without control groups
    for line in lines:
        _, controllers, place = line.split(":", 2)
        if controllers and controller not in controllers.split(","):
            continue
        root = system / "sys/fs/cgroup" / (controller if controllers else "")
        own = root / place.lstrip("/")
        yield from (folder for folder in (own, *own.parents) if folder == root or root in folder.parents)


def _number(file: Path) -> int | None:
    """The number in a file; None where there is no file or no limit in it."""
    try:
        return int(file.read_text())
    except (OSError, ValueError):
        return None


def _field(file: Path, name: str) -> int | None:
    """The number behind a name in a file of 'name number' lines."""
    try:
        rows = [line.split() for line in file.read_text().splitlines()]
    except OSError:
        return None
    return next((int(row[1]) for row in rows if len(row) > 1 and row[0] == name), None)
