"""Whether probes support a verdict, contradict it, or neither.

A probe is read as a contrast with the baseline of the same seed. It counts as evidence only if the 95 % interval of that
contrast over at least three seeds excludes 0; there is no other threshold. Intervals are not corrected for the number of probes.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal

from einstellung.diagnoses.rigidity.card import Corroboration, ProbeLine, RigidityCard, RigidityMethod
from einstellung.diagnoses.rigidity.contrasts import (
    Side,
    Value,
    brier_lost,
    contrast,
    dormant_units,
    feature_rank,
    moved_by_cover,
    side_of,
    turned_by_cue,
)
from einstellung.diagnoses.rigidity.probe_rows import probe_rows
from einstellung.diagnoses.rigidity.salience import (
    is_study,
    is_undecided,
    placement,
    salience_command,
    seeds_command,
    swept,
)
from einstellung.metrics.statistics import Summary, summarise
from einstellung.results.probe_files import Probed
from einstellung.results.probe_names import PROBES
from einstellung.results.run_files import RunFiles

Speaks = Literal["for", "against", "neither"]

#: What a pattern claims about reliance on the cue, against the baseline; the others claim nothing that a probe could support.
_CLAIMS = {
    "red-flag": "more",
    "shared-shortcut": "equal",
    "benign-avoidance": "not more",
    "benign-transfer": "not more",
}
_SPEAKS: dict[tuple[str, Side], Speaks] = {
    ("more", "above"): "for",
    ("more", "below"): "against",
    ("equal", "above"): "against",
    ("equal", "below"): "against",
    ("not more", "above"): "against",
    ("not more", "below"): "for",
}
_SOONER = ("red-flag", "benign-avoidance")  # patterns that claim faster adaptation
_MEASURES = {
    "cka": "change of features when the cue is covered (1 - CKA), relative to {baseline}: {value}",
    "calibration": "increase of the Brier score when the cue is covered, relative to {baseline}: {value}",
    "flips": "share of NSC images misclassified because of the cue, relative to {baseline}: {value}",
    "placement": "gain in accuracy from the cue at another place, relative to {baseline}: {value}",
}


def corroborate(
    card: RigidityCard, probed: Probed, files: RunFiles, cue: Mapping[str, Any] | None = None
) -> Corroboration | None:
    """A line per compared method and probe; None where nothing was probed and there is nothing to recommend.

    ``cue``: the options of the study's cue, where it plants one.
    """
    lines: tuple[ProbeLine, ...] = ()
    if card.has_baseline:
        lines = tuple(line for method in card.compared for line in _lines(card, method, probed, files, cue))
    commands = _commands(card, probed, files, cue)
    if not probed.names and not commands:
        return None
    notes = dict.fromkeys(note for name in probed.names for note in getattr(probed, name).notes)
    later = [run for run in files.runs for name in probed.names if run not in getattr(probed, name).keys]
    if later:
        named = ", ".join(dict.fromkeys(f"{method} seed {seed}" for method, seed in later))
        notes[f"not probed yet: {named}; rerun the probes"] = None
    return Corroboration(
        measured=probe_rows(list(card.baseline_first().methods), probed),
        lines=lines,
        next_command=commands,
        notes=tuple(notes),
    )


def _lines(
    card: RigidityCard, method: str, probed: Probed, files: RunFiles, cue: Mapping[str, Any] | None
) -> Iterator[ProbeLine]:
    record, seeds = card.methods[method], list(card.methods[method].per_seed)
    for probe, value in _values(probed).items():
        summary = contrast(method, card.baseline, seeds, value)
        speaks, why = _reading(record, side_of(summary))
        yield _line(method, probe, speaks, f"{_described(probe, summary, card.baseline)}; {why}", summary)
    if (file := probed.plasticity) is not None:
        dormant, rank = (
            contrast(method, card.baseline, seeds, partial(value, file)) for value in (dormant_units, feature_rank)
        )
        speaks, text = _plasticity(record, dormant, rank, card.baseline)
        yield _line(method, "plasticity", speaks, text, dormant)
    if probed.names and (moved := placement(card, method)) is not None:
        speaks, why = _reading(record, side_of(moved))
        yield _line(method, "placement", speaks, f"{_described('placement', moved, card.baseline)}; {why}", moved)
    if probed.names and files.folder is not None and is_study(files.folder):
        yield from _salience(record, method, files.folder, cue)


def _salience(record: RigidityMethod, method: str, folder: Path, cue: Mapping[str, Any] | None) -> Iterator[ProbeLine]:
    """The other studies of a sweep over the cue's salience, or the command that makes one."""
    if (found := swept(folder, method)) is not None:
        sides = set(found.sides)
        side: Side = "across" if len(sides) > 1 else next(iter(sides))
        speaks, why = _reading(record, side)
        if len(sides) > 1:
            why = "they are not all on the same side of 0"
        elif side == "across":
            why = "all intervals contain 0"
        nothing = summarise([])
        yield _line(method, "salience", speaks, f"{found.words()}; {why}", nothing)
    elif (command := salience_command(folder, cue)) is not None:
        yield _line(method, "salience", "neither", f"not measured; run: {command}", summarise([]))


def _values(probed: Probed) -> dict[str, Value]:
    values: dict[str, Value] = {}
    if probed.cka is not None:
        values["cka"] = partial(moved_by_cover, probed.cka)
    if probed.calibration is not None:
        values["calibration"] = partial(brier_lost, probed.calibration)
    if probed.flips is not None:
        values["flips"] = partial(turned_by_cue, probed.flips)
    return values


def _reading(record: RigidityMethod, side: Side) -> tuple[Speaks, str]:
    """Whether a contrast on this side of 0 supports the pattern, and why."""
    if side == "unknown":
        return "neither", "fewer than three paired seeds"
    if side == "across":
        return "neither", "the interval contains 0"
    points = f"indicates {'more' if side == 'above' else 'less'} reliance"
    claim = _CLAIMS.get(str(record.pattern))
    if claim is None:
        return ("neither"), (
            f"{points}; {f'the verdict {record.pattern}' if record.pattern else 'without a verdict, it'} implies neither"
        )
    return _SPEAKS[claim, side], f"{points}; the verdict {record.pattern} implies {_WORDS[claim]}"


_WORDS = {"more": "more", "equal": "as much as the baseline", "not more": "no more than the baseline"}


def _described(probe: str, summary: Summary, baseline: str) -> str:
    if summary.mean is None:
        return "not measured for any pair of runs"
    return _MEASURES[probe].format(value=_estimate(summary, 3), baseline=baseline)


def _plasticity(record: RigidityMethod, dormant: Summary, rank: Summary, baseline: str) -> tuple[Speaks, str]:
    """Lost if the network has more dormant units and fewer dimensions than the baseline's, both with intervals excluding 0."""
    if dormant.mean is None or rank.mean is None:
        return "neither", "not measured for any pair of runs"
    facts = (
        f"share of dormant units, relative to {baseline}: {_estimate(dormant, 3)}; effective rank of the features, "
        f"relative to {baseline}: {_estimate(rank, 1)}"
    )
    sides = side_of(dormant), side_of(rank)
    if "unknown" in sides:
        return "neither", f"{facts}; fewer than three paired seeds"
    if sides != ("above", "below"):
        return "neither", f"{facts}; no evidence of plasticity loss"
    if record.pattern in _SOONER:
        return (
            "against",
            f"{facts}; plasticity is lost, although the verdict {record.pattern} implies faster adaptation",
        )
    return "neither", f"{facts}; plasticity is lost, which may also explain a delay or deficit"


def _estimate(summary: Summary, digits: int) -> str:
    if summary.ci95 is None:
        return f"{summary.mean:+.{digits}f} (n = {summary.n}: no interval)"
    low, high = summary.ci95
    return f"{summary.mean:+.{digits}f} (95 % {low:+.{digits}f} to {high:+.{digits}f}, n = {summary.n})"


def _line(method: str, probe: str, speaks: Speaks, text: str, summary: Summary) -> ProbeLine:
    return ProbeLine(
        method=method, probe=probe, speaks=speaks, text=text, value=summary.mean, ci95=summary.ci95, n=summary.n
    )


def _commands(card: RigidityCard, probed: Probed, files: RunFiles, cue: Mapping[str, Any] | None) -> dict[str, str]:
    """For every ambiguous method the command to run next: missing probes, then more seeds, then a sweep of the cue's salience."""
    if not card.has_baseline or not files.has_nets or files.folder is None:
        return {}
    ambiguous = [method for method in card.compared if card.methods[method].pattern == "ambiguous"]
    missing = [name for name in PROBES if name not in probed.names]
    if missing:
        command = shlex.join(["einstellung", "probe", str(files.folder)])
        command += "" if len(missing) == len(PROBES) else f" --probes {','.join(missing)}"
        return dict.fromkeys(ambiguous, command)
    if not is_study(files.folder):
        return {}
    found = {}
    for method in ambiguous:
        record = card.methods[method]
        sweep = None if swept(files.folder, method) else salience_command(files.folder, cue)
        if is_undecided(record, card) or sweep is None:
            found[method] = seeds_command(files.folder, sorted({seed for _, seed in files.runs}))
        else:
            found[method] = sweep
    return found
