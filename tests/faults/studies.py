"""A small study in processes of its own, and the bytes that it must end in whatever happens on the way."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import yaml

from tests.faults.commands import MOST_BYTES, group_memory

HOOK = Path(__file__).with_name("hook")
ROOT = Path(__file__).resolve().parents[2]
_LOOK = 0.1  # seconds between two looks at the memory
PATIENCE = 600  # seconds for one run, on a machine that does other things, too
TINY = {
    "name": "tiny",
    "stream": {"name": "shapes", "size": 8, "train_per_class": 8, "test_per_class": 2},
    "cue": {"name": "patch", "size": 2},
    "backbone": {"name": "mlp", "inputs": 192, "hidden": 8},
    "training": {"epochs": [1, 2], "batch_size": 8, "precision": "fp32", "threads": 1, "kernels": "torch"},
    "evaluation": {"first_phase": "own"},
    "methods": ["scratch_t2", "sgd", "derpp"],
    "learners": {"derpp": {"buffer": 20, "draw": 4}},
    "seeds": [1, 2],
}


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit code (negative: a signal), what it printed, and the most memory that one process took."""

    code: int
    err: str
    out: str
    peak: int = 0

    @property
    def problems(self) -> list[str]:
        """What no command may do, however it ended."""
        found = []
        if "Traceback" in self.err or "Traceback" in self.out:
            found.append("a traceback: " + self.err.strip().splitlines()[-1][:200])
        if self.code == 70:
            found.append("an unforeseen error: " + self.err.strip()[:300])
        if self.peak > MOST_BYTES:
            found.append(f"{self.peak / 2**30:.2f} GB")
        return found


class Study:
    """The study in a scratch folder; ``reference`` is its untouched result."""

    def __init__(self, scratch: Path) -> None:
        self.scratch = scratch
        scratch.mkdir(parents=True, exist_ok=True)
        self.config = scratch / "tiny.yaml"
        self.config.write_text(yaml.safe_dump(TINY))

    def start(
        self, out: Path, environment: Mapping[str, str] | None = None, verb: str = "run"
    ) -> subprocess.Popen[str]:
        """Start the command, in a process group of its own."""
        words = [str(self.config), "--out", str(out), "--workers", "2"] if verb == "run" else [str(out)]
        logs = self.scratch / "logs"
        logs.mkdir(exist_ok=True)
        with (logs / f"{out.name}.out").open("w") as output, (logs / f"{out.name}.err").open("w") as errors:
            return subprocess.Popen(
                [sys.executable, "-m", "einstellung", verb, *words],
                stdout=output,
                stderr=errors,
                stdin=subprocess.DEVNULL,
                text=True,
                start_new_session=True,
                cwd=self.scratch,
                env={
                    **os.environ,
                    "PYTHONPATH": os.pathsep.join([str(HOOK), str(ROOT)]),
                    "OMP_NUM_THREADS": "1",
                    "OMP_WAIT_POLICY": "passive",
                    "EINSTELLUNG_DATA": "",
                    **(environment or {}),
                },
            )

    def ended(self, process: subprocess.Popen[str], out: Path) -> Ended:
        ends, peak = time.monotonic() + PATIENCE, 0
        while (code := process.poll()) is None and time.monotonic() < ends:
            peak = max(peak, group_memory(process.pid))
            time.sleep(_LOOK)
        end_group(process.pid)
        if code is None:
            process.wait()
            code = 99
        logs = self.scratch / "logs"
        out_text, err = ((logs / f"{out.name}.{kind}").read_text(errors="replace") for kind in ("out", "err"))
        return Ended(code, err if code != 99 else f"{err}\nit did not end in {PATIENCE} s", out_text, peak)

    def run(self, out: Path, environment: Mapping[str, str] | None = None, verb: str = "run") -> Ended:
        return self.ended(self.start(out, environment, verb), out)

    @cached_property
    def reference(self) -> dict[str, str]:
        """The hash of every file that two untouched runs agree in: what must not depend on how a study was run."""
        folders = [self.scratch / "reference", self.scratch / "reference-2"]
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)
            done = self.run(folder)
            if done.code:
                raise RuntimeError(f"the untouched study fails: {done.err}")
        first, second = (hashes(folder) for folder in folders)
        agreed = {name: value for name, value in first.items() if second.get(name) == value}
        for kind in ("timeline.csv", "model.safetensors", "predictions.csv"):
            assert any(name.endswith(kind) for name in agreed), kind
        return agreed

    @property
    def writes(self) -> int:
        """How often an untouched run writes into its folder."""
        return self._effort[0]

    @property
    def seconds(self) -> float:
        """How long an untouched run takes."""
        return self._effort[1]

    @cached_property
    def _effort(self) -> tuple[int, float]:
        out, count = self.scratch / "counted", self.scratch / "count-counted"
        shutil.rmtree(out, ignore_errors=True)
        count.unlink(missing_ok=True)
        begun = time.monotonic()
        done = self.run(out, {"FAULT_BELOW": str(out), "FAULT_COUNT": str(count), "FAULT_KIND": "count"})
        if done.code:
            raise RuntimeError(f"the untouched study fails: {done.err}")
        return count.stat().st_size, time.monotonic() - begun

    def differences(self, out: Path) -> list[str]:
        """Files that are not as in the reference, and what was left half-written."""
        found = hashes(out)
        wrong = [name for name, value in self.reference.items() if found.get(name) != value]
        left = [name for name in found if ".writing" in name]
        return [*(f"{name} differs" for name in wrong[:3]), *(f"{name} was left behind" for name in left[:3])]


def hashes(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }


def end_group(group: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def processes_of(group: int) -> dict[str, list[int]]:
    """The processes of a study by their part: parent, server (the fork server) and worker."""
    found: dict[str, list[int]] = {"parent": [group], "server": [], "worker": []}
    parents = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with suppress(OSError, ValueError, IndexError):
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                if int(fields[2]) == group:
                    parents[int(folder.name)] = int(fields[1])
                    if b"forkserver" in (folder / "cmdline").read_bytes() and int(fields[1]) == group:
                        found["server"].append(int(folder.name))
    found["worker"] = [pid for pid, parent in parents.items() if parent in found["server"]]
    return found


def wait_a_little(process: subprocess.Popen[str], seconds: float) -> bool:
    """Whether the process is still there after so long."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        if process.poll() is not None:
            return False
        time.sleep(0.02)
    return process.poll() is None
