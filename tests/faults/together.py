"""Several processes on one folder: one runs, the others are told so in one line, and the result is that of one alone."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator

from tests.faults.campaign import Trial
from tests.faults.studies import Study, wait_a_little

_PROCESSES = 3


class Together:
    name = "together"

    def __init__(self, study: Study) -> None:
        self.study = study

    def trials(self, first: int) -> Iterator[Trial]:
        number = first
        while True:
            yield self._trial(number)
            number += 1

    def _trial(self, number: int) -> Trial:
        draws = random.Random(f"together {number}")
        out = self.study.scratch / f"together-{number}"
        shutil.rmtree(out, ignore_errors=True)
        cache = {"EINSTELLUNG_CACHE": str(self.study.scratch / f"cache-{number}")}
        started = []
        for _ in range(_PROCESSES):
            started.append(self.study.start(out, cache))
            wait_a_little(started[-1], draws.uniform(0, 2))
        ended = [self.study.ended(process, out) for process in started]
        problems = [problem for done in ended for problem in done.problems]
        codes = sorted(done.code for done in ended)
        if any(code not in (0, 2) for code in codes):
            problems.append(f"exit codes {codes}")
        again = self.study.run(out, cache)
        problems += again.problems + ([f"it cannot go on: {again.err.strip()[-300:]}"] if again.code else [])
        problems += self.study.differences(out)
        if not problems:
            shutil.rmtree(out, ignore_errors=True)
        return Trial(
            f"{_PROCESSES} processes",
            {"processes": _PROCESSES, "refused": sum(code == 2 for code in codes)},
            tuple(problems),
        )
