"""The definitions once more, read straight from their text and computed in another way.

Exact fractions instead of floats with a tolerance, dictionaries instead of arrays, one value at a time. Slow on
purpose: it is what the product is compared with.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

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

    def pattern(self, method):
        ad, pd_, sfr = (self.mean(method, facet)[0] for facet in ("AD", "PD", "SFR_rel"))
        facts = [self.facts(*run) for run in self.runs if run[0] == method]
        pairs = [own for own in facts if own["SFR_rel"] is not None]
        delta, delta_s = (sum(own[name] for own in pairs) / max(len(pairs), 1) for name in ("delta", "delta_S"))
        epoch, margin = Fraction(1), Fraction("0.02")
        if ad is None or pd_ is None or sfr is None:
            return "ambiguous"
        if delta_s <= 0:
            return "cue-harmful"
        if ad <= -epoch and pd_ <= 0 and sfr >= margin:
            return "red-flag"
        if ad < 0 and pd_ >= margin and sfr <= -margin:
            return "benign-avoidance"
        if delta >= Fraction("0.1") and abs(sfr) < margin:
            return "shared-shortcut"
        if ad > -epoch and pd_ >= 0 and sfr < margin:
            return "benign-transfer"
        return "ambiguous"


def minus(a, b):
    return None if a is None or b is None else a - b
