"""Write a verdict: sentences chosen by the numbers, with the numbers and margins filled in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from einstellung.diagnoses.rigidity.card import Delay
from einstellung.diagnoses.rigidity.floor import Floor
from einstellung.diagnoses.rigidity.patterns import FEWEST_SEEDS, TRIPLET, Certainty, Comparison, Decision, holds
from einstellung.diagnoses.rigidity.settings import Margins
from einstellung.diagnoses.rigidity.words import say
from einstellung.diagnoses.wording import counted, listed_seeds
from einstellung.metrics.curves import TOLERANCE
from einstellung.metrics.statistics import Summary
from einstellung.prose import join
from einstellung.timeline import SC_MASK, SC_PATCH


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


SYMBOLS = {"delta": "Delta", "delta_S": "Delta_S", "SC_mask": "masked accuracy"}


def verdict(case: Case) -> str:
    """A few sentences: the pattern, the absolute reliance, caveats and certainty."""
    pattern = case.decision.pattern
    if pattern == "ambiguous":
        opening = _ambiguous(case)
    elif pattern == "cue-harmful":
        opening = _cue_harmful(case)
    elif pattern == "saturated":
        opening = _saturated(case)
    else:
        parts = {condition.facet: _compared(case, condition) for condition in case.decision.conditions}
        opening = say(pattern, method=case.method, baseline=case.baseline, tau=f"{case.tau:g}", **parts)
    sentences = (opening, _reliance(case), *_withheld(case), _near_floor(case), *_certainty(case), _resolution(case))
    return " ".join(sentence for sentence in sentences if sentence)


def _symbol(case: Case, facet: str) -> str:
    return say("masked of", baseline=case.baseline) if facet == "SC_mask_S" else SYMBOLS.get(facet, facet)


def _shown(case: Case, facet: str) -> str:
    summary = case.facets[facet]
    symbol = _symbol(case, facet)
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
        return say("NSC learned", value=f"{condition.value:.3f}", bound=f"{condition.bound:.3f}")
    if condition.relation == "|.| <":
        return f"{_shown(case, condition.facet)}, within +-{condition.bound:g}"
    return f"{_shown(case, condition.facet)} {condition.relation} {condition.bound:g}"


def _cue_harmful(case: Case) -> str:
    harm, sensitivity, own = (case.facets[name].mean for name in ("SFR_rel", "CSR_rel", "delta"))
    if harm is None or sensitivity is None or own is None:
        raise ValueError("the cue-harmful pattern needs the whole triplet")
    if holds(own, ">", 0.0):
        hurt = "helped"
    elif holds(harm, ">", 0.0):
        hurt = "less hurt"
    else:
        hurt = "more hurt" if holds(harm, "<", 0.0) else "hurt as much"
    if holds(sensitivity, ">", 0.0):
        moved = "more sensitive"
    else:
        moved = "less sensitive" if holds(sensitivity, "<", 0.0) else "as sensitive"
    return say(
        "cue-harmful",
        method=case.method,
        baseline=case.baseline,
        hurt=say(hurt),
        moved=say(moved),
        **{facet: _shown(case, facet) for facet in ("delta_S", "SFR_rel", "CSR_rel")},
    )


def _saturated(case: Case) -> str:
    measured = case.facets["SFR_rel_within"].mean is not None
    return say(
        "saturated",
        method=case.method,
        baseline=case.baseline,
        own=_accuracy(case.facets["SC_mask"]),
        other=_accuracy(case.facets["SC_mask_S"]),
        floor=case.floor.describe(),
        triplet=", ".join(_shown(case, facet) for facet in TRIPLET),
        within=say("saturated within", SFR_rel_within=_shown(case, "SFR_rel_within"))
        if measured
        else say("saturated without"),
    )


def _accuracy(summary: Summary) -> str:
    text = f"{summary.mean:.3f}"
    return text if summary.ci95 is None else f"{text} [{summary.ci95[0]:.3f}, {summary.ci95[1]:.3f}]"


def _ambiguous(case: Case) -> str:
    names = {"method": case.method, "baseline": case.baseline}
    if not case.baseline_present:
        return say("no baseline", **names)
    if not case.paired:
        return say("no common seed", **names)
    if case.unlearned:
        own, other = (f"{case.facets[key].mean:.3f}" for key in ("SC_patch", "SC_patch_S"))
        return say("unlearned", own=own, other=other, floor=case.floor.describe(), **names)
    undefined = [facet for facet in TRIPLET if case.facets[facet].mean is None]
    if undefined:
        reasons = [
            say("AD censored", censoring=_censoring(case))
            if facet == "AD" and case.censored
            else say("facet undefined", facet=facet)
            for facet in undefined
        ]
        return say("undefined", reasons=", ".join(reasons))
    return _unnamed(case)


def _unnamed(case: Case) -> str:
    """Which way each facet points, margins counted: an unnamed combination still says something."""

    def side(facet: str, margin: float, below: str, above: str, between: str) -> str:
        mean = case.facets[facet].mean
        if mean is None:
            raise ValueError(f"{facet} is undefined")
        return below if holds(mean, "<=", -margin) else above if holds(mean, ">=", margin) else between

    margins = case.margins
    speed = side("AD", margins.AD, "sooner", "later", "as soon")
    return say(
        "unnamed",
        method=case.method,
        baseline=case.baseline,
        tau=f"{case.tau:g}",
        speed=say(speed, epochs=counted(margins.AD, "epoch")),
        end=say(side("PD", margins.PD, "higher", "lower", "as high")),
        reliance=say(side("SFR_rel", margins.SFR_rel, "relies less", "relies more", "relies equally")),
        margins=f"AD {margins.AD:g}, PD {margins.PD:g}, SFR_rel {margins.SFR_rel:g}",
        **{facet: _shown(case, facet) for facet in TRIPLET},
    )


def _censoring(case: Case) -> str:
    sides: dict[str, list[int]] = {}
    for seed, side in case.censored.items():
        sides.setdefault(side, []).append(seed)
    return "; ".join(
        say(
            "censored",
            who="neither" if side == "both" else f"{side} never",
            tau=f"{case.tau:g}",
            seeds=listed_seeds(seeds),
        )
        for side, seeds in sides.items()
    )


def _reliance(case: Case) -> str:
    if case.facets["delta"].mean is None:
        return ""
    known = case.facets["delta_S"].mean is not None
    beside = say("beside", delta_S=_shown(case, "delta_S"), baseline=case.baseline) if known else ""
    return say("reliance", delta=_shown(case, "delta"), beside=beside)


def _withheld(case: Case) -> list[str]:
    """Why a benign name was not given where only the added conditions refuse it."""

    def reason(condition: Comparison) -> str:
        if condition.facet == "delta":
            return say("withheld: delta", delta=_shown(case, "delta"), bound=f"{condition.bound:g}")
        if condition.value is None:
            return say("withheld: some NSC" if case.facets["NSC_lowest"].n else "withheld: NSC")
        return say("withheld: low NSC", value=f"{condition.value:.3f}", bound=f"{condition.bound:.3f}")

    return [
        say("withheld", pattern=pattern, reasons="; ".join(map(reason, refused)))
        for pattern, refused in (case.decision.withheld or {}).items()
    ]


def _near_floor(case: Case) -> str:
    """A warning where the masked means are at the floor but not the intervals: SFR_rel may equal -PD by construction."""
    own, other = case.facets["SC_mask"].mean, case.facets["SC_mask_S"].mean
    if own is None or other is None or case.saturated or case.unlearned or max(own, other) > case.floor.level:
        return ""
    return say("near floor", own=f"{own:.3f}", other=f"{other:.3f}", floor=f"{case.floor.level:.3f}")


def _certainty(case: Case) -> list[str]:
    decision = case.decision
    needed = {condition.facet for condition in decision.conditions}
    counts = case.censored and case.facets["AD"].n and "AD" in needed
    censored = [say("seeds left out", censoring=_censoring(case))] if counts else []
    if case.certainty == "too few seeds":
        return [say("too few", n=decision.fewest, needed=FEWEST_SEEDS), *censored]
    if decision.pattern == "ambiguous":
        return censored
    p = "" if case.p_holm is None else say("p", p=f"{case.p_holm:.2g}")
    if case.certainty == "holds":
        return [say("conclusive", p=p), *censored]
    unsure = [_symbol(case, condition.facet) for condition in decision.conditions if not condition.sure]
    crossing = say("crossings" if len(unsure) > 1 else "crossing", facets=join(unsure)) if unsure else ""
    tied = [_symbol(case, condition.facet) for condition in decision.conditions if _is_tied(case, condition)]
    ties = say("tied", facets=join(tied)) if tied else ""
    doubts = [say(f"doubt: {one}", baseline=case.baseline, tau=f"{case.tau:g}") for one in decision.doubts]
    return [say("inconclusive", why="; ".join(part for part in (crossing, ties, *doubts, p) if part)), *censored]


def _is_tied(case: Case, condition: Comparison) -> bool:
    """Whether a facet equals its bound in every seed, as at a ceiling: no test can show on which side it lies."""
    if condition.facet == "NSC_lowest" or condition.relation == "|.| <":
        return False
    summary = case.facets[condition.facet]
    return summary.mean is not None and summary.sd == 0 and abs(summary.mean - condition.bound) <= TOLERANCE


def _resolution(case: Case) -> str:
    delay = case.facets["AD"]
    if delay.interval != "resolution" or delay.ci95 is None or delay.mean is None:
        return ""
    equal = say("equal in all" if delay.sd == 0 else "hardly differs")
    return say("resolution", equal=equal, half=f"{delay.ci95[1] - delay.mean:g}")


def next_probe(case: Case) -> str | None:
    """What to run next where the case is ambiguous; None where it is not."""
    if case.decision.pattern != "ambiguous":
        return None
    names = {"method": case.method, "baseline": case.baseline}
    if not case.baseline_present or not case.paired:
        return say("next: baseline", baseline=case.baseline, seeds=listed_seeds(case.seeds))
    unwatched = case.facets["AD"].mean is None and not case.censored
    if case.facets["PD"].mean is None or unwatched:
        return say("next: measure", split=SC_PATCH, **names)
    if case.facets["SFR_rel"].mean is None:
        return say("next: measure", split=SC_MASK, **names)
    if case.facets["AD"].mean is None:
        return _probe_for_delay(case)
    if len(case.paired) < FEWEST_SEEDS:
        return say("next: seeds", seeds=counted(FEWEST_SEEDS - len(case.paired), "more seed"), **names)
    inconclusive = [condition.facet for condition in case.decision.conditions if not _is_conclusive(case, condition)]
    if inconclusive:
        return say("next: more seeds", facets=join(inconclusive))
    if holds(case.facets["SFR_rel"].mean, ">=", case.margins.SFR_rel):
        return say("next: placement")
    if holds(case.facets["SFR_rel"].mean, "<=", -case.margins.SFR_rel):
        return say("next: CKA")
    return say("next: calibration")


def _is_conclusive(case: Case, condition: Comparison) -> bool:
    """Whether the whole interval says the same as the mean about a condition."""
    interval = case.facets[condition.facet].ci95
    return interval is not None and all(
        holds(end, condition.relation, condition.bound) == condition.met for end in interval
    )


def _probe_for_delay(case: Case) -> str:
    budget = "" if case.budget is None else counted(case.budget, "effective epoch")
    longer = say("next: longer than", budget=budget) if budget else say("next: longer")
    defined = [(tau, delay) for tau, delay in case.delays.items() if tau < case.tau and 2 * delay.n > len(case.paired)]
    if not defined:
        return say("next: out of reach", longer=longer, tau=f"{case.tau:g}")
    tau, delay = max(defined, key=lambda entry: entry[0])
    mean = f"{delay.mean:+.1f}"
    return say("next: lower tau", tau=f"{tau:g}", AD=mean, n=delay.n, paired=len(case.paired), longer=longer)
