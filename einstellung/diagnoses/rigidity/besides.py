"""Effects of the cue beyond the accuracy gain on its own classes, derived from the card and shown with their numbers."""

from __future__ import annotations

from collections.abc import Iterator

from einstellung.diagnoses.rigidity.card import BesideFinding, RigidityCard, RigidityMethod
from einstellung.diagnoses.rigidity.patterns import FEWEST_SEEDS, SHARED_RELIANCE
from einstellung.diagnoses.rigidity.words import say
from einstellung.diagnoses.wording import percent
from einstellung.metrics.arithmetic import difference
from einstellung.metrics.curves import TOLERANCE
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
    """PD_SC - PD_NSC: the effect of the training history that is specific to the shortcut classes."""
    specific, baseline = record.PD_specific, card.methods.get(card.baseline)
    if specific is None or specific.mean is None or baseline is None or not _excludes_zero(specific):
        return
    numbers = say(
        "specific numbers",
        own=f"{record.SC_patch.mean:.3f}",
        other=f"{baseline.SC_patch.mean:.3f}",
        own_NSC=f"{record.NSC.mean:.3f}",
        other_NSC=f"{baseline.NSC.mean:.3f}",
    )
    what = _specific_words(specific.mean, record)
    text = say("specific", baseline=card.baseline, method=method, what=say(f"specific {what}"), numbers=numbers)
    yield _finding(method, "specific", specific, text)


def _specific_words(specific: float, record: RigidityMethod) -> str:
    """What sets the shortcut classes apart. The cue is named only where the model relies on it more than the baseline does, or
    on nothing else: it may be the classes that differ.
    """
    deficits = [summary.mean or 0.0 for summary in (record.PD, record.PD_NSC) if summary is not None]
    if (
        specific < 0 and _is_above_zero(record.PD_NSC) and -specific > deficits[0]
    ):  # most of the loss spares the shortcut classes
        by_the_cue = record.saturated or _is_above_zero(record.SFR_rel)
        return "keeps by the cue" if by_the_cue else "keeps"
    if max(deficits) <= TOLERANCE:
        return "gains more" if specific < 0 else "gains less"
    if min(deficits) >= -TOLERANCE:
        return "loses less" if specific < 0 else "loses more"
    return "better" if specific < 0 else "worse"


def _pull(card: RigidityCard, method: str, record: RigidityMethod) -> Iterator[BesideFinding]:
    """The increase in the share of other-class images assigned to a shortcut class when the cue is added."""
    effect = card.per_image.cue_effect.get(method) if card.per_image is not None else None
    if effect is not None and _excludes_zero(effect.pull) and effect.NSC_patched_called_SC.mean is not None:
        with_cue, without = effect.NSC_patched_called_SC.mean, effect.NSC_called_SC.mean or 0.0
        text = say("pull", method=method, with_cue=percent(with_cue), without=percent(without))
        yield _finding(method, "pull", effect.pull, text)
    elif effect is None or effect.pull.mean is None:
        drop = summarise([difference(own.NSC, own.NSC_patched) for own in record.per_seed.values()])
        if _excludes_zero(drop) and (drop.mean or 0.0) > 0:
            text = say("pull cost", method=method, points=f"{100 * (drop.mean or 0.0):.1f}")
            yield _finding(method, "pull", drop, text)


def _placement(method: str, record: RigidityMethod) -> Iterator[BesideFinding]:
    """The value of the cue at another position, for models that rely on it at its usual one."""
    values = [difference(own.SC_elsewhere, own.SC_mask) for own in record.per_seed.values()]
    moved, delta = summarise(values), record.delta
    if moved.mean is None or delta.mean is None or delta.mean < SHARED_RELIANCE or moved.n < FEWEST_SEEDS:
        return
    key = "placement" if _excludes_zero(moved) and moved.mean > 0 else "placement only"
    text = say(key, method=method, moved=f"{100 * moved.mean:.1f}", delta=f"{100 * delta.mean:.1f}")
    yield _finding(method, "placement", moved, text)
