"""The scorecard on a terminal: one row per method, then the verdicts, the warnings and the checks that failed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD, Box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from einstellung.diagnoses.confounding.terminal import confounding_in_words
from einstellung.diagnoses.shortcuts.terminal import shortcuts_in_words
from einstellung.guide.tables import guide_table
from einstellung.report.measured import margins_in_words, rule_in_words, seeds_in_words, smoothing_in_words
from einstellung.report.notation import (
    DASH,
    FACETS,
    MINUS,
    PATTERNS,
    baseline_first,
    certainty_beside,
    continual_methods,
    deciding,
    mean_sd,
    number,
)
from einstellung.report.tables import Table

_RELATIVE = ("AD", "PD", "SFR_rel", "delta", "delta_S")
_ABSOLUTE = ("SC_patch", "SC_mask", "NSC", "T1")
_HEADS = {"SFR_rel": "SFR\nrel", "SC_patch": "SC\npatch", "SC_mask": "SC\nmask", "T1": "T1\nend"}
_COLOURS = {
    "red-flag": "bold red",
    "cue-harmful": "magenta",
    "shared-shortcut": "yellow",
    "benign-avoidance": "blue",
    "benign-transfer": "green",
    "ambiguous": "bold",
}
_WIDE = 112
_PLAIN_WIDTH = 120  # where there is no terminal to ask
_ASCII = str.maketrans(
    {"±": "+-", MINUS: "-", DASH: "-", "Δ": "delta", "τ": "tau", "…": "..", "≥": ">=", "≤": "<=", "×": "x", "↑": "^"}
)


def render_terminal(card: Mapping[str, Any], console: Console) -> None:
    """Print a scorecard of any kind; where ``console`` is not a terminal, plain text of 120 columns or more."""
    asked = console.width
    if not console.is_terminal:
        console.width = max(asked, _PLAIN_WIDTH)
    try:
        _print(card, console)
    finally:
        console.width = asked


def _print(card: Mapping[str, Any], console: Console) -> None:
    if card.get("kind") == "confounding":
        for line in confounding_in_words(card):
            _say(console, "", line, "")
    elif card.get("kind") == "shortcuts":
        for line in shortcuts_in_words(card):
            _say(console, "", line, "")
    elif card["variant"] == "guide":
        _print_rows(console, guide_table(card))
    else:
        _print_paper(console, baseline_first(card))
    for check in card.get("checks", ()):
        if check["passed"] is False:
            _say(console, "FAILED CHECK ", f"{check['name']}: {check['detail']}", "bold red")
    for warning in card.get("warnings", ()):
        _say(console, "warning ", warning, "yellow")


def _print_paper(console: Console, card: Mapping[str, Any]) -> None:
    if console.width >= _WIDE:
        console.print(_methods_table(console, card, (*_RELATIVE, *_ABSOLUTE), verdict=True))
    else:
        console.print(_methods_table(console, card, _RELATIVE[:-1], verdict=True))
        console.print()
        console.print(_methods_table(console, card, (*_RELATIVE[-1:], *_ABSOLUTE), verdict=False))
    console.print()
    _say(console, "", _legend(card), "dim")
    for method in continual_methods(card):
        record = card["methods"][method]
        pattern = PATTERNS.get(record["pattern"])
        words = f"{pattern.name} ({pattern.words})" if pattern else DASH
        words += f", {certainty}" if (certainty := certainty_beside(record)) else ""
        console.print()
        _say(console, f"{method}: ", words, _COLOURS.get(record["pattern"] or "", "bold"), lead_style="bold")
        _say(console, "", record["verdict"] or "no verdict", "", indent=2)
        if record["high_rigidity"]:
            _say(console, "", "high-rigidity flag: set", "bold red", indent=2)
        if record["next_probe"]:
            _say(console, "next probe: ", record["next_probe"], "", indent=2, lead_style="bold")
    if card.get("checks") or card.get("warnings"):
        console.print()


def _legend(card: Mapping[str, Any]) -> str:
    return (
        f"Mean, ± standard deviation; {seeds_in_words(card)}. SC: shortcut classes with the cue (patch) and with it "
        "covered (mask); NSC: classes without the cue; T1: phase 1 at the end of phase 2. "
        f"AD at τ = {number(card['tau'], digits=2)}, curves {smoothing_in_words(card)}. "
        f"The rest at {rule_in_words(card)}. Margins: {margins_in_words(card)}."
    )


def _methods_table(console: Console, card: Mapping[str, Any], keys: Sequence[str], *, verdict: bool) -> RichTable:
    table = RichTable(box=_box(console), pad_edge=False, padding=(0, 1, 0, 0), show_edge=False)
    table.add_column("method", max_width=18, overflow="fold")
    for key in keys:
        table.add_column(_for(console, _HEADS.get(key, FACETS[key].head)), justify="right", no_wrap=True)
    if verdict:
        table.add_column("pattern", no_wrap=True)
        table.add_column("certainty", no_wrap=True)
    for method, record in card["methods"].items():
        cells = [Text(_for(console, _cell(key, record))) for key in keys]
        if verdict:
            pattern = record["pattern"] or ("baseline" if method == card["baseline"] else DASH)
            cells += [
                Text(_for(console, pattern), _COLOURS.get(pattern, "dim")),
                Text(_for(console, certainty_beside(record) or "")),
            ]
        table.add_row(Text(_for(console, method)), *cells)
    return table


def _cell(key: str, record: Mapping[str, Any]) -> str:
    """Mean above, deviation below, and below that the seeds that count where they are not all."""
    estimate = deciding(record, key)
    lines = mean_sd(key, estimate).split(" ± ")
    text = lines[0] + (f"\n±{lines[1]}" if len(lines) == 2 else "")
    if key in ("AD", "delta") and 0 < estimate["n"] < record["n_seeds"]:
        text += f"\nn {estimate['n']}/{record['n_seeds']}"
    return text


def _print_rows(console: Console, rows: Table) -> None:
    table = RichTable(box=_box(console), pad_edge=False, padding=(0, 2, 0, 0), show_edge=False)
    for place, head in enumerate(rows.head):
        table.add_column(_for(console, head), justify="left" if place == 0 else "right")
    for row in rows.rows:
        table.add_row(*(Text(_for(console, cell.text)) for cell in row))
    console.print(table)
    for row in rows.rows:
        for reason in dict.fromkeys(cell.why for cell in row if cell.why is not None):
            _say(console, f"{row[0].text}: ", reason, "")
    _say(console, "", rows.note, "dim")


def _say(console: Console, lead: str, text: str, style: str, *, indent: int = 0, lead_style: str | None = None) -> None:
    words = Text(_for(console, lead), style if lead_style is None else lead_style).append(_for(console, text), style)
    console.print(Padding(words, (0, 0, 0, indent), expand=False))


def _box(console: Console) -> Box | None:
    return None if console.options.ascii_only else SIMPLE_HEAD


def _for(console: Console, text: str) -> str:
    """The text, in ASCII where the console can print nothing else."""
    return text.translate(_ASCII).encode("ascii", "replace").decode() if console.options.ascii_only else text
