"""The verdict on mitigation: a word for every method and cue, the sentence behind it, and what both rest on.

d is a method's gap minus the baseline's, paired by seed, at the end of the last phase. Its 95 % interval allows for
seeds and, where predictions of single images are known, for test images. Together with the margin it decides:
*amplified* if d is below -margin, the interval below 0, and the method's own gap below -margin; *reduced* if d is above the
margin and the interval above 0; *cured* if moreover the interval of the gap itself stays above -margin; *unchanged* if the
interval lies within the margin; else *undecided*, as with a single seed. Where the baseline has no gap, there is none to
reduce. The word must be the same whether a gap is measured from ID accuracy or from the pattern in which all cues are common:
where another cue's gap moves ID accuracy, this cue was neither mended nor made worse. A method that reduces one cue's gap and
amplifies another's is a Whac-A-Mole. A method whose ID accuracy stays below the level is not judged: who knows nothing has no
gaps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from einstellung.diagnoses.shortcuts.images import both
from einstellung.diagnoses.wording import percent, points
from einstellung.metrics.statistics import holm

CURED = "cured"
REDUCED = "reduced"
UNCHANGED = "unchanged"
AMPLIFIED = "amplified"
MOLE = "amplified (Whac-A-Mole)"  # while the gap of another cue is reduced
UNDECIDED = "undecided"
GAP_VERDICTS = (CURED, REDUCED, UNCHANGED, AMPLIFIED, MOLE, UNDECIDED)

WHAC_A_MOLE = "whac-a-mole"
AMPLIFIES = "amplifies"
CURES_ALL = "cures all"
REDUCES_ALL = "reduces all"
REDUCES_SOME = "reduces some"
NOT_LEARNED = "not learned"
BASELINE = "baseline"
FRESH = "fresh net"
VERDICTS = (
    WHAC_A_MOLE,
    AMPLIFIES,
    CURES_ALL,
    REDUCES_ALL,
    REDUCES_SOME,
    UNCHANGED,
    UNDECIDED,
    NOT_LEARNED,
    BASELINE,
    FRESH,
)
BETTER = (CURED, REDUCED)
WORSE = (AMPLIFIED, MOLE)
Estimate = Mapping[str, Any]


def judge_gap(difference: Estimate, gap: Estimate, of_baseline: Estimate, margin: float) -> str:
    """The word for one gap of one method, measured in one way.

    >>> seeds = lambda mean, half: {"mean": mean, "ci95": [mean - half, mean + half]}
    >>> judge_gap(seeds(-0.30, 0.1), seeds(-0.45, 0.1), seeds(-0.15, 0.02), 0.02)
    'amplified'
    >>> judge_gap(seeds(0.13, 0.03), seeds(-0.005, 0.01), seeds(-0.15, 0.02), 0.02)
    'cured'
    >>> judge_gap(seeds(0.05, 0.06), seeds(-0.1, 0.05), seeds(-0.15, 0.02), 0.02)
    'undecided'
    """
    bounds = both(difference)
    if bounds is None:
        return UNDECIDED
    low, high = bounds
    if difference["mean"] < -margin and high < 0 and gap["mean"] < -margin:
        return AMPLIFIED
    if of_baseline["mean"] >= -margin:  # the baseline has no gap that could be reduced
        return UNCHANGED if low >= -margin else UNDECIDED
    if difference["mean"] > margin and low > 0:
        own = both(gap)
        return CURED if own is not None and own[0] >= -margin else REDUCED
    return UNCHANGED if low >= -margin and high <= margin else UNDECIDED


def agreed(from_id: str, alone: str) -> str:
    """The word for a gap from those for it measured from ID accuracy and from the pattern in which all cues are common.

    >>> agreed("cured", "reduced"), agreed("reduced", "unchanged")
    ('reduced', 'undecided')
    """
    if from_id == alone:
        return from_id
    return REDUCED if from_id in BETTER and alone in BETTER else UNDECIDED


def judge_method(by_cue: Mapping[str, str]) -> str:
    """The word for a method, from the words for the cues one by one.

    >>> judge_method({"background": "cured", "co-object": "amplified"})
    'whac-a-mole'
    >>> judge_method({"background": "reduced", "co-object": "undecided"})
    'reduces some'
    """
    words = list(by_cue.values())
    better = [word in BETTER for word in words]
    if any(word in WORSE for word in words):
        return WHAC_A_MOLE if any(better) else AMPLIFIES
    if all(word == CURED for word in words):
        return CURES_ALL
    if all(better):
        return REDUCES_ALL
    if any(better):
        return REDUCES_SOME
    return UNCHANGED if all(word == UNCHANGED for word in words) else UNDECIDED


def with_verdicts(card: Mapping[str, Any]) -> dict[str, Any]:
    """The card with a verdict for every method, at the end of the last phase."""
    last = card["phases"][-1]
    baseline = card["methods"].get(card["baseline"])
    corrected = _corrected(card, last)
    methods = {
        method: {**record, "verdict": _verdict(card, method, record, baseline, last, corrected)}
        for method, record in card["methods"].items()
    }
    return {**card, "methods": methods}


def _corrected(card: Mapping[str, Any], last: str) -> dict[tuple[str, str], float | None]:
    """Holm's correction over all methods that are judged and single cues: one family of comparisons with the baseline."""
    judged = [method for method, record in card["methods"].items() if _is_judged(card, method, record["phases"][last])]
    keys = [(method, cue) for method in judged for cue in card["cues"]]
    found = [card["methods"][method]["phases"][last]["own"]["difference"][cue]["p"] for method, cue in keys]
    return dict(zip(keys, holm(found), strict=True))


def _is_judged(card: Mapping[str, Any], method: str, end: Mapping[str, Any]) -> bool:
    whole = end["own"]["ID"]["mean"]
    return method not in (card["baseline"], card["scratch"]) and whole is not None and whole >= card["level"]


def _verdict(
    card: Mapping[str, Any],
    method: str,
    record: Mapping[str, Any],
    baseline: Mapping[str, Any] | None,
    last: str,
    corrected: Mapping[tuple[str, str], float | None],
) -> dict[str, Any]:
    own = record["phases"][last]["own"]
    whole = own["ID"]["mean"]
    empty = {name: {"name": UNDECIDED, "from_ID": None, "alone": None, "p_holm": None} for name in own["gaps"]}
    if whole is None:
        known = card["weights"].get(last) is not None
        why = "a group was not measured" if known else f"the training correlations of {last} are not known"
        return {"name": UNDECIDED, "sentence": f"Undecided: ID accuracy is undefined, because {why}.", "gaps": empty}
    if method in (card["baseline"], card["scratch"]):
        gaps = "; ".join(f"{name} gap {_points(gap['mean'])}" for name, gap in own["gaps"].items())
        name = BASELINE if method == card["baseline"] else FRESH
        who = {
            BASELINE: "The baseline mitigates nothing",
            FRESH: "Starts fresh in every phase: no history, not judged",
        }[name]
        return {"name": name, "sentence": f"{who}. ID accuracy {percent(whole)}; {gaps} points.", "gaps": {}}
    if whole < card["level"]:
        sentence = (
            f"Not learned: ID accuracy {percent(whole)}, below the level of {percent(card['level'])}; gaps of a model that "
            "does not know the task say nothing."
        )
        return {"name": NOT_LEARNED, "sentence": sentence, "gaps": empty}
    if baseline is None:
        return {"name": UNDECIDED, "sentence": "Undecided: there is no baseline to compare with.", "gaps": empty}
    ends = record["phases"][last], baseline["phases"][last]
    base = ends[1]["own"]
    if base["ID"]["mean"] is None:
        sentence = f"Undecided: ID accuracy of {card['baseline']} is undefined."
        return {"name": UNDECIDED, "sentence": sentence, "gaps": empty}
    if base["ID"]["mean"] < card["level"]:
        sentence = (
            f"Undecided: {card['baseline']} itself did not learn the task (ID accuracy {percent(base['ID']['mean'])})."
        )
        return {"name": UNDECIDED, "sentence": sentence, "gaps": empty}
    from_id, alone = (_words(*ends, weighting, card["margin"]) for weighting in ("own", "alone"))
    words = {gap: agreed(from_id[gap], alone[gap]) for gap in own["gaps"]}
    name = judge_method({cue: words[cue] for cue in card["cues"]})
    if name == WHAC_A_MOLE:
        words |= {cue: MOLE for cue in card["cues"] if words[cue] == AMPLIFIED}
    judged = {
        gap: {"name": word, "from_ID": from_id[gap], "alone": alone[gap], "p_holm": corrected.get((method, gap))}
        for gap, word in words.items()
    }
    return {"name": name, "sentence": _sentence(card, name, own, base, judged), "gaps": judged}


def _words(end: Mapping[str, Any], of_baseline: Mapping[str, Any], weighting: str, margin: float) -> dict[str, str]:
    own, base = end[weighting], of_baseline[weighting]
    return {
        gap: judge_gap(own["difference"][gap], estimate, base["gaps"][gap], margin)
        for gap, estimate in own["gaps"].items()
    }


def _sentence(
    card: Mapping[str, Any],
    name: str,
    own: Mapping[str, Any],
    base: Mapping[str, Any],
    gaps: Mapping[str, Mapping[str, Any]],
) -> str:
    parts = []
    for gap in dict.fromkeys([*card["cues"], card["gaps"][-1]]):  # every cue by itself, and all of them at once
        word = _with_reason(gaps[gap])
        difference = own["difference"][gap]
        if difference["mean"] is None:
            parts.append(
                f"{gap} gap {_points(own['gaps'][gap]['mean'])}: {word}, no seed in common with {card['baseline']}"
            )
            continue
        bounds = both(difference)
        within = f", 95 % {_bounds(bounds)}" if bounds else ", one seed: no interval"
        parts.append(
            f"{gap} gap {_points(own['gaps'][gap]['mean'])} ({card['baseline']} {_points(base['gaps'][gap]['mean'])}, "
            f"difference {_signed(difference['mean'])}{within}): {word}"
        )
    lost = own["ID"]["mean"] - base["ID"]["mean"]
    beside = f"ID accuracy {percent(own['ID']['mean'])}, {_signed(lost)} against {card['baseline']}"
    lead = "Whac-A-Mole" if name == WHAC_A_MOLE else name.capitalize()
    return f"{lead}: {'; '.join(parts)}. {beside}."


def _with_reason(judged: Mapping[str, Any]) -> str:
    """The word for a gap; where it is undecided because both ways of measuring disagree, both of theirs."""
    if judged["name"] != UNDECIDED or judged["from_ID"] == judged["alone"]:
        return str(judged["name"])
    return f"{UNDECIDED} ({judged['from_ID']} from ID, {judged['alone']} from where all cues are common)"


def _bounds(bounds: Sequence[float]) -> str:
    return f"[{points(bounds[0])}, {points(bounds[1])}]"


def _points(value: float | None) -> str:
    return "undefined" if value is None else points(value)


def _signed(value: float) -> str:
    text = points(value)
    return text if text.startswith("-") or text == "0.0" else f"+{text}"
