"""Kills: at random moments and at writes, of the group, the parent, a worker, the fork server; SIGKILL, SIGTERM, Ctrl-C twice.

A trial kills the same command again and again, runs it to its end, and compares its bytes with those of an untouched one. The
command runs a study with its report, makes pictures, or downloads an archive.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from math import gcd
from pathlib import Path

from tests.faults.campaign import Trial
from tests.faults.commands import CommandServer, Kill
from tests.faults.studies import Study, end_group, processes_of, wait_a_little
from tests.faults.targets import Downloads, Target, make_targets

_KILLS = 5  # of one folder, before it may end
_ORDER = (
    "study",
    "composites",
    "study",
    "download",
    "study",
    "concon",
    "study",
    "composites",
    "study",
    "workers",
    "download",
)


class Kills:
    """Most kills hit commands in a forked process, some a real command with its workers."""

    name = "kills"

    def __init__(self, study: Study, scratch: Path) -> None:
        self.study, self.scratch = study, scratch

    def trials(self, first: int) -> Iterator[Trial]:
        with CommandServer({"EINSTELLUNG_DATA": ""}) as server:
            targets = make_targets(server, self.scratch)
            downloads = Downloads(server, self.scratch)
            targets["download"] = downloads.target
            try:
                number = first
                while True:
                    kind = _ORDER[number % len(_ORDER)]
                    yield self._with_workers(number) if kind == "workers" else _forked(targets[kind], number)
                    number += 1
            finally:
                downloads.close()

    def _with_workers(self, number: int) -> Trial:
        draws = random.Random(f"kills {number}")
        out = self.study.scratch / f"killed-{number}"
        shutil.rmtree(out, ignore_errors=True)
        counted: dict[str, float] = {"kills": 0}
        problems: list[str] = []
        for _ in range(_KILLS):
            how = draws.choice(("write", "write-self", "time", "time"))
            killed = self._at_write(out, draws, how) if how != "time" else self._at_moment(out, draws, problems)
            if killed is None:
                break  # it was done before
            counted["kills"] += 1
            counted[killed] = counted.get(killed, 0) + 1
        done = self.study.run(out)
        if done.code:
            problems.append(f"it cannot go on: {done.err.strip()[-300:]}")
        else:
            counted["studies resumed"] = 1
            problems += self.study.differences(out)
        if not problems:
            shutil.rmtree(out, ignore_errors=True)
        return Trial(f"study {number} with workers", counted, (*problems, *done.problems))

    def _at_write(self, out: Path, draws: random.Random, how: str) -> str | None:
        count = self.study.scratch / f"count-{out.name}"
        count.unlink(missing_ok=True)
        kind = "kill-group" if how == "write" else "kill-self"
        environment = {
            "FAULT_BELOW": str(out),
            "FAULT_COUNT": str(count),
            "FAULT_AT": str(draws.randrange(1, self.study.writes)),
            "FAULT_KIND": kind,
        }
        done = self.study.run(out, environment)
        return None if done.code == 0 else f"at a write, {kind.removeprefix('kill-')}"

    def _at_moment(self, out: Path, draws: random.Random, problems: list[str]) -> str | None:
        target = draws.choice(("group", "group", "parent", "worker", "server"))
        sent = draws.choice((signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT))
        process = self.study.start(out)
        if not wait_a_little(process, draws.uniform(0, self.study.seconds)):
            return None if self.study.ended(process, out).code == 0 else "of what had failed"
        if sent == signal.SIGINT:
            target = "group"  # a terminal sends it to all of them
            for _ in range(2):
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, sent)
                time.sleep(draws.uniform(0, 0.5))
        elif target == "group":
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, sent)
        else:
            found = processes_of(process.pid)[target] or [process.pid]
            with suppress(ProcessLookupError, PermissionError):
                os.kill(draws.choice(found), sent)
        if sent == signal.SIGKILL and target == "parent":
            process.wait()
            time.sleep(0.5)
            end_group(process.pid)
        done = self.study.ended(process, out)
        problems += [f"{problem} after {sent.name} to the {target}" for problem in done.problems]
        if sent == signal.SIGINT and done.code not in (0, 130, -signal.SIGINT):
            problems.append(f"exit code {done.code} after Ctrl-C twice: {done.err.strip()[-200:]}")
        return "Ctrl-C twice" if sent == signal.SIGINT else f"{sent.name} to the {target}"


def _forked(target: Target, number: int) -> Trial:
    """Kills of one command in a process of its own. The first one hits each write in turn, over all trials."""
    draws = random.Random(f"kills {number}")
    out = target.scratch / target.name / f"killed-{number}" / "out"
    shutil.rmtree(out.parent, ignore_errors=True)
    writes, seconds = target.effort
    counted: dict[str, float] = {"kills": 0}
    problems: list[str] = []
    at, before = 1 + number * _stride(writes) % writes, 0
    for attempt in range(_KILLS):
        if attempt == 0 or draws.random() < 0.5:
            done = target.run(out, target.fault(out, "kill-self", at))
            how, killed = "at a write, self", done.code == -signal.SIGKILL
        else:
            sent = draws.choice((signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT))
            kill = Kill(draws.uniform(0, seconds), sent, draws.uniform(0, 0.3) if sent == signal.SIGINT else None)
            done = target.run(out, target.fault(out, "count", 0), kill)
            how, killed = kill.name, done.code != 0
            if kill.again is not None and done.code not in (0, 130, -signal.SIGINT):
                problems.append(f"exit code {done.code} after Ctrl-C twice: {done.err.strip()[-200:]}")
        problems += [f"{problem} ({how})" for problem in done.problems]
        if not killed:
            if done.code:
                problems.append(f"it cannot go on: {done.err.strip()[-300:]}")
            break  # it was done before
        counted["kills"] += 1
        counted[how] = counted.get(how, 0) + 1
        count = target.count_file(out)
        before += count.stat().st_size if count.exists() else 0
        at = draws.randrange(1, max(writes - before, 20))
    done = target.run(out)
    problems += done.problems
    if done.code and not _says_it_is_there(target, done.err):
        problems.append(f"it cannot go on: {done.err.strip()[-300:]}")
    counted[target.counted] = 1
    problems += target.differences(out)
    if not problems:
        shutil.rmtree(out.parent, ignore_errors=True)
    return Trial(f"{target.name} {number}", counted, tuple(dict.fromkeys(problems)))


def _says_it_is_there(target: Target, said: str) -> bool:
    """Pictures that are complete are not made again."""
    return target.name == "composites" and "exists: choose another --out" in said


def _stride(writes: int) -> int:
    """A step through all writes that comes to each of them, in no order."""
    return next(step for step in range(int(writes * 0.618), 2 * writes) if gcd(step, writes) == 1)
