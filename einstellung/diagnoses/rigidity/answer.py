"""The summary of which learner relies on the cue and with what certainty, and the terminal overview."""

from __future__ import annotations

from collections.abc import Sequence

from einstellung.diagnoses.rigidity.card import RigidityCard, RigidityMethod
from einstellung.diagnoses.rigidity.wording import (
    PATTERNS,
    describe_card_seeds,
    describe_margins,
    describe_rule,
)
from einstellung.diagnoses.rigidity.words import say
from einstellung.prose import join
from einstellung.report.measured import describe_smoothing
from einstellung.report.notation import DASH, FACETS, interval, mean_sd, number, write
from einstellung.report.tables import Cell, Table
from einstellung.report.terminal import Overview, Paragraph

_MOST_LISTED = 6


def answer(card: RigidityCard) -> list[str]:
    """Patterns with their certainty, absolute reliance on the cue, and other effects of the cue."""
    specific = [f"{found.text[0].upper()}{found.text[1:]}." for found in card.besides if found.kind == "specific"]
    paragraphs = (_patterns(card), _reliance(card), specific)
    return [" ".join(sentences) for sentences in paragraphs if sentences]


def _patterns(card: RigidityCard) -> list[str]:
    methods = card.compared
    if not methods:
        return [say("answer none")]
    if not card.has_baseline:
        return [say("answer no baseline")]
    groups: dict[tuple[str | None, str | None], list[str]] = {}
    for method in methods:
        record = card.methods[method]
        groups.setdefault((record.pattern, record.shown_certainty), []).append(method)
    sentences = []
    for (pattern, certainty), members in sorted(
        groups.items(), key=lambda group: list(PATTERNS).index(str(group[0][0]))
    ):
        words = say(f"is {pattern}", baseline=card.baseline)
        verb = "is" if len(members) == 1 else "are"
        key = f"answer {certainty or 'holds'}"
        sentences.append(say(key, names=join(members), verb=verb, words=words, pattern=pattern))
    unlearned = [method for method in methods if card.methods[method].unlearned]
    if unlearned:
        key = "among all" if len(unlearned) == len(methods) > 1 else "among"
        among = say(key, baseline=card.baseline, methods=" nor ".join(unlearned))
        sentences.append(say("answer unlearned", among=among))
    return sentences


def _reliance(card: RigidityCard) -> list[str]:
    """Which methods rely on the cue: Δ and the side of 0 on which its interval lies."""
    sides: dict[str, list[str]] = {"above": [], "below": [], "across": [], "no interval": []}
    for method, record in card.methods.items():
        if record.delta.mean is not None:
            sides[_side(record.delta.ci95)].append(method)
    if not any(sides.values()):
        return [say("cue unmeasured")]
    return [say(f"cue {side}", deltas=_deltas(card, methods)) for side, methods in sides.items() if methods]


def _side(bounds: Sequence[float] | None) -> str:
    if bounds is None:
        return "no interval"
    return "above" if bounds[0] > 0 else "below" if bounds[1] < 0 else "across"


def _deltas(card: RigidityCard, methods: Sequence[str]) -> str:
    if len(methods) > _MOST_LISTED:
        ordered = sorted(methods, key=lambda method: card.methods[method].delta.mean or 0.0)
        first, last = (_deltas(card, [shown]) for shown in (ordered[0], ordered[-1]))
        baseline = card.baseline in methods
        among = say("deltas among", baseline=_deltas(card, [card.baseline])) if baseline else ""
        return say("deltas", n=len(methods), first=first, last=last, among=among)

    def one(method: str) -> str:
        estimate = card.methods[method].delta
        bounds = say("delta bounds", interval=interval("delta", estimate)) if estimate.ci95 is not None else ""
        return say("delta", method=method, delta=write("delta", estimate.mean), bounds=bounds)

    return join(one(method) for method in methods)


_SPEAKS = {"for": "good", "against": "warning", "neither": "faint"}
_COLUMNS = ("AD", "PD", "SFR_rel", "delta", "delta_S", "SC_patch", "SC_mask", "NSC", "T1")
_HEADS = {"SFR_rel": "SFR\nrel", "SC_patch": "SC\npatch", "SC_mask": "SC\nmask", "T1": "T1\nend"}


def overview(card: RigidityCard) -> Overview:
    """The terminal overview: one row per method, then the verdicts."""
    rows = []
    for method, record in card.methods.items():
        pattern = record.pattern or ("baseline" if method == card.baseline else DASH)
        tone = _tone(record) if pattern in PATTERNS else "faint"
        cells = [_compact(key, record) for key in _COLUMNS]
        rows.append((Cell(method), *cells, Cell(pattern, tone=tone), Cell(record.shown_certainty or "")))
    head = ("method", *(_HEADS.get(key, FACETS[key].head) for key in _COLUMNS), "pattern", "certainty")
    table = Table("Einstellung Rigidity Index", _legend(card), head, tuple(rows), ())
    return Overview(table, [paragraph for method in card.compared for paragraph in _verdict(card, method)])


def _compact(key: str, record: RigidityMethod) -> Cell:
    """Mean, standard deviation below it, and the number of seeds used if it is not all of them."""
    estimate = record.deciding(key)
    text = mean_sd(key, estimate).replace(" ± ", "\n±")
    if key in ("AD", "delta") and 0 < estimate.n < record.n_seeds:
        text += f"\nn {estimate.n}/{record.n_seeds}"
    return Cell(text)


def _verdict(card: RigidityCard, method: str) -> list[Paragraph]:
    record = card.methods[method]
    pattern = PATTERNS[record.pattern] if record.pattern is not None else None
    words = f"{pattern.name} ({pattern.words})" if pattern else DASH
    words += f", {record.shown_certainty}" if record.shown_certainty else ""
    found = [
        Paragraph(words, f"{method}: ", _tone(record)),
        Paragraph(record.verdict or "no verdict", indent=2, after_blank=False),
    ]
    if record.error_rate:
        found.append(Paragraph(record.error_rate, tone="faint", indent=2, after_blank=False))
    if record.high_rigidity:
        certain = record.high_rigidity_certainty
        tone = "bad" if certain == "holds" else "strong"
        found.append(Paragraph(f"high-rigidity flag set ({certain})", tone=tone, indent=2, after_blank=False))
    for one in card.besides:
        if one.method == method:
            found.append(Paragraph(f"{one.text}", "also: ", indent=2, after_blank=False))
    if record.next_probe:
        found.append(Paragraph(record.next_probe, "next probe: ", indent=2, after_blank=False))
    return [*found, *_corroboration(card, method)]


def _corroboration(card: RigidityCard, method: str) -> list[Paragraph]:
    if (corroboration := card.corroboration) is None:
        return []
    found = [
        Paragraph(line.text, f"{line.probe}, {line.speaks}: ", _SPEAKS[line.speaks], indent=2, after_blank=False)
        for line in corroboration.lines_of(method)
    ]
    if command := corroboration.next_command.get(method):
        found.append(Paragraph(command, "next: ", indent=2, after_blank=False))
    return found


def _tone(record: RigidityMethod) -> str:
    """Only conclusive verdicts get a colour."""
    if record.pattern is None or (PATTERNS[record.pattern].tone == "bad" and record.certainty != "holds"):
        return "strong"
    return PATTERNS[record.pattern].tone


def _legend(card: RigidityCard) -> str:
    return (
        f"Mean ± standard deviation; {describe_card_seeds(card)}. SC: shortcut classes with the cue (patch) and with it "
        "covered (mask); NSC: classes without the cue; T1: phase 1 classes at the end of phase 2. AD at τ = "
        f"{number(card.tau, digits=2)}, curves {describe_smoothing(card.smoothing, card.window)}. Other values at "
        f"{describe_rule(card)}. Margins: {describe_margins(card.margins)}."
    )
