"""Ctrl-C while workers are starting: one line, no traceback, no process left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from einstellung.interrupts import interrupts_deferred

pytestmark = pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="needs POSIX signals")

SLOW = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job inherits that it is ignored
sys.path.insert(0, {folder!r})
from einstellung.experiments import processes
processes._PRELOADED[:] = ["slow_import"]
from einstellung.cli import cli, main
import click

@cli.command("wait")
def wait():
    processes.warm_up()
    print("started", flush=True)
    time.sleep(60)

sys.argv = ["einstellung", "wait"]
main()
"""


@pytest.mark.parametrize("threads", [0, 1])
def test_an_interrupt_in_the_block_arrives_after_it(threads):
    """Also where another thread, which does not block the signal, takes it."""
    arrived, over = [], threading.Event()
    for _ in range(threads):
        threading.Thread(target=over.wait).start()
    before = signal.signal(signal.SIGINT, lambda *_: arrived.append("now"))
    try:
        with interrupts_deferred():
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.05)
            assert not arrived
        assert arrived == ["now"]
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.05)
        assert arrived == ["now", "now"]  # by the caller's own handler again
    finally:
        signal.signal(signal.SIGINT, before)
        over.set()


@pytest.mark.parametrize("presses", [1, 3])
def test_ctrl_c_while_the_fork_server_imports(tmp_path, presses):
    """The server imports a module that tells where it is; then the whole process group is interrupted, as a terminal does."""
    mark = tmp_path / "importing"
    (tmp_path / "slow_import.py").write_text(f"import time\nopen({str(mark)!r}, 'w').close()\ntime.sleep(3)\n")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])}
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW.format(folder=str(tmp_path))],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=environment,
        cwd=tmp_path,
    )
    give_up = time.monotonic() + 60
    while not mark.exists() and time.monotonic() < give_up:
        time.sleep(0.02)
    assert mark.exists()
    for _ in range(presses):
        os.killpg(process.pid, signal.SIGINT)
        time.sleep(0.05)
    _, err = process.communicate(timeout=60)
    assert err.strip() == "einstellung: stopped"
    assert process.returncode == 130
