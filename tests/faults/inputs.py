"""Bad inputs as a part of the campaign: every case in a fixed, mixed order, a batch for each trial."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

from tests.faults.bad_inputs import Case, all_cases, run_case
from tests.faults.campaign import Trial
from tests.faults.commands import CommandServer
from tests.faults.material import make_material

_BATCH = 20


class BadInputs:
    name = "inputs"

    def __init__(self, scratch: Path) -> None:
        self.scratch = scratch

    def cases(self) -> list[Case]:
        cases = list(all_cases(make_material(self.scratch / "material"), self.scratch / "cases"))
        random.Random("bad inputs").shuffle(cases)
        return cases

    def trials(self, first: int) -> Iterator[Trial]:
        shutil.rmtree(self.scratch / "cases", ignore_errors=True)
        cases, number = self.cases(), first
        with CommandServer({"EINSTELLUNG_DATA": ""}) as server:
            while True:
                begin = number * _BATCH % len(cases)
                problems, batch = [], cases[begin : begin + _BATCH]
                for case in batch:
                    found = run_case(server, case, self.scratch / "empty")
                    if found:
                        problems.append(f"{case.name}: {', '.join(found)}")
                counted = {"bad inputs": len(batch), "answered": len(batch) - len(problems)}
                yield Trial(f"cases {begin} to {begin + len(batch) - 1} of {len(cases)}", counted, tuple(problems))
                number += 1
