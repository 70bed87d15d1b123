"""What the cue does besides lifting accuracy on its own classes: found from the card, shown with the number behind it."""

from __future__ import annotations

from collections.abc import Iterator

from einstellung.diagnoses.rigidity.card import BesideFinding, RigidityCard, RigidityMethod
from einstellung.diagnoses.rigidity.patterns import FEWEST_SEEDS, SHARED_RELIANCE
from einstellung.diagnoses.wording import percent
from einstellung.metrics.arithmetic import difference
from einstellung.metrics.statistics import Summary, summarise


def besides(card: RigidityCard) -> tuple[BesideFinding, ...]:
    """Every finding whose 95 % interval over at least three seeds excludes 0, method by method."""
    found = []
    for method, record in card.methods.items():
        found += [*_specific(card, method, record), *_pull(card, method, record), *_placement(method, record)]
    return tuple(found)


def _excludes_zero(summary: Summary) -> bool:
    return summary.n >= FEWEST_SEEDS and summary.ci95 is not None and not summary.ci95[0] <= 0 <= summary.ci95[1]


def _is_above_zero(summary: Summary | None) -> bool:
    """Whether the whole interval is above 0."""
    return summary is not None and _excludes_zero(summary) and (summary.mean or 0.0) > 0


def _finding(method: str, kind: str, summary: Summary, text: str) -> BesideFinding:
    return BesideFinding.model_validate(
        {"method": method, "kind": kind, "value": summary.mean, "ci95": summary.ci95, "n": summary.n, "text": text}
    )


def _specific(card: RigidityCard, method: str, record: RigidityMethod) -> Iterator[BesideFinding]:
    """PD_SC - PD_NSC: what its history does to the cue's classes and not to the others."""
    specific, baseline = record.PD_specific, card.methods.get(card.baseline)
    if specific is None or specific.mean is None or baseline is None or not _excludes_zero(specific):
        return
    pairs = [(label, record.facet(key).mean, baseline.facet(key).mean) for label, key in _BOTH]
    numbers = ", ".join(f"{label} {own:.3f} against {other:.3f}" for label, own, other in pairs)
    if specific.mean < 0:
        what = "does better on the cue's classes than on the others: the cue helps it beyond what any history would"
        # of what it loses on the other classes, the larger part spares the cue's
        if _is_above_zero(record.PD_NSC) and -specific.mean > (record.PD.mean or 0.0):
            what = "keeps the cue's classes and loses the others: the cue tells it which task an image is from"
    else:
        what = "does worse on the cue's classes than on the others"
    yield _finding(method, "specific", specific, f"compared with {card.baseline}, {method} {what} ({numbers})")


_BOTH = (("SC with the cue", "SC_patch"), ("NSC", "NSC"))


def _pull(card: RigidityCard, method: str, record: RigidityMethod) -> Iterator[BesideFinding]:
    """How many more images of the other classes are called a shortcut class once they have the cue."""
    effect = card.per_image.cue_effect.get(method) if card.per_image is not None else None
    if effect is not None and _excludes_zero(effect.pull) and effect.NSC_patched_called_SC.mean is not None:
        with_cue, without = effect.NSC_patched_called_SC.mean, effect.NSC_called_SC.mean or 0.0
        text = (
            f"put on images of the other classes, the cue makes {method} call {percent(with_cue)} of them a shortcut class "
            f"({percent(without)} without it)"
        )
        yield _finding(method, "pull", effect.pull, text)
    elif effect is None or effect.pull.mean is None:
        drop = summarise([difference(own.NSC, own.NSC_patched) for own in record.per_seed.values()])
        if _excludes_zero(drop) and (drop.mean or 0.0) > 0:
            points = 100 * (drop.mean or 0.0)
            text = f"put on images of the other classes, the cue costs {method} {points:.1f} points of accuracy there"
            yield _finding(method, "pull", drop, text)


def _placement(method: str, record: RigidityMethod) -> Iterator[BesideFinding]:
    """What the cue is worth at another place, where it is worth something at its own."""
    values = [difference(own.SC_elsewhere, own.SC_mask) for own in record.per_seed.values()]
    moved, delta = summarise(values), record.delta
    if moved.mean is None or delta.mean is None or delta.mean < SHARED_RELIANCE or moved.n < FEWEST_SEEDS:
        return
    worth = f"{100 * moved.mean:.1f} of its {100 * delta.mean:.1f} points"
    if _excludes_zero(moved) and moved.mean > 0:
        text = f"moved to the other side of the image, the cue is worth {worth} to {method}"
    else:
        text = f"{method} uses the cue at its usual place only: moved, it is worth {worth}"
    yield _finding(method, "placement", moved, text)
