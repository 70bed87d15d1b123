"""A verdict in words: sentences chosen by the numbers, with the numbers and margins in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from einstellung.diagnoses.rigidity.card import Delay
from einstellung.diagnoses.rigidity.floor import Floor
from einstellung.diagnoses.rigidity.patterns import FEWEST_SEEDS, TRIPLET, Certainty, Comparison, Decision, holds
from einstellung.diagnoses.rigidity.settings import Margins
from einstellung.diagnoses.wording import counted, listed_seeds
from einstellung.metrics.statistics import Summary
from einstellung.timeline import NSC, SC_MASK, SC_PATCH


@dataclass(frozen=True)
class Case:
    """What is known about one method when its verdict is written."""

    method: str
    baseline: str
    baseline_present: bool
    seeds: tuple[int, ...]
    paired: tuple[int, ...]
    facets: Mapping[str, Summary]
    censored: Mapping[int, str]
    delays: Mapping[float, Delay]
    tau: float
    budget: float | None
    margins: Margins
    floor: Floor
    decision: Decision
    certainty: Certainty
    p_holm: float | None = None
    saturated: bool = False
    unlearned: bool = False


OPENINGS = {
    "red-flag": "Red flag, shortcut-induced rigidity: {method} reaches {tau:g} sooner than {baseline} ({AD}), ends no worse "
    "({PD}) and leans more on the cue ({SFR_rel}).",
    "benign-avoidance": "Benign avoidance, the cue distracts the continual model: {method} reaches {tau:g} sooner than "
    "{baseline} ({AD}), ends worse ({PD}), leans less on the cue ({SFR_rel}) and hardly at all ({delta}); {NSC_lowest}.",
    "shared-shortcut": "Shared shortcut: {method} leans on the cue ({delta}) as {baseline} does ({SFR_rel}); "
    "the history adds nothing to it.",
    "benign-transfer": "Benign transfer: {method} reaches {tau:g} not clearly sooner than {baseline} ({AD}), ends no "
    "better ({PD}), leans no more on the cue ({SFR_rel}) and hardly at all ({delta}); {NSC_lowest}.",
}
SYMBOLS = {"delta": "Delta", "delta_S": "Delta_S", "SC_mask": "masked accuracy", "SC_mask_S": "masked accuracy of {}"}


def verdict(case: Case) -> str:
    """A few sentences: what the facets show, the absolute reliance, what limits it, how sure it is."""
    pattern = case.decision.pattern
    if pattern == "ambiguous":
        opening = _ambiguous(case)
    elif pattern == "cue-harmful":
        opening = _cue_harmful(case)
    elif pattern == "saturated":
        opening = _saturated(case)
    else:
        parts = {condition.facet: _compared(case, condition) for condition in case.decision.conditions}
        opening = OPENINGS[pattern].format(method=case.method, baseline=case.baseline, tau=case.tau, **parts)
    sentences = (opening, _reliance(case), *_withheld(case), _near_floor(case), _certainty(case), _resolution(case))
    return " ".join(sentence for sentence in sentences if sentence)


def _shown(facets: Mapping[str, Summary], facet: str) -> str:
    summary = facets[facet]
    symbol = SYMBOLS.get(facet, facet)
    if summary.mean is None:
        return f"{symbol} undefined"
    digits, unit = (1, " epochs") if facet == "AD" else (3, "")
    text = f"{symbol} = {summary.mean:+.{digits}f}{unit}"
    if summary.ci95 is not None:
        low, high = summary.ci95
        text += f" [{low:+.{digits}f}, {high:+.{digits}f}]"
    return text


def _compared(case: Case, condition: Comparison) -> str:
    if condition.facet == "NSC_lowest":
        return f"NSC accuracy is above chance in every seed (lowest {condition.value:.3f} > {condition.bound:.3f})"
    if condition.relation == "|.| <":
        return f"{_shown(case.facets, condition.facet)}, within +-{condition.bound:g}"
    return f"{_shown(case.facets, condition.facet)} {condition.relation} {condition.bound:g}"


def _cue_harmful(case: Case) -> str:
    harm, sensitivity = case.facets["SFR_rel"].mean, case.facets["CSR_rel"].mean
    if harm is None or sensitivity is None:
        raise ValueError("the cue-harmful pattern needs the whole triplet")
    if holds(harm, ">", 0.0):
        hurt = "less hurt by it than"
    else:
        hurt = "more hurt by it than" if holds(harm, "<", 0.0) else "hurt by it as much as"
    if holds(sensitivity, ">", 0.0):
        moved = "more sensitive to the cue than"
    else:
        moved = "less sensitive to the cue than" if holds(sensitivity, "<", 0.0) else "as sensitive to the cue as"
    return (
        f"The cue does not help {case.baseline} ({_shown(case.facets, 'delta_S')} <= 0), so SFR_rel is relative harm: "
        f"{case.method} is {hurt} {case.baseline} ({_shown(case.facets, 'SFR_rel')}) and {moved} it "
        f"({_shown(case.facets, 'CSR_rel')})."
    )


def _saturated(case: Case) -> str:
    own, other = case.facets["SC_mask"], case.facets["SC_mask_S"]
    text = (
        f"Saturated: with the cue covered, neither {case.method} ({_accuracy(own)}) nor {case.baseline} ({_accuracy(other)}) "
        f"is above the floor ({case.floor.describe()}). The cue decides alone in both, so SFR_rel is -PD by algebra and the "
        f"relative index cannot tell (AD, PD and SFR_rel: {', '.join(_shown(case.facets, facet) for facet in TRIPLET)})."
    )
    if case.facets["SFR_rel_within"].mean is None:
        return text + " Measure acc_within to compare the models on what is left."
    return text + f" With the choice among the shortcut classes only, {_shown(case.facets, 'SFR_rel_within')}."


def _accuracy(summary: Summary) -> str:
    text = f"{summary.mean:.3f}"
    return text if summary.ci95 is None else f"{text} [{summary.ci95[0]:.3f}, {summary.ci95[1]:.3f}]"


def _ambiguous(case: Case) -> str:
    if not case.baseline_present:
        return f"Ambiguous: there is no baseline {case.baseline} to compare {case.method} with."
    if not case.paired:
        return f"Ambiguous: {case.method} and {case.baseline} have no seed in common."
    undefined = [facet for facet in TRIPLET if case.facets[facet].mean is None]
    if case.unlearned:
        own, other = case.facets["SC_patch"].mean, case.facets["SC_patch_S"].mean
        return (
            f"Ambiguous: neither {case.method} nor {case.baseline} has learned the shortcut classes ({own:.3f} and {other:.3f} "
            f"even with the cue; the floor is {case.floor.describe()}): no facet means anything yet."
        )
    if undefined:
        reasons = [f"AD is undefined ({_censoring(case)})" if case.censored and "AD" in undefined else ""]
        reasons += [f"{facet} is undefined" for facet in undefined if facet != "AD" or not case.censored]
        return f"Ambiguous: {', '.join(reason for reason in reasons if reason)}."
    margins = f"AD {case.margins.AD:g}, PD {case.margins.PD:g}, SFR_rel {case.margins.SFR_rel:g}"
    return f"Ambiguous: {_directions(case)} (margins {margins}); none of the named patterns is that combination."


def _directions(case: Case) -> str:
    """Which way each facet points, margins counted: an unnamed combination still says something."""

    def side(facet: str, margin: float, below: str, above: str, between: str) -> str:
        mean = case.facets[facet].mean
        if mean is None:
            raise ValueError(f"{facet} is undefined")
        words = below if holds(mean, "<=", -margin) else above if holds(mean, ">=", margin) else between
        return f"{words} ({_shown(case.facets, facet)})"

    baseline, margins = case.baseline, case.margins
    speed = side("AD", margins.AD, "sooner than", "later than", f"within {counted(margins.AD, 'epoch')} of")
    end = side("PD", margins.PD, "ends higher", "ends lower", "ends as high")
    reliance = side("SFR_rel", margins.SFR_rel, "leans less on the cue", "leans more on the cue", "leans on it as much")
    speed, _, number = speed.partition(" (")
    return f"{case.method} reaches {case.tau:g} {speed} {baseline} ({number}, {end} and {reliance}"


def _censoring(case: Case) -> str:
    sides: dict[str, list[int]] = {}
    for seed, side in case.censored.items():
        sides.setdefault(side, []).append(seed)
    return "; ".join(
        f"{'neither' if side == 'both' else side + ' never'} reached {case.tau:g} on {listed_seeds(seeds)}"
        for side, seeds in sides.items()
    )


def _reliance(case: Case) -> str:
    if case.facets["delta"].mean is None:
        return ""
    text = f"Absolute reliance on the cue: {_shown(case.facets, 'delta')}"
    if case.facets["delta_S"].mean is not None:
        text += f", beside {_shown(case.facets, 'delta_S')} of {case.baseline}"
    return text + "."


def _withheld(case: Case) -> list[str]:
    """Why a benign name was not given where only the added conditions refuse it."""
    sentences = []
    for pattern, refused in (case.decision.withheld or {}).items():
        if pattern == case.decision.pattern:
            continue
        reasons = []
        for condition in refused:
            if condition.facet == "delta":
                reasons.append(f"it leans on the cue itself ({_shown(case.facets, 'delta')} > {condition.bound:g})")
            elif condition.value is None:
                seeds = " in every seed" if case.facets["NSC_lowest"].n else ""
                reasons.append(
                    f"{NSC} was not measured{seeds}, so it cannot be told whether the other classes were learned"
                )
            else:
                reasons.append(
                    f"the other classes were not learned in every seed (lowest NSC accuracy {condition.value:.3f}, chance "
                    f"{condition.bound:.3f})"
                )
        sentences.append(f"Not called {pattern}: {'; '.join(reasons)}.")
    return sentences


def _near_floor(case: Case) -> str:
    """A warning where the masked means are at the floor but not the intervals: SFR_rel may be -PD by algebra."""
    own, other = case.facets["SC_mask"].mean, case.facets["SC_mask_S"].mean
    if own is None or other is None or case.saturated or case.unlearned or max(own, other) > case.floor.level:
        return ""
    return (
        f"With the cue covered next to nothing is left in either ({own:.3f} and {other:.3f}, floor {case.floor.level:.3f}), so "
        "SFR_rel hardly says more than -PD; more seeds would tell whether this is saturated."
    )


def _certainty(case: Case) -> str:
    decision, facets = case.decision, case.facets
    needed = {condition.facet for condition in decision.conditions}
    censored = (
        f" AD leaves seeds out: {_censoring(case)}." if case.censored and facets["AD"].n and "AD" in needed else ""
    )
    if case.certainty == "too few seeds":
        return f"Too few seeds to tell how sure that is (n = {decision.fewest}, {FEWEST_SEEDS} are needed).{censored}"
    if decision.pattern == "ambiguous":
        return censored.strip()
    p = "" if case.p_holm is None else f"p = {case.p_holm:.2g} after Holm's correction"
    if case.certainty == "holds":
        return f"Conclusive: {p}, and every 95 % interval is on its side of the bound.{censored}"
    unsure = [_symbol(case, condition.facet) for condition in decision.conditions if not condition.sure]
    crossing = "" if not unsure else f"the 95 % interval of {', '.join(unsure)} crosses its bound"
    return f"Not conclusive: {' and '.join(part for part in (crossing, p) if part)}.{censored}"


def _symbol(case: Case, facet: str) -> str:
    return SYMBOLS.get(facet, facet).format(case.baseline)


def _resolution(case: Case) -> str:
    delay = case.facets["AD"]
    if delay.interval != "resolution" or delay.ci95 is None or delay.mean is None:
        return ""
    half = delay.ci95[1] - delay.mean
    equal = "is equal in all seeds" if delay.sd == 0 else "hardly differs between seeds"
    return f"AD {equal}: it is judged by its resolution, ±{half:g} epochs (half an evaluation step)."


def next_probe(case: Case) -> str | None:
    """What to run next where the case is ambiguous; None where it is not."""
    if case.decision.pattern != "ambiguous":
        return None
    if not case.baseline_present or not case.paired:
        return (
            f"train {case.baseline} on T2 with {listed_seeds(case.seeds)}: without it AD, PD and SFR_rel are undefined"
        )
    unwatched = case.facets["AD"].mean is None and not case.censored
    if case.facets["PD"].mean is None or unwatched:
        return f"measure {SC_PATCH} for {case.method} and {case.baseline} at every epoch of T2"
    if case.facets["SFR_rel"].mean is None:
        return f"measure {SC_MASK} for {case.method} and {case.baseline} at every epoch of T2"
    if case.facets["AD"].mean is None:
        return _probe_for_delay(case)
    if len(case.paired) < FEWEST_SEEDS:
        return f"run {counted(FEWEST_SEEDS - len(case.paired), 'more seed')} of {case.method} and {case.baseline}"
    inconclusive = [condition.facet for condition in case.decision.conditions if not _is_conclusive(case, condition)]
    if inconclusive:
        return f"run more seeds: the 95 % interval of {', '.join(inconclusive)} is wide enough for another verdict"
    if holds(case.facets["SFR_rel"].mean, ">=", case.margins.SFR_rel):
        return "counterfactual cue placement: put the cue on NSC images and at other places, and see whether it pulls"
    if holds(case.facets["SFR_rel"].mean, "<=", -case.margins.SFR_rel):
        return "CKA between the T1 and T2 models: do the features that ignore the cue come from T1?"
    return "calibration (ECE) under masking: does confidence follow the cue where accuracy does not?"


def _is_conclusive(case: Case, condition: Comparison) -> bool:
    """Whether the whole interval says the same as the mean about a condition."""
    interval = case.facets[condition.facet].ci95
    return interval is not None and all(
        holds(end, condition.relation, condition.bound) == condition.met for end in interval
    )


def _probe_for_delay(case: Case) -> str:
    longer = "train longer" if case.budget is None else f"train longer than {counted(case.budget, 'effective epoch')}"
    defined = [(tau, delay) for tau, delay in case.delays.items() if tau < case.tau and 2 * delay.n > len(case.paired)]
    if not defined:
        return f"{longer}, or lower tau: {case.tau:g} is out of reach"
    tau, delay = max(defined, key=lambda entry: entry[0])
    known = f"AD = {delay.mean:+.1f} on {delay.n} of {len(case.paired)} seeds"
    return f"lower tau to {tau:g}, where {known}, or {longer}"
