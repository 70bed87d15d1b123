"""Full and read-only disks: from the n-th write on, every further one is refused; then there is room again."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator

from einstellung.boundary import MOST_CHARACTERS
from tests.faults.campaign import Trial
from tests.faults.studies import Study

_WRITES = 120


class Disks:
    name = "disks"

    def __init__(self, study: Study) -> None:
        self.study = study

    def trials(self, first: int) -> Iterator[Trial]:
        number = first
        while True:
            yield self._trial(number)
            number += 1

    def _trial(self, number: int) -> Trial:
        draws = random.Random(f"disks {number}")
        kind = ("full", "read-only")[number % 2]
        at = draws.choice((1, 2, draws.randrange(1, 20), draws.randrange(1, _WRITES)))
        out, count = self.study.scratch / f"disk-{number}", self.study.scratch / f"count-disk-{number}"
        shutil.rmtree(out, ignore_errors=True)
        count.unlink(missing_ok=True)
        environment = {"FAULT_BELOW": str(out), "FAULT_COUNT": str(count), "FAULT_AT": str(at), "FAULT_KIND": kind}
        done = self.study.run(out, environment)
        problems = list(done.problems)
        if done.code == 0 and count.exists() and count.stat().st_size >= at:
            problems.append("exit code 0 although writes were refused")
        if done.code and (long := [line for line in done.err.splitlines() if len(line) > MOST_CHARACTERS]):
            problems.append(f"a line of {len(long[0])} characters")
        again = self.study.run(out)
        if again.code:
            problems.append(f"it cannot go on: {again.err.strip()[-300:]}")
        else:
            problems += self.study.differences(out)
        if not problems:
            shutil.rmtree(out, ignore_errors=True)
        return Trial(f"{kind} from write {at} on", {f"{kind} disks": 1}, (*problems, *again.problems))
