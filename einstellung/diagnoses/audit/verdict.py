"""What is said of a model: a word, and a sentence for every finding and suspicion."""

from __future__ import annotations

from einstellung.diagnoses.audit.card import AuditVerdict
from einstellung.diagnoses.audit.error_rates import ErrorRates, describe_detection, describe_suspicions
from einstellung.diagnoses.wording import percent, points
from einstellung.results.audit_files import Beats, Finding, ModelAudit

CONTROLS = {"nsc": "the same mask on other classes", "random": "random masks", "fillings": "other fillings"}


def judge(audit: ModelAudit, rates: ErrorRates) -> AuditVerdict:
    """The verdict on one model. Findings decide; suspicions alone are no more than that."""
    if audit.cannot_tell is not None:
        return AuditVerdict(name="cannot tell", sentences=(f"Cannot tell: {audit.cannot_tell}.",))
    said = tuple(describe(found, certain=True) for found in audit.findings)
    said += tuple(describe(found, certain=False) for found in audit.suspicions)
    said += (describe_suspicions(rates),) if audit.suspicions else ()
    if any(found.kind == "localised" for found in audit.findings):
        return AuditVerdict(name="localised cue", sentences=said)
    if any(found.kind == "global" for found in (*audit.findings, *audit.suspicions)):
        return AuditVerdict(name="global cue suspected", sentences=said)
    if audit.suspicions:
        return AuditVerdict(name="cue suspected", sentences=said)
    return AuditVerdict(name="nothing found", sentences=(f"Nothing found: {describe_detection(rates)}.",))


def describe(found: Finding, certain: bool) -> str:
    """A finding or suspicion in one sentence: where, worth what, found by what, beating which controls."""
    area = "" if "of the image" in found.construction else f"; {percent(found.area)} of the image"
    worth = f"worth {points(found.delta)} points of accuracy (proxy: {found.construction}{area}"
    worth += f"; 95 %: {points(found.ci95[0])} to {points(found.ci95[1])})" if found.ci95 else "; no interval)"
    shared = f", shared with {len(found.shared_with)} more classes" if len(found.shared_with) > 1 else ""
    shared = ", shared with one more class" if len(found.shared_with) == 1 else shared
    if found.kind == "global":
        lead = f"A global cue ({found.component or 'colour, texture'}) is suspected for '{found.name}'{shared}"
    else:
        lead = f"{'A' if certain else 'Suspected: a'} localised cue for '{found.name}'{shared} {place(found)}"
    return f"{lead}, {worth}, found by {_joined(found.found_by) or 'none of the proxies'}; {describe_controls(found.beats)}."


def place(found: Finding) -> str:
    """Where a localised cue is.

    >>> from types import SimpleNamespace as Some
    >>> place(Some(box=(24, 28, 4, 4))), place(Some(box=None))
    ('at rows 24 to 27, columns 28 to 31', 'at a position that varies between images')
    """
    if found.box is None:
        return "at a position that varies between images"
    top, left, height, width = found.box
    return f"at rows {top} to {top + height - 1}, columns {left} to {left + width - 1}"


def describe_controls(beats: Beats) -> str:
    """Which controls an effect beats.

    >>> describe_controls(Beats(nsc=True, random=True, fillings=False))
    'beats the controls the same mask on other classes and random masks, but not other fillings'
    """
    won = [words for name, words in CONTROLS.items() if getattr(beats, name)]
    lost = [words for name, words in CONTROLS.items() if not getattr(beats, name)]
    if not won:
        return "beats none of the three controls"
    text = f"beats the controls {_joined(won)}" if len(won) > 1 else f"beats the control {won[0]}"
    return f"{text}, but not {_joined(lost)}" if lost else text


def _joined(words: tuple[str, ...] | list[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)
