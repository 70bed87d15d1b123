"""The verdict on mitigation: a word for every method and cue, the sentence behind it, and what both rest on.

d is a method's reliance on a cue minus the baseline's, paired by seed, at the end of the last phase: by twins where
every run has them, otherwise by main effects over all patterns (:mod:`~einstellung.diagnoses.shortcuts.reliance`). Its
95 % interval allows for seeds and, where predictions of single images are known, for test images. *Amplified* if d is
above the margin, the interval above 0, and the method's own reliance above the margin; *reduced* if d is below -margin
and the interval below 0; *cured* if moreover the interval of the reliance itself stays within the margin of 0;
*unchanged* if the interval lies within the margin. Each word also needs three seeds and p at most .05 after Holm's
correction over the methods that are judged: of a paired t test or, for *unchanged*, of equivalence. Otherwise it is
*undecided*. Where the baseline does not rely on a cue, there is nothing to reduce. A method that reduces the reliance
on one cue and amplifies that on another is a Whac-A-Mole. A method whose ID accuracy stays below the level is not
judged: who knows nothing relies on nothing. Gaps stand beside and decide nothing: the ceiling bounds them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from einstellung.diagnoses.shortcuts.card import CueVerdict, JudgedBasis, MitigationVerdict, PhaseEnd
from einstellung.diagnoses.shortcuts.certainty import holm_over, why_uncertain
from einstellung.diagnoses.shortcuts.design import Design
from einstellung.diagnoses.shortcuts.estimates import GapEstimate, RelianceDifference
from einstellung.diagnoses.wording import percent, points

CURED = "cured"
REDUCED = "reduced"
UNCHANGED = "unchanged"
AMPLIFIED = "amplified"
MOLE = "amplified (Whac-A-Mole)"  # while the reliance on another cue is reduced
UNDECIDED = "undecided"
CUE_VERDICTS = (CURED, REDUCED, UNCHANGED, AMPLIFIED, MOLE, UNDECIDED)

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


def judge_cue(
    difference: RelianceDifference,
    loss: GapEstimate,
    of_baseline: GapEstimate,
    margin: float,
    p_holm: float | None,
    p_unchanged: float | None = None,
) -> tuple[str, str | None]:
    """The word for one method's reliance on one cue, and why it is undecided; both p are corrected over methods.

    >>> def seeds(mean, half):
    ...     return RelianceDifference(mean, half / 2, 3, (mean - half, mean + half), "t")
    >>> judge_cue(seeds(0.30, 0.1), seeds(0.45, 0.1), seeds(0.15, 0.02), 0.02, p_holm=0.01)
    ('amplified', None)
    >>> judge_cue(seeds(-0.14, 0.03), seeds(0.005, 0.01), seeds(0.15, 0.02), 0.02, p_holm=0.01)
    ('cured', None)
    >>> judge_cue(seeds(-0.14, 0.03), seeds(0.005, 0.01), seeds(0.15, 0.02), 0.02, p_holm=0.08)
    ('undecided', 'cured by the interval, but p = 0.080 after Holm')
    """
    if difference.mean is None or loss.mean is None or of_baseline.mean is None:
        return UNDECIDED, "not measured, or no seed in common"
    if difference.bounds is None:
        return UNDECIDED, why_uncertain(difference.n, p_holm)
    low, high = difference.bounds
    nothing_to_reduce = of_baseline.mean <= margin
    if difference.mean > margin and low > 0 and loss.mean > margin:
        word = AMPLIFIED
    elif difference.mean < -margin and high < 0 and not nothing_to_reduce:
        own = loss.bounds
        word = CURED if own is not None and -margin <= own[0] and own[1] <= margin else REDUCED
    elif high <= margin and (nothing_to_reduce or low >= -margin):
        word, p_holm = UNCHANGED, p_unchanged
    else:
        return UNDECIDED, _why_open(difference.mean, low, high, margin)
    why = why_uncertain(difference.n, p_holm)
    return (word, None) if why is None else (UNDECIDED, f"{word} by the interval, but {why}")


def _why_open(mean: float, low: float, high: float, margin: float) -> str:
    if low <= 0 <= high:
        return "the interval includes 0"
    if abs(mean) > margin:
        return "its own reliance is within the margin"
    return "the mean difference is within the margin, but its interval is not"


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
    basis: Mapping[str, JudgedBasis],
    *,
    baseline: str,
    scratch: str | None,
    margin: float,
    level: float,
) -> dict[str, MitigationVerdict]:
    """A verdict for every method, from what it shows at the end of the last phase; ``baseline`` may be none of them."""
    comparison = _Comparison(ends, design, basis, baseline, scratch, margin, level)
    return {method: comparison.verdict(method) for method in ends}


@dataclass(frozen=True)
class _Comparison:
    """The methods of a study, and what they are compared with."""

    ends: Mapping[str, PhaseEnd]
    design: Design
    basis: Mapping[str, JudgedBasis]
    baseline: str
    scratch: str | None
    margin: float
    level: float

    def _corrected(self, cue: str) -> tuple[dict[str, float | None], dict[str, float | None]]:
        """Holm's correction over the methods that are judged, of the test for a change and of that for none."""
        differences = {
            method: end.judged[cue].difference for method, end in self.ends.items() if self._is_judged(method)
        }
        changed = {method: found.p for method, found in differences.items()}
        return holm_over(changed), holm_over({method: found.p_unchanged for method, found in differences.items()})

    def _is_judged(self, method: str) -> bool:
        whole = self.ends[method].own.ID.mean
        return method not in (self.baseline, self.scratch) and whole is not None and whole >= self.level

    def verdict(self, method: str) -> MitigationVerdict:
        """The verdict on one method."""
        end = self.ends[method]
        whole = end.own.ID.mean
        if whole is None:
            last = self.design.last
            known = self.design.weights.get(last) is not None
            why = "a group was not measured" if known else f"the training correlations of {last} are not known"
            return self._open(f"Undecided: ID accuracy is undefined, because {why}.", why)
        if method in (self.baseline, self.scratch):
            losses = "; ".join(f"{cue} {_points(found.loss.mean)}" for cue, found in end.judged.items())
            name = BASELINE if method == self.baseline else FRESH
            who = {
                BASELINE: "The baseline mitigates nothing",
                FRESH: "Retrained from scratch in every phase: no training history, no verdict",
            }[name]
            sentence = f"{who}. ID accuracy {percent(whole)}; points lost {self._by()}: {losses}. {self._gaps(method)}"
            return MitigationVerdict(name=name, sentence=sentence, cues={})
        if whole < self.level:
            sentence = (
                f"Not learned: ID accuracy {percent(whole)}, below the level of {percent(self.level)}, so accuracy lost "
                "without a cue is uninformative."
            )
            return self._open(sentence, "not learned", NOT_LEARNED)
        if self.baseline not in self.ends:
            return self._open("Undecided: there is no baseline to compare with.", "no baseline")
        of_baseline = self.ends[self.baseline].own.ID.mean
        if of_baseline is None:
            return self._open(f"Undecided: ID accuracy of {self.baseline} is undefined.", "no baseline")
        if of_baseline < self.level:
            why = f"{self.baseline} itself did not learn the task"
            return self._open(f"Undecided: {why} (ID accuracy {percent(of_baseline)}).", why)
        cues = {cue: self._judge(method, cue) for cue in self.design.cues}
        name = judge_method({cue: judged.name for cue, judged in cues.items()})
        if name == WHAC_A_MOLE:
            cues = {
                cue: judged.model_copy(update={"name": MOLE}) if judged.name == AMPLIFIED else judged
                for cue, judged in cues.items()
            }
        lead = "Whac-A-Mole" if name == WHAC_A_MOLE else name.capitalize()
        parts = "; ".join(self._part(method, cue, judged) for cue, judged in cues.items())
        sentence = (
            f"{lead} {self._by()}: {parts}. {self._ceiling(method)}{self._gaps(method)} ID accuracy {percent(whole)}, "
            f"{_signed(whole - of_baseline)} relative to {self.baseline}."
        )
        return MitigationVerdict(name=name, sentence=sentence, cues=cues)

    def _judge(self, method: str, cue: str) -> CueVerdict:
        own, base = (self.ends[name].judged[cue] for name in (method, self.baseline))
        changed, same = (found[method] for found in self._corrected(cue))
        name, why = judge_cue(own.difference, own.loss, base.loss, self.margin, changed, same)
        return CueVerdict(name=name, by=own.by, p_holm=same if name == UNCHANGED else changed, why=why)

    def _open(self, sentence: str, why: str, name: str = UNDECIDED) -> MitigationVerdict:
        """A verdict that decides about no cue."""
        cues = {cue: CueVerdict(name=UNDECIDED, by=self.basis[cue].by, why=why) for cue in self.design.cues}
        return MitigationVerdict(name=name, sentence=sentence, cues=cues)

    def _by(self) -> str:
        return f"by {describe_basis(self.basis)}"

    def _part(self, method: str, cue: str, judged: CueVerdict) -> str:
        own, base = (self.ends[name].judged[cue] for name in (method, self.baseline))
        found = own.difference
        word = judged.name if judged.why is None else f"{judged.name} ({judged.why})"
        if found.mean is None:
            return f"{cue} {_points(own.loss.mean)} points lost: {word}"
        p = "" if judged.p_holm is None else f", p {_p(judged.p_holm)} by Holm"
        return (
            f"{cue} {_points(own.loss.mean)} points lost ({self.baseline} {_points(base.loss.mean)}, difference "
            f"{_signed(found.mean)}{_within(found)}{p}): {word}"
        )

    def _ceiling(self, method: str) -> str:
        """What main effects cannot show, because accuracy there is as good as 1."""
        named = []
        for name in (self.baseline, method):
            found: dict[str, float] = {}
            for own in self.ends[name].judged.values():
                found |= own.ceiling
            named += [f"{name} A{pattern} {acc:.2f}" for pattern, acc in found.items()]
        return f"Bounded by the ceiling (accuracy indistinguishable from 1): {', '.join(named)}. " if named else ""

    def _gaps(self, method: str) -> str:
        """The gaps, which stand beside."""
        own, base = (self.ends[name].own.gaps if name in self.ends else {} for name in (method, self.baseline))
        compared = method != self.baseline and bool(base)
        parts = [
            f"{gap} {_points(found.mean)}" + (f" ({self.baseline} {_points(base[gap].mean)})" if compared else "")
            for gap, found in own.items()
        ]
        return f"Gaps (not part of the verdict): {'; '.join(parts)}."


def describe_basis(basis: Mapping[str, JudgedBasis]) -> str:
    """What verdicts rest on, and why where it is not twins.

    >>> describe_basis({"background": JudgedBasis(by="twins"), "co-object": JudgedBasis(by="twins")})
    'twins'
    """
    by = dict.fromkeys(found.by for found in basis.values())
    whys = dict.fromkeys(found.why for found in basis.values() if found.why)
    if list(by) == ["twins"]:
        return "twins"
    reason = f" ({'; '.join(whys)})" if whys else ""
    if len(by) == 1:
        return f"main effects over all patterns{reason}"
    parts = [
        f"{'twins' if found.by == 'twins' else 'main effects over all patterns'} for {cue}"
        for cue, found in basis.items()
    ]
    return f"{', '.join(parts)}{reason}"


def _within(found: GapEstimate) -> str:
    return f", 95 % {_bounds(found.bounds)}" if found.bounds else ", one seed: no interval"


def _bounds(bounds: Sequence[float]) -> str:
    return f"[{points(bounds[0])}, {points(bounds[1])}]"


def _p(p: float) -> str:
    return f"= {p:.3f}" if p >= 0.001 else "< 0.001"


def _points(value: float | None) -> str:
    return "undefined" if value is None else points(value)


def _signed(value: float) -> str:
    text = points(value)
    return text if text.startswith("-") or text == "0.0" else f"+{text}"
