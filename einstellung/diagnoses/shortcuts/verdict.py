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
from dataclasses import dataclass

from einstellung.diagnoses.shortcuts.card import (
    GapDifference,
    GapEstimate,
    GapVerdict,
    MeasuredGaps,
    MitigationVerdict,
    PhaseEnd,
    Weighting,
)
from einstellung.diagnoses.shortcuts.design import Design
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


def judge_gap(difference: GapEstimate, gap: GapEstimate, of_baseline: GapEstimate, margin: float) -> str:
    """The word for one gap of one method, measured in one way.

    >>> seeds = lambda mean, half: GapEstimate(mean, half / 2, 3, (mean - half, mean + half), "t")
    >>> judge_gap(seeds(-0.30, 0.1), seeds(-0.45, 0.1), seeds(-0.15, 0.02), 0.02)
    'amplified'
    >>> judge_gap(seeds(0.13, 0.03), seeds(-0.005, 0.01), seeds(-0.15, 0.02), 0.02)
    'cured'
    >>> judge_gap(seeds(0.05, 0.06), seeds(-0.1, 0.05), seeds(-0.15, 0.02), 0.02)
    'undecided'
    """
    bounds = difference.bounds
    if bounds is None or difference.mean is None or gap.mean is None or of_baseline.mean is None:
        return UNDECIDED
    low, high = bounds
    if difference.mean < -margin and high < 0 and gap.mean < -margin:
        return AMPLIFIED
    if of_baseline.mean >= -margin:  # the baseline has no gap that could be reduced
        return UNCHANGED if low >= -margin else UNDECIDED
    if difference.mean > margin and low > 0:
        own = gap.bounds
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


def judge_methods(
    ends: Mapping[str, PhaseEnd],
    design: Design,
    *,
    baseline: str,
    scratch: str | None,
    margin: float,
    level: float,
) -> dict[str, MitigationVerdict]:
    """A verdict for every method, from what it shows at the end of the last phase; ``baseline`` may be none of them."""
    comparison = _Comparison(ends, design, baseline, scratch, margin, level)
    corrected = comparison.corrected()
    return {method: comparison.verdict(method, corrected) for method in ends}


@dataclass(frozen=True)
class _Comparison:
    """The methods of a study, and what they are compared with."""

    ends: Mapping[str, PhaseEnd]
    design: Design
    baseline: str
    scratch: str | None
    margin: float
    level: float

    def corrected(self) -> dict[tuple[str, str], float | None]:
        """Holm's correction over all methods that are judged and single cues: one family of comparisons with the baseline."""
        keys = [(method, cue) for method in self.ends if self._is_judged(method) for cue in self.design.cues]
        found = [self.ends[method].own.difference[cue].p for method, cue in keys]
        return dict(zip(keys, holm(found), strict=True))

    def _is_judged(self, method: str) -> bool:
        whole = self.ends[method].own.ID.mean
        return method not in (self.baseline, self.scratch) and whole is not None and whole >= self.level

    def verdict(self, method: str, corrected: Mapping[tuple[str, str], float | None]) -> MitigationVerdict:
        """The verdict on one method."""
        own = self.ends[method].own
        whole = own.ID.mean
        if whole is None:
            last = self.design.last
            known = self.design.weights.get(last) is not None
            why = "a group was not measured" if known else f"the training correlations of {last} are not known"
            return _open(own, f"Undecided: ID accuracy is undefined, because {why}.")
        if method in (self.baseline, self.scratch):
            gaps = "; ".join(f"{name} gap {_points(gap.mean)}" for name, gap in own.gaps.items())
            name = BASELINE if method == self.baseline else FRESH
            who = {
                BASELINE: "The baseline mitigates nothing",
                FRESH: "Starts fresh in every phase: no history, not judged",
            }[name]
            sentence = f"{who}. ID accuracy {percent(whole)}; {gaps} points."
            return MitigationVerdict(name=name, sentence=sentence, gaps={})
        if whole < self.level:
            sentence = (
                f"Not learned: ID accuracy {percent(whole)}, below the level of {percent(self.level)}; gaps of a model that "
                "does not know the task say nothing."
            )
            return _open(own, sentence, NOT_LEARNED)
        if self.baseline not in self.ends:
            return _open(own, "Undecided: there is no baseline to compare with.")
        of_baseline = self.ends[self.baseline].own.ID.mean
        if of_baseline is None:
            return _open(own, f"Undecided: ID accuracy of {self.baseline} is undefined.")
        if of_baseline < self.level:
            return _open(
                own,
                f"Undecided: {self.baseline} itself did not learn the task (ID accuracy {percent(of_baseline)}).",
            )
        from_id, alone = self._words(method, "own"), self._words(method, "alone")
        words = {gap: agreed(from_id[gap], alone[gap]) for gap in own.gaps}
        cues = self.design.cues
        name = judge_method({cue: words[cue] for cue in cues})
        if name == WHAC_A_MOLE:
            words |= {cue: MOLE for cue in cues if words[cue] == AMPLIFIED}
        judged = {
            gap: GapVerdict(name=word, from_id=from_id[gap], alone=alone[gap], p_holm=corrected.get((method, gap)))
            for gap, word in words.items()
        }
        sentence = self._sentence(name, own, judged, whole, whole - of_baseline)
        return MitigationVerdict(name=name, sentence=sentence, gaps=judged)

    def _words(self, method: str, weighting: Weighting) -> dict[str, str]:
        own, base = (self.ends[name].measured_from(weighting) for name in (method, self.baseline))
        return {
            gap: judge_gap(own.difference[gap], estimate, base.gaps[gap], self.margin)
            for gap, estimate in own.gaps.items()
        }

    def _sentence(
        self, name: str, own: MeasuredGaps, judged: Mapping[str, GapVerdict], whole: float, gained: float
    ) -> str:
        base = self.ends[self.baseline].own
        parts = []
        everything = list(own.gaps)[-1]
        for gap in dict.fromkeys([*self.design.cues, everything]):  # every cue by itself, and all of them at once
            word, found = _with_reason(judged[gap]), own.difference[gap]
            if found.mean is None:
                parts.append(f"{gap} gap {_points(own.gaps[gap].mean)}: {word}, no seed in common with {self.baseline}")
                continue
            parts.append(
                f"{gap} gap {_points(own.gaps[gap].mean)} ({self.baseline} {_points(base.gaps[gap].mean)}, "
                f"difference {_signed(found.mean)}{_within(found)}): {word}"
            )
        lead = "Whac-A-Mole" if name == WHAC_A_MOLE else name.capitalize()
        return f"{lead}: {'; '.join(parts)}. ID accuracy {percent(whole)}, {_signed(gained)} against {self.baseline}."


def _open(own: MeasuredGaps, sentence: str, name: str = UNDECIDED) -> MitigationVerdict:
    """A verdict that decides about no gap."""
    return MitigationVerdict(name=name, sentence=sentence, gaps={gap: GapVerdict(name=UNDECIDED) for gap in own.gaps})


def _with_reason(judged: GapVerdict) -> str:
    """The word for a gap; where it is undecided because both ways of measuring disagree, both of theirs."""
    if judged.name != UNDECIDED or judged.from_id == judged.alone:
        return judged.name
    return f"{UNDECIDED} ({judged.from_id} from ID, {judged.alone} from where all cues are common)"


def _within(found: GapDifference) -> str:
    return f", 95 % {_bounds(found.bounds)}" if found.bounds else ", one seed: no interval"


def _bounds(bounds: Sequence[float]) -> str:
    return f"[{points(bounds[0])}, {points(bounds[1])}]"


def _points(value: float | None) -> str:
    return "undefined" if value is None else points(value)


def _signed(value: float) -> str:
    text = points(value)
    return text if text.startswith("-") or text == "0.0" else f"+{text}"
