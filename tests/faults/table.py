"""The table of the campaign in docs/reliability.md, from the counts: ``python -m tests.faults --table`` writes it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from einstellung.files import write_text
from tests.faults.campaign import Counts

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reliability.md"
_BEGIN, _END = "<!-- campaign -->\n", "<!-- end -->\n"
_ROWS = {
    "kills": ("kills of studies, of picture making and of downloads", "kills", 1000),
    "ray": ("kills under Ray", "kills", 100),
    "disks": ("full and read-only disks", "", 0),
    "damage": ("damaged files", "", 0),
    "together": ("several processes", "processes", 100),
    "inputs": ("bad inputs", "bad inputs", 500),
    "fuzzing": ("fuzzing", "seconds", 1800),
}


def table(counts: Counts) -> str:
    """A row for every part, also of one that was not tried."""
    lines = ["| part | trials | counted in them | to reach | trials failed |", "| --- | --- | --- | --- | --- |"]
    for part, (name, unit, enough) in _ROWS.items():
        own = counts.parts.get(part, {"trials": 0, "counted": {}, "failed": 0})
        goal = f"{enough:,} {unit}" if unit else "no number"
        lines.append(f"| {name} | {own['trials']:,} | {_counted(own['counted']) or '-'} | {goal} | {own['failed']} |")
    return "\n".join(lines) + "\n"


def _counted(counted: Mapping[str, Any]) -> str:
    return ", ".join(f"{count:,.0f} {name}" for name, count in counted.items())


def section(page: str) -> str:
    """What stands between the marks."""
    return page.partition(_BEGIN)[2].partition(_END)[0]


def write_table(page: Path = PAGE) -> None:
    text = page.read_text(encoding="utf-8")
    write_text(page, text.replace(_BEGIN + section(text) + _END, f"{_BEGIN}\n{table(Counts.read())}\n{_END}"))
