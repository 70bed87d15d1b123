"""Run a command line under limits, and measure what it took.

``python -m tests.faults.commands`` is a server: it imports the package once and forks a process for every command that it reads
from standard input, so that five hundred bad inputs take seconds of imports instead of minutes.
"""

from __future__ import annotations

import hashlib
import json
import os
import resource
import runpy
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from einstellung.boundary import UNFORESEEN

MOST_SECONDS = 10.0
MOST_BYTES = 2**30
_KILLED_AFTER = 45.0  # so that the report says how long it would have gone on, up to a point
_KILLED_ABOVE = 3 * 2**30
_POLL, _LOOK = 0.02, 0.1
ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Done:
    """A finished command; ``code`` is negative where a signal ended it."""

    words: tuple[str, ...]
    code: int
    out: str
    err: str
    seconds: float  # on the clock, which depends on what else the machine does
    cpu: float  # of the process and those that it waited for
    peak: int
    ended: str = ""  # why we ended it

    @property
    def problems(self) -> list[str]:
        """What no command may do, however it ended."""
        found = []
        if self.has_traceback:
            found.append("a traceback: " + (self.err.strip().splitlines() or [""])[-1][:200])
        if self.code == UNFORESEEN:
            found.append("an unforeseen error: " + self.err.strip()[:300])
        if self.peak > MOST_BYTES:
            found.append(f"{self.peak / 2**30:.2f} GB")
        return found

    @property
    def has_traceback(self) -> bool:
        return "Traceback (most recent call last)" in self.err or "Traceback (most recent call last)" in self.out


@dataclass(frozen=True)
class Kill:
    """A signal to the command's processes after so many seconds, and ``again`` so many seconds later."""

    after: float
    sent: int = signal.SIGKILL
    again: float | None = None

    @property
    def name(self) -> str:
        return "Ctrl-C twice" if self.again is not None else f"{signal.Signals(self.sent).name} to the group"


class CommandServer:
    """Forks a prepared process for every command."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self._server = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.commands"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**os.environ, "OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive", **(environment or {})},
        )

    def run(
        self,
        words: Sequence[str | Path],
        cwd: Path,
        environment: Mapping[str, str] | None = None,
        entry: str = "cli",
        *,
        fault: Mapping[str, str] | None = None,
        kill: Kill | None = None,
        patience: float = _KILLED_AFTER,
        archive: Path | None = None,
    ) -> Done:
        """One command in a process of its own; ``entry``: cli, or guide for the guide's script.

        ``fault`` as in ``hook/sitecustomize.py``; ``archive``: a file that stands for the published one of CIFAR-100.
        """
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        typed = [os.fspath(word) for word in words]
        request = {
            "words": typed,
            "cwd": str(cwd),
            "environment": dict(environment or {}),
            "entry": entry,
            "fault": dict(fault or {}),
            "kill": None if kill is None else (kill.after, kill.sent, kill.again),
            "patience": patience,
            "archive": None if archive is None else str(archive),
        }
        self._server.stdin.write(json.dumps(request) + "\n")
        self._server.stdin.flush()
        line = self._server.stdout.readline()
        if not line:
            raise RuntimeError(f"the server of commands ended with {self._server.wait()}")
        return Done(tuple(typed), **json.loads(line))

    def close(self) -> None:
        assert self._server.stdin is not None
        self._server.stdin.close()
        self._server.wait(timeout=60)

    def __enter__(self) -> CommandServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _serve() -> None:
    import matplotlib.figure  # noqa: F401
    import torch

    import tests.experiments.in_process  # noqa: F401 (registers the launcher)

    torch.set_num_threads(1)
    for line in sys.stdin:
        print(json.dumps(_forked(json.loads(line))), flush=True)


def _forked(request: dict[str, Any]) -> dict[str, Any]:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        started = time.monotonic()
        child = os.fork()
        if child == 0:
            _become(request, out.fileno(), err.fileno())
        status, cpu, peak, ended = _watched(child, started, request)
        seconds = time.monotonic() - started
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode("utf-8", errors="replace"))
    code = os.waitstatus_to_exitcode(status)
    return {
        "code": code,
        "out": texts[0],
        "err": texts[1],
        "seconds": seconds,
        "cpu": cpu,
        "peak": peak,
        "ended": ended,
    }


def _watched(child: int, started: float, request: dict[str, Any]) -> tuple[int, float, int, str]:
    """Wait for a process; end its group where it takes far too long or too much memory. Returns its time and memory, too."""
    ended = ""
    group_peak, looked_at = 0, 0.0
    due: list[tuple[float, int]] = []
    if request["kill"] is not None:
        after, sent, again = request["kill"]
        due = [(after, sent), *([] if again is None else [(after + again, sent)])]
    while True:
        pid, status, usage = os.wait4(child, os.WNOHANG)
        if pid:
            break
        if time.monotonic() - looked_at > _LOOK:
            group_peak, looked_at = max(group_peak, group_memory(child)), time.monotonic()
        if due and time.monotonic() - started >= due[0][0]:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(child, due.pop(0)[1])
        if not ended and time.monotonic() - started > request["patience"]:
            ended = f"ended after {request['patience']:.0f} s"
        if not ended and group_peak > _KILLED_ABOVE:
            ended = f"ended above {_KILLED_ABOVE / 2**30:.0f} GB"
        if ended:
            _end_group(child)
        time.sleep(_POLL)
    _end_group(child)  # what it left behind
    return status, usage.ru_utime + usage.ru_stime, max(group_peak, usage.ru_maxrss * 1024), ended


def _end_group(group: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def group_memory(group: int) -> int:
    """Resident memory of the largest process of a group."""
    largest = 0
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            if int(fields[2]) == group:
                largest = max(largest, int(fields[21]) * resource.getpagesize())
        except (OSError, IndexError, ValueError):
            continue
    return largest


def _become(request: dict[str, Any], out: int, err: int) -> None:
    """In the child: be the command; never returns."""
    code: Any = 99
    try:
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(out, 1)
        os.dup2(err, 2)
        sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w"), os.fdopen(2, "w")
        os.environ.update(request["environment"])
        os.chdir(request["cwd"])
        sys.argv = ["einstellung", *request["words"]]
        if request["archive"]:
            _publish(Path(request["archive"]))
        if request["fault"]:
            _install_fault(request["fault"])
        if request["entry"] == "guide":
            from einstellung.guide.command import main
        else:
            from einstellung.cli import main
        main()
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 0 if stop.code is None else 1
    except BaseException:  # noqa: BLE001 (as the interpreter would end)
        traceback.print_exc()
        code = 1
    finally:
        with suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _publish(archive: Path) -> None:
    """Let this file be what is downloaded as CIFAR-100: the real one has 169 MB."""
    from einstellung.sources import PUBLISHED

    content = archive.read_bytes()
    facts = {"archive_md5": hashlib.md5(content).hexdigest(), "archive_bytes": len(content)}
    for name, value in facts.items():
        object.__setattr__(PUBLISHED["cifar100"], name, value)


def _install_fault(settings: dict[str, str]) -> None:
    names: dict[str, Any] = runpy.run_path(str(Path(__file__).with_name("hook") / "sitecustomize.py"))
    names["install"](settings)


if __name__ == "__main__":
    _serve()
