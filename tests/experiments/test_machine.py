"""Cores and memory that a study may use, read from files as Linux writes them."""

from __future__ import annotations

import os

import pytest

from einstellung.experiments.machine import default_workers, free_memory, own_memory, usable_cores

UNLIMITED = 9223372036854771712  # what version 1 of control groups says where there is no limit


@pytest.fixture(autouse=True)
def eight_cores(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(8)), raising=False)


def system(folder, files):
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{content}\n")
    return folder


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        ({}, 8),  # no control groups at all
        ({"proc/self/cgroup": "0::/", "sys/fs/cgroup/cpu.max": "max 100000"}, 8),
        ({"proc/self/cgroup": "0::/", "sys/fs/cgroup/cpu.max": "300000 100000"}, 3),
        ({"proc/self/cgroup": "0::/", "sys/fs/cgroup/cpu.max": "350000 100000"}, 3),
        ({"proc/self/cgroup": "0::/", "sys/fs/cgroup/cpu.max": "50000 100000"}, 1),
        ({"proc/self/cgroup": "0::/", "sys/fs/cgroup/cpu.max": "9900000 100000"}, 8),
        (  # a limit of the group around this one counts as well
            {
                "proc/self/cgroup": "0::/outer/inner",
                "sys/fs/cgroup/outer/inner/cpu.max": "max 100000",
                "sys/fs/cgroup/outer/cpu.max": "200000 50000",
            },
            4,
        ),
        (
            {
                "proc/self/cgroup": "3:memory:/x\n2:cpu,cpuacct:/job",
                "sys/fs/cgroup/cpu/job/cpu.cfs_quota_us": "200000",
                "sys/fs/cgroup/cpu/job/cpu.cfs_period_us": "100000",
            },
            2,
        ),
        ({"proc/self/cgroup": "2:cpu:/", "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1"}, 8),
        # in a container the group's own place may not be there: its files lie at the root
        (
            {
                "proc/self/cgroup": "2:cpu:/docker/abc",
                "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "100000",
                "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000",
            },
            1,
        ),
    ],
)
def test_usable_cores(tmp_path, files, cores):
    assert usable_cores(system(tmp_path, files)) == cores


def test_a_process_bound_to_fewer_cores_has_no_more(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {2, 5})
    files = {"proc/self/cgroup": "0::/", "sys/fs/cgroup/cpu.max": "300000 100000"}
    assert usable_cores(system(tmp_path, files)) == 2


@pytest.mark.parametrize(
    ("files", "free"),
    [
        ({}, None),
        ({"proc/meminfo": "MemTotal: 900 kB\nMemAvailable:   600 kB"}, 600 * 1024),
        (
            {
                "proc/meminfo": "MemAvailable: 600 kB",
                "proc/self/cgroup": "0::/job",
                "sys/fs/cgroup/job/memory.max": "300000",
                "sys/fs/cgroup/job/memory.current": "250000",
                "sys/fs/cgroup/job/memory.stat": "anon 100\ninactive_file 50000",
            },
            100_000,
        ),
        (
            {
                "proc/meminfo": "MemAvailable: 600 kB",
                "proc/self/cgroup": "0::/",
                "sys/fs/cgroup/memory.max": "max",
                "sys/fs/cgroup/memory.current": "250000",
            },
            600 * 1024,
        ),
        (
            {
                "proc/meminfo": "MemAvailable: 600 kB",
                "proc/self/cgroup": "4:memory:/a",
                "sys/fs/cgroup/memory/a/memory.limit_in_bytes": "50000",
                "sys/fs/cgroup/memory/a/memory.usage_in_bytes": "60000",
                "sys/fs/cgroup/memory/memory.limit_in_bytes": str(UNLIMITED),
                "sys/fs/cgroup/memory/memory.usage_in_bytes": "99",
            },
            0,
        ),
    ],
)
def test_free_memory(tmp_path, files, free):
    assert free_memory(system(tmp_path, files)) == free


def test_libraries_that_all_share_are_not_a_workers_own(tmp_path):
    status = {"proc/self/status": "Name: python\nVmHWM:\t  500 kB\nRssAnon: 1 kB\nRssFile:\t 200 kB"}
    assert own_memory(system(tmp_path, status)) == 300 * 1024
    assert own_memory(tmp_path / "nowhere") is None


def test_threads_times_workers_are_the_cores(monkeypatch):
    monkeypatch.setattr("einstellung.experiments.machine.usable_cores", lambda: 8)
    assert [default_workers(threads) for threads in (1, 2, 3, 8, 16)] == [8, 4, 2, 1, 1]
