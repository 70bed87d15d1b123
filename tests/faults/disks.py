"""Full and read-only disks: from the n-th write on, every further one is refused; then there is room again."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

from einstellung.boundary import MOST_CHARACTERS
from tests.faults.campaign import Trial
from tests.faults.commands import CommandServer
from tests.faults.targets import Target, make_targets

_ORDER = ("study", "study", "composites", "concon")


class Disks:
    name = "disks"

    def __init__(self, scratch: Path) -> None:
        self.scratch = scratch

    def trials(self, first: int) -> Iterator[Trial]:
        with CommandServer({"EINSTELLUNG_DATA": ""}) as server:
            targets = make_targets(server, self.scratch)
            number = first
            while True:
                yield _trial(targets[_ORDER[number % len(_ORDER)]], number)
                number += 1


def _trial(target: Target, number: int) -> Trial:
    draws = random.Random(f"disks {number}")
    kind = ("full", "read-only")[number // len(_ORDER) % 2]
    at = draws.choice((1, 2, draws.randrange(1, 20), draws.randrange(1, target.effort[0])))
    out = target.scratch / target.name / f"disk-{number}" / "out"
    shutil.rmtree(out.parent, ignore_errors=True)
    done = target.run(out, target.fault(out, kind, at))
    problems = list(done.problems)
    if done.code == 0:
        problems.append("exit code 0 although writes were refused")
    if done.code and (long := [line for line in done.err.splitlines() if len(line) > MOST_CHARACTERS]):
        problems.append(f"a line of {len(long[0])} characters")
    again = target.run(out)
    if again.code:
        problems.append(f"it cannot go on: {again.err.strip()[-300:]}")
    else:
        problems += target.differences(out)
    if not problems:
        shutil.rmtree(out.parent, ignore_errors=True)
    return Trial(f"{target.name}: {kind} from write {at} on", {f"{kind} disks": 1}, (*problems, *again.problems))
