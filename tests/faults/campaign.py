"""Parts of the campaign, their counts, and the file in which counts add up over all campaigns."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from einstellung.files import read_json, write_json

COUNTS = Path(__file__).with_name("counts.json")
_MOST_LISTED = 40


@dataclass(frozen=True)
class Trial:
    """One trial of a part: what was counted, and what went wrong."""

    name: str
    counted: dict[str, float]
    problems: tuple[str, ...] = ()


class Part(Protocol):
    """``trials(first)`` goes on for ever from trial ``first``; equal numbers are equal trials."""

    name: str

    def trials(self, first: int) -> Iterator[Trial]: ...


@dataclass
class Counts:
    """What was tried and what failed, by part; ``next``: the trial with which a part goes on."""

    parts: dict[str, dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path = COUNTS) -> Counts:
        return cls(read_json(path)) if path.exists() else cls()

    def write(self, path: Path = COUNTS) -> None:
        write_json(path, self.parts)

    def next(self, part: str) -> int:
        return int(self.parts.get(part, {}).get("next", 0))

    def add(self, part: str, number: int, trial: Trial) -> None:
        own = self.parts.setdefault(part, {"next": 0, "trials": 0, "failed": 0, "counted": {}, "problems": []})
        own["next"] = number + 1
        own["trials"] += 1
        own["failed"] += bool(trial.problems)
        for name, count in trial.counted.items():
            own["counted"][name] = round(own["counted"].get(name, 0) + count, 1)
        if trial.problems:
            own["problems"] = [*own["problems"], f"{trial.name}: {'; '.join(trial.problems)}"][-_MOST_LISTED:]

    def total(self, part: str, name: str) -> float:
        return float(self.parts.get(part, {}).get("counted", {}).get(name, 0))


@dataclass(frozen=True)
class Limit:
    """When a part of one campaign is over: enough of something was counted, or its time has passed."""

    seconds: float
    counted: str = ""
    enough: float = 0


def run_part(part: Part, limit: Limit, counts: Counts, record: Path | None) -> list[str]:
    """Run trials until the limit; every one is recorded as soon as it has ended. Returns what went wrong."""
    begun, failed = time.monotonic(), []
    number = (counts if record is None else Counts.read(record)).next(part.name)
    for trial in part.trials(number):
        counts.add(part.name, number, trial)
        if record is not None:
            stored = Counts.read(record)  # another campaign may record other parts
            stored.add(part.name, number, trial)
            stored.write(record)
        if trial.problems:
            failed.append(f"{part.name} {number}, {trial.name}: {'; '.join(trial.problems)}")
            print(f"FAILED  {failed[-1]}", flush=True)
        number += 1
        if limit.counted and counts.total(part.name, limit.counted) >= limit.enough:
            break
        if time.monotonic() - begun > limit.seconds:
            break
    own = counts.parts[part.name]
    counted = ", ".join(f"{count:g} {name}" for name, count in own["counted"].items())
    print(
        f"{part.name}: {own['trials']} trials ({counted}), {own['failed']} failed, {time.monotonic() - begun:.0f} s",
        flush=True,
    )
    return failed
