"""Kills: at random moments and at writes, of the group, the parent, a worker, the fork server; SIGKILL, SIGTERM, Ctrl-C twice.

A trial kills the same study again and again, runs it to its end, and compares its bytes with those of an untouched one.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from tests.faults.campaign import Trial
from tests.faults.studies import Study, end_group, processes_of, wait_a_little

_KILLS = 5  # of one study, before it may end
_WRITES = 40  # a study makes a few hundred


class Kills:
    name = "kills"

    def __init__(self, study: Study) -> None:
        self.study = study
        self.seconds = 10.0  # of an untouched run

    def trials(self, first: int) -> Iterator[Trial]:
        begun = time.monotonic()
        _ = self.study.reference
        self.seconds = (time.monotonic() - begun) / 2 or self.seconds
        number = first
        while True:
            yield self._trial(number)
            number += 1

    def _trial(self, number: int) -> Trial:
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
        return Trial(f"study {number}", counted, (*problems, *done.problems))

    def _at_write(self, out: Path, draws: random.Random, how: str) -> str | None:
        count = self.study.scratch / f"count-{out.name}"
        count.unlink(missing_ok=True)
        kind = "kill-group" if how == "write" else "kill-self"
        environment = {
            "FAULT_BELOW": str(out),
            "FAULT_COUNT": str(count),
            "FAULT_AT": str(draws.randrange(1, _WRITES)),
            "FAULT_KIND": kind,
        }
        done = self.study.run(out, environment)
        return None if done.code == 0 else f"at a write, {kind.removeprefix('kill-')}"

    def _at_moment(self, out: Path, draws: random.Random, problems: list[str]) -> str | None:
        target = draws.choice(("group", "group", "parent", "worker", "server"))
        sent = draws.choice((signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT))
        begun, process = time.monotonic(), self.study.start(out)
        if not wait_a_little(process, draws.uniform(0, 0.8 * self.seconds)):
            self.seconds = min(
                self.seconds, time.monotonic() - begun
            )  # the machine has become faster, or there was little left
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
