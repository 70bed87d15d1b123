"""Whether probes support a verdict, contradict it, or neither.

A probe is read as a contrast with the baseline of the same seed. It counts as evidence only if the 95 % interval of that
contrast over at least three seeds excludes 0; there is no other threshold. Intervals are not corrected for the number of probes.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from functools import partial
from typing import Literal

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
from einstellung.metrics.statistics import Summary
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
}


def corroborate(card: RigidityCard, probed: Probed, files: RunFiles) -> Corroboration | None:
    """A line per compared method and probe; None where nothing was probed and there is nothing to recommend."""
    lines = (
        tuple(line for method in card.compared for line in _lines(card, method, probed)) if card.has_baseline else ()
    )
    commands = _commands(card, probed, files)
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


def _lines(card: RigidityCard, method: str, probed: Probed) -> Iterator[ProbeLine]:
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


def _commands(card: RigidityCard, probed: Probed, files: RunFiles) -> dict[str, str]:
    """For every ambiguous method the command that runs the missing probes, where there are nets to probe."""
    missing = [name for name in PROBES if name not in probed.names]
    if not missing or not card.has_baseline or not files.has_nets:
        return {}
    command = shlex.join(["einstellung", "probe", str(files.folder)])
    command += "" if len(missing) == len(PROBES) else f" --probes {','.join(missing)}"
    return {method: command for method in card.compared if card.methods[method].pattern == "ambiguous"}
