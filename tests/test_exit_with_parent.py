"""A worker does not outlive a parent that is killed."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

PARENT = """
import multiprocessing, os, time
from einstellung.exit_with_parent import exit_with_parent

def work(pipe):
    exit_with_parent()
    pipe.send(os.getpid())
    time.sleep(120)

ours, theirs = multiprocessing.Pipe()
multiprocessing.get_context("fork").Process(target=work, args=(theirs,)).start()
print(ours.recv(), flush=True)
time.sleep(120)
"""


def runs(process: int) -> bool:
    """Whether a process exists and is not a zombie."""
    try:
        status = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no /proc")
def test_a_worker_ends_when_its_parent_is_killed():
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        worker = int(parent.stdout.readline())
        assert runs(worker)
        parent.kill()
        parent.wait()
    deadline = time.monotonic() + 20
    while runs(worker) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not runs(worker)
