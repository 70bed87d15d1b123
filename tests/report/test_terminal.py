"""The scorecard on a terminal and in a pipe."""

from __future__ import annotations

import io

from rich.console import Console

from einstellung.report import render_terminal


def printed(card, **options):
    stream = io.StringIO()
    render_terminal(card, Console(file=stream, **options))
    return stream.getvalue()


def test_a_pipe_gets_plain_text_in_120_columns(card):
    text = printed(card)
    assert "\x1b" not in text
    assert max(len(line.rstrip()) for line in text.splitlines()) <= 120
    row = next(line for line in text.splitlines() if line.startswith("ewc_on"))
    expected = "ewc_on −5.0 −0.120 +0.210 +0.400 +0.190 0.720 0.320 0.760 0.110 red-flag too few seeds"
    assert row.split() == expected.split()
    below = text.splitlines()[text.splitlines().index(row) + 1]
    assert below.split()[:3] == ["±1.41", "±0.020", "±0.010"]
    assert "n 2/3" in text


def test_the_baseline_has_dashes_and_its_own_label(card):
    row = next(line for line in printed(card).splitlines() if line.startswith("scratch_t2"))
    assert row.split()[1:4] == ["–", "–", "–"]
    assert "baseline" in row


def test_the_baseline_stands_first(card):
    card["methods"] = dict(reversed(card["methods"].items()))
    rows = [line.split()[0] for line in printed(card).splitlines()[3:] if line and not line.startswith(" ")][:3]
    assert rows == ["scratch_t2", "gpm", "ewc_on"]


def test_verdicts_probes_warnings_and_failures_follow(card):
    card["methods"]["gpm"]["next_probe"] = "lower tau"
    card["methods"]["ewc_on"]["high_rigidity"] = True
    card["warnings"] = ["odd [seed]"]
    card["checks"] = [
        {"name": "seeds match", "passed": False, "detail": "seed 3 is alone"},
        {"name": "fine", "passed": True, "detail": "yes"},
    ]
    text = printed(card)
    for words in (
        "ewc_on: red-flag (shortcut-induced rigidity), too few seeds",
        "Ambiguous: what gpm does.",
        "next probe: lower tau",
        "high-rigidity flag: set",
        "FAILED CHECK seeds match: seed 3 is alone",
        "warning odd [seed]",
    ):
        assert words in text
    assert "fine" not in text


def test_a_narrow_terminal_gets_two_tables(card):
    text = printed(card, width=80, force_terminal=True, color_system=None)
    assert max(len(line.rstrip()) for line in text.splitlines()) <= 80
    assert len([line for line in text.splitlines() if line.startswith("ewc_on ")]) == 2
    assert "…" not in text


def test_delta_beside_the_baseline_s_rests_on_the_same_seeds(card):
    paired = {"mean": 0.405, "sd": 0.007, "n": 2, "ci95": None, "interval": "none"}
    card["methods"]["ewc_on"]["delta_paired"] = paired
    text = printed(card)
    row = next(line for line in text.splitlines() if line.startswith("ewc_on"))
    assert row.split()[4] == "+0.405"
    third = text.splitlines()[text.splitlines().index(row) + 2]
    assert third.split() == ["n", "2/3", "n", "2/3"]  # of AD and of delta


def test_a_console_without_unicode_gets_ascii(card):
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    render_terminal(card, Console(file=stream))
    stream.flush()
    text = stream.buffer.getvalue().decode("ascii")
    assert "-0.120" in text
    assert "delta" in text


def test_the_width_of_the_console_is_given_back(card):
    console = Console(file=io.StringIO(), width=70)
    render_terminal(card, console)
    assert console.width == 70
