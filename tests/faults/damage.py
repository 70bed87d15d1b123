"""Damaged files: each kind of file of a finished or half-finished study is flipped, cut, emptied, swapped or lost.

Then the same command is run. It must say so or make the file again: a result that differs without a word is the failure.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

from tests.faults.campaign import Trial
from tests.faults.studies import Study

WAYS = ("flipped", "cut", "emptied", "swapped", "lost")
_NOT_READ_AGAIN = ("figures/", "tables/", ".lock", "progress", "timeline_live")


class Damage:
    name = "damage"

    def __init__(self, study: Study) -> None:
        self.study = study

    def trials(self, first: int) -> Iterator[Trial]:
        _ = self.study.reference
        source = self.study.scratch / "reference"
        files = sorted(path for path in source.rglob("*") if path.is_file() and path.stat().st_size)
        names = [path.relative_to(source).as_posix() for path in files]
        names = [name for name in names if not any(part in name for part in _NOT_READ_AGAIN)]
        kinds: dict[str, list[str]] = {}
        for name in names:
            kinds.setdefault(Path(name).name if "/" in name else name, []).append(name)
        cases = [(kind, way) for way in WAYS for kind in sorted(kinds)]
        number = first
        while True:
            kind, way = cases[number % len(cases)]
            yield self._trial(number, random.Random(f"damage {number}").choice(kinds[kind]), way, kinds[kind])
            number += 1

    def _trial(self, number: int, name: str, way: str, alike: list[str]) -> Trial:
        out = self.study.scratch / f"damaged-{number}"
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(self.study.scratch / "reference", out)
        self._damage(out, name, way, alike, random.Random(f"damage of {number}"))
        problems = []
        counted: dict[str, float] = {f"files {way}": 1}
        reported = self.study.run(out, verb="report")
        problems += [f"report: {one}" for one in reported.problems]
        told = Path(name).name in reported.err + reported.out
        done = self.study.run(out)
        told = told or Path(name).name in done.err + done.out
        problems += [f"run: {one}" for one in done.problems]
        wrong = self.study.differences(out)
        if done.code == 0 and not wrong:
            counted["made again"] = 1
        elif done.code and told:
            counted["refused by name"] = 1
        elif done.code:
            problems.append(f"it does not say which file is damaged: {done.err.strip()[-200:]}")
        else:
            problems.append(f"goes on {'' if told else 'without a word '}with other results: {'; '.join(wrong)}")
        if not problems:
            shutil.rmtree(out, ignore_errors=True)
        return Trial(f"{name} {way}", counted, tuple(problems))

    def _damage(self, out: Path, name: str, way: str, alike: list[str], draws: random.Random) -> None:
        path = out / name
        content = bytearray(path.read_bytes())
        if way == "flipped":
            content[draws.randrange(len(content))] ^= 1 << draws.randrange(8)
        elif way == "cut":
            del content[draws.randrange(len(content)) :]
        elif way == "emptied":
            content.clear()
        elif way == "swapped":
            others = [one for one in alike if one != name and (out / one).read_bytes() != content]
            other = draws.choice(others) if others else None
            content = bytearray((out / other).read_bytes() if other else bytes(reversed(content)))
        if way == "lost":
            path.unlink()
        else:
            path.write_bytes(content)
