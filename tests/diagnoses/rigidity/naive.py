"""The definitions once more, read straight from their text and computed in another way.

Exact fractions instead of floats with a tolerance, dictionaries instead of arrays, one value at a time. Slow on
purpose: it is what the product is compared with.
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from statistics import fmean, stdev
from typing import Any

from scipy import stats

PATCH, MASK, OTHER, VALIDATION, FIRST = (
    "T2_shortcut_normal",
    "T2_shortcut_masked",
    "T2_nonshortcut_normal",
    "T2_val",
    "T1_all",
)


def exact(value: Any) -> Fraction:
    """Accuracies are k / 500 and thresholds decimals: the float nearest to such a number stands for it."""
    return Fraction(value).limit_denominator(3000)


class Naive:
    def __init__(self, rows, baseline="scratch_t2", tau="0.6", window=3, smoothing="trailing", final="auto"):
        self.curves: dict[tuple, dict[Fraction, Fraction]] = {}
        self.known: dict[tuple, dict[str, Any]] = {}
        for r in rows:
            curve = self.curves.setdefault((r["method"], r["seed"], r["phase"], r["split"]), {})
            curve[exact(r["epoch"])] = exact(r["acc"])
        self.baseline, self.tau, self.window, self.smoothing = baseline, Fraction(tau), window, smoothing
        self.runs = sorted({key[:2] for key in self.curves})
        in_second_phase = {key[:2] for key in self.curves if key[2] == "T2"}
        everyone = all(any(e > 0 for e in self.points(*run, "T2", VALIDATION)) for run in in_second_phase)
        self.rule = {"auto": "best-val" if everyone else "last"}.get(final, final)

    def points(self, method, seed, phase, split):
        return self.curves.get((method, seed, phase, split), {})

    def smoothed(self, points):
        result = {}
        for e in points:
            if e == 0:
                continue
            if self.smoothing == "none" or self.window == 1:
                inside = [e]
            elif self.smoothing == "trailing":
                inside = [p for p in points if p > 0 and e - self.window < p <= e]
            else:
                half = Fraction(self.window, 2)
                inside = [p for p in points if p > 0 and e - half < p <= e + half]
            result[e] = sum(points[p] for p in inside) / len(inside)
        return result

    def time(self, method, seed, tau=None):
        tau = self.tau if tau is None else Fraction(tau)
        curve = self.smoothed(self.points(method, seed, "T2", PATCH))
        reached = [e for e, value in curve.items() if value >= tau]
        return min(reached) if reached else None

    def watched(self, method, seed):
        return any(e > 0 for e in self.points(method, seed, "T2", PATCH))

    def checkpoint(self, method, seed):
        curves = {split: self.points(method, seed, "T2", split) for split in (PATCH, MASK, VALIDATION)}
        asked = [split for split in (PATCH, MASK) if curves[split]]
        if self.rule == "best-val":
            asked.append(VALIDATION)
        epochs = {e for key, points in self.curves.items() if key[:3] == (method, seed, "T2") for e in points}
        eligible = sorted(e for e in epochs if e > 0 and all(e in curves[split] for split in asked))
        if not eligible:
            return None
        if self.rule == "last":
            return eligible[-1]
        best = max(curves[VALIDATION][e] for e in eligible)
        return next(e for e in eligible if curves[VALIDATION][e] == best)

    def final(self, method, seed, split):
        return self.points(method, seed, "T2", split).get(self.checkpoint(method, seed))

    def delta(self, method, seed):
        return minus(self.final(method, seed, PATCH), self.final(method, seed, MASK))

    def facts(self, method, seed):
        if (method, seed) not in self.known:
            self.known[method, seed] = self.read(method, seed)
        return self.known[method, seed]

    def read(self, method, seed):
        first_phase = self.points(method, seed, "T1", FIRST)
        second_phase = self.points(method, seed, "T2", FIRST)
        trained = {e: acc for e, acc in second_phase.items() if e > 0}
        after = first_phase[max(first_phase)] if first_phase else second_phase.get(Fraction(0))
        untrained = self.points(self.baseline, seed, "T2", FIRST).get(Fraction(0), Fraction(0))
        knows_nothing = after is not None and after <= max(Fraction("0.1"), untrained)
        if method == self.baseline or (knows_nothing and not any(k[:3] == (method, seed, "T1") for k in self.curves)):
            after = None
        delta = self.delta(method, seed)
        facts = {
            "E": self.time(method, seed),
            "SC_patch": self.final(method, seed, PATCH),
            "SC_mask": self.final(method, seed, MASK),
            "NSC": self.final(method, seed, OTHER),
            "T1": trained[max(trained)] if trained else None,
            "T1_after_T1": after,
            "checkpoint_epoch": self.checkpoint(method, seed),
            "delta": delta,
            **dict.fromkeys(("AD", "PD", "SFR_rel", "CSR_rel", "delta_S", "censored")),
        }
        if method != self.baseline and (self.baseline, seed) in self.runs:
            theirs, base_delta = self.time(self.baseline, seed), self.delta(self.baseline, seed)
            facts["AD"] = minus(facts["E"], theirs)
            facts["PD"] = minus(self.final(self.baseline, seed, PATCH), facts["SC_patch"])
            facts["SFR_rel"] = minus(delta, base_delta)
            facts["CSR_rel"] = None if None in (delta, base_delta) else abs(delta) - abs(base_delta)
            facts["delta_S"] = base_delta
            if self.watched(method, seed) and self.watched(self.baseline, seed):
                missing = [n for n, t in ((method, facts["E"]), (self.baseline, theirs)) if t is None]
                facts["censored"] = "both" if len(missing) == 2 else (missing or [None])[0]
        return facts

    def mean(self, method, facet):
        values = [self.facts(*run)[facet] for run in self.runs if run[0] == method]
        known = [value for value in values if value is not None]
        return (sum(known) / len(known) if known else None), len(known)

    def mean_delay(self, method, tau):
        seeds = [seed for name, seed in self.runs if name == method and (self.baseline, seed) in self.runs]
        delays = [minus(self.time(method, seed, tau), self.time(self.baseline, seed, tau)) for seed in seeds]
        known = [delay for delay in delays if delay is not None and method != self.baseline]
        return (sum(known) / len(known) if known else None), len(known)

    def values(self, method, facet):
        return [float(own[facet]) for own in self.all_facts(method) if own[facet] is not None]

    def all_facts(self, method):
        return [self.facts(*run) for run in self.runs if run[0] == method]

    def step(self, method):
        """The widest gap between two looks at a patched curve of the method or of the baseline it is paired with."""
        gaps = []
        for name, seed in self.runs:
            paired = name == self.baseline and (method, seed) in self.runs
            if name == method or paired:
                looks = [Fraction(0), *sorted(e for e in self.points(name, seed, "T2", PATCH) if e > 0)]
                gaps += [after - before for before, after in itertools.pairwise(looks)]
        return max(gaps, default=Fraction(0))

    def paired_values(self, method):
        """What the patterns look at: the triplet over its own seeds, the rest over the seeds of SFR_rel."""
        pairs = [(seed, self.facts(name, seed)) for name, seed in self.runs if name == method]
        pairs = [(seed, own) for seed, own in pairs if own["SFR_rel"] is not None]
        found = {facet: self.values(method, facet) for facet in ("AD", "PD", "SFR_rel")}
        found |= {name: [float(own[name]) for _, own in pairs] for name in ("delta", "delta_S", "SC_patch", "SC_mask")}
        for name, split in (("SC_patch_S", PATCH), ("SC_mask_S", MASK)):
            found[name] = [float(self.final(self.baseline, seed, split)) for seed, _ in pairs]
        return found

    def floor(self, classes):
        return 0.05 if classes is None else max(1 / classes, min(3 / classes, 0.25))

    def at_floor(self, values, classes):
        """The upper end of Student's interval over the seeds, or a single value, is not above the floor."""
        if not values:
            return False
        upper = values[0]
        if len(values) > 1:
            upper = fmean(values) + stats.t.ppf(0.975, len(values) - 1) * stdev(values) / len(values) ** 0.5
        return min(upper, 1.0) <= self.floor(classes) + 1e-9

    def saturated(self, method, classes=None):
        found = self.paired_values(method)
        return self.at_floor(found["SC_mask"], classes) and self.at_floor(found["SC_mask_S"], classes)

    def unlearned(self, method, classes=None):
        found = self.paired_values(method)
        return self.at_floor(found["SC_patch"], classes) and self.at_floor(found["SC_patch_S"], classes)

    def pattern(self, method, classes=None):
        ad, pd_, sfr = (self.mean(method, facet)[0] for facet in ("AD", "PD", "SFR_rel"))
        facts = self.all_facts(method)
        pairs = [own for own in facts if own["SFR_rel"] is not None]
        delta, delta_s = (sum(own[name] for own in pairs) / max(len(pairs), 1) for name in ("delta", "delta_S"))
        epoch, margin = Fraction(1), Fraction("0.02")
        others = [own["NSC"] for own in facts]
        chance = Fraction("0.05") if classes is None else Fraction(1, classes)
        harmless = delta <= margin and None not in others and min(others) > chance
        if ad is None or pd_ is None or sfr is None or self.unlearned(method, classes):
            return "ambiguous"
        if delta_s <= 0:
            return "cue-harmful"
        if self.saturated(method, classes):
            return "saturated"
        if ad <= -epoch and pd_ <= 0 and sfr >= margin:
            return "red-flag"
        if ad < 0 and pd_ >= margin and sfr <= -margin and harmless:
            return "benign-avoidance"
        if delta >= Fraction("0.1") and abs(sfr) < margin:
            return "shared-shortcut"
        if ad > -epoch and pd_ >= 0 and sfr < margin and harmless:
            return "benign-transfer"
        return "ambiguous"

    def p(self, method, classes=None):
        """The largest p of the pattern's conditions, each against its own bound; None where one cannot be tested."""
        floor = self.floor(classes)
        conditions = {
            "ambiguous": [],
            "cue-harmful": [("delta_S", "less", 0.0)],
            "saturated": [("SC_mask", "less", floor), ("SC_mask_S", "less", floor)],
            "red-flag": [("AD", "less", -1.0), ("PD", "less", 0.0), ("SFR_rel", "greater", 0.02)],
            "benign-avoidance": [
                *(("AD", "less", 0.0), ("PD", "greater", 0.02), ("SFR_rel", "less", -0.02), ("delta", "less", 0.02))
            ],
            "shared-shortcut": [("delta", "greater", 0.1), ("SFR_rel", "less", 0.02), ("SFR_rel", "greater", -0.02)],
            "benign-transfer": [
                *(("AD", "greater", -1.0), ("PD", "greater", 0.0), ("SFR_rel", "less", 0.02), ("delta", "less", 0.02))
            ],
        }[self.pattern(method, classes)]
        found = self.paired_values(method)
        tested = [
            one_sided(found[facet], side, bound, float(self.step(method)) / 2 if facet == "AD" else 0.0)
            for facet, side, bound in conditions
        ]
        return None if not tested or None in tested else max(tested)

    def p_holm(self, classes=None):
        """By the definition: rank the p of all methods, multiply by how many are left, never below an earlier one."""
        methods = list(dict.fromkeys(name for name, _ in self.runs if name != self.baseline))
        own = {method: self.p(method, classes) for method in methods}
        counted = {method: 1.0 if p is None else p for method, p in own.items()}
        corrected = {}
        for method in methods:
            smaller = [p for p in counted.values() if p <= counted[method]]
            corrected[method] = min(
                1.0, max((len(methods) - sum(other < p for other in counted.values())) * p for p in smaller)
            )
        return {method: None if own[method] is None else corrected[method] for method in methods}

    def doubtful(self, method, classes=None):
        """Whether the comparison cannot carry a certain pattern, however small its p is."""
        if self.copied(method) or self.copied(self.baseline):
            return True
        pattern, found = self.pattern(method, classes), self.paired_values(method)
        if pattern not in ("red-flag", "benign-avoidance", "shared-shortcut", "benign-transfer"):
            return False
        if max(fmean(found["SC_mask"]), fmean(found["SC_mask_S"])) <= self.floor(classes) + 1e-9:
            return True
        never = {own["censored"] for own in self.all_facts(method)}
        if pattern == "benign-transfer":
            return self.baseline in never or self.room(method) <= 1
        return pattern != "shared-shortcut" and method in never

    def copied(self, method):
        """Whether two runs that change at all have the same T2 curves after the start."""
        seen = []
        for run in self.runs:
            curves = {
                key[3]: [(e, acc) for e, acc in sorted(points.items()) if e > 0]
                for key, points in self.curves.items()
                if key[:3] == (*run, "T2")
            }
            if run[0] == method and any(len({acc for _, acc in curve}) > 1 for curve in curves.values()):
                seen.append(curves)
        return any(one == other for one, other in itertools.combinations(seen, 2))

    def room(self, method):
        """By how many epochs a model could be sooner than the baseline: its first look is at the first epoch."""
        rooms = []
        for name, seed in self.runs:
            if name == method and self.facts(name, seed)["AD"] is not None:
                looks = [e for e in self.points(self.baseline, seed, "T2", PATCH) if e > 0]
                rooms.append(self.time(self.baseline, seed) - min(looks))
        return fmean(map(float, rooms)) - 1e-9


def one_sided(values, side, bound, resolution=0.0):
    """A t test by scipy; where the grid is coarser than the spread, its t with the error that the grid leaves."""
    n = len(values)
    if n < 2:
        return None
    ahead = fmean(values) - bound if side == "greater" else bound - fmean(values)
    error = stdev(values) / n**0.5
    coarse = resolution / stats.t.ppf(0.975, n - 1)
    if error > max(coarse, 1e-12):
        return float(stats.ttest_1samp(values, bound, alternative=side).pvalue)
    if coarse > 0:
        return float(stats.t.sf(ahead / coarse, n - 1))
    return 0.0 if ahead > 1e-12 else 1.0


def minus(a, b):
    return None if a is None or b is None else a - b
