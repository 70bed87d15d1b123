"""Kills of Ray's workers, of the actor with the progress, and of the command, where Ray is installed.

A trial is one study under kills, whose bytes are compared with those of the local launcher. In turn, results are written by the
workers or sent back.
"""

from __future__ import annotations

import random
import shutil
import time
from collections.abc import Iterator
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path

from benchmarks.launchers.kills import STUDY, differing, one_round, start_command
from einstellung.files import write_text
from einstellung.results.config import build_config, to_yaml
from tests.faults.campaign import Trial

_KILLS, _SECONDS, _PAUSE = 15, 900.0, 6.0  # of one study; then it may end


class RayKills:
    name = "ray"

    def __init__(self, scratch: Path) -> None:
        self.scratch = scratch

    @staticmethod
    def is_possible() -> bool:
        return find_spec("ray") is not None

    @cached_property
    def config(self) -> Path:
        return write_text(self.scratch / "ray.yaml", to_yaml(build_config(STUDY)))

    @cached_property
    def reference(self) -> Path:
        """The study by the local launcher, without any kill."""
        folder = self.scratch / "by-local"
        shutil.rmtree(folder, ignore_errors=True)
        if start_command(self.config, folder, []).wait():
            raise RuntimeError("the untouched study fails")
        return folder

    def trials(self, first: int) -> Iterator[Trial]:
        number = first
        while True:
            yield self._trial(number)
            number += 1

    def _trial(self, number: int) -> Trial:
        sent, reference = number % 2 == 1, self.reference
        out = self.scratch / f"ray-{number}"
        shutil.rmtree(out, ignore_errors=True)
        draws = random.Random(f"ray {number}")
        found = one_round(self.config, out, sent, draws, _KILLS, time.monotonic() + _SECONDS, _PAUSE)
        counted: dict[str, float] = {"kills": sum(found["kills"].values()), "studies resumed": 1 - found["failed"]}
        counted |= {f"of the {kind}": count for kind, count in found["kills"].items() if count}
        counted["with results sent back" if sent else "with results on a shared folder"] = counted["kills"]
        problems = [f"{name} differs" for name in differing(reference, out)[:3]]
        if found["failed"]:
            log = out.with_suffix(".log")
            problems.append(f"it could not go on: {log.read_text(errors='replace').strip()[-300:]}")
        if not problems:
            shutil.rmtree(out, ignore_errors=True)
        return Trial(f"study {number}", counted, tuple(problems))
