"""The sentences of the rigidity index, written once: Python and the browser scripts pick from them and fill in the values."""

from __future__ import annotations

from einstellung.timeline import NSC, SC_MASK, SC_PATCH, T1_ALL, VAL

_EQUAL = "accuracies are identical at every epoch in"
_WITHIN = f"acc_within of {SC_PATCH} and {SC_MASK} was not measured"

WORDS = {
    # verdicts: the pattern
    "red-flag": "Red flag, shortcut-induced rigidity: {method} reaches {tau} sooner than {baseline} ({AD}), ends no worse "
    "({PD}) and relies more on the cue ({SFR_rel}).",
    "benign-avoidance": "Benign avoidance, the cue distracts the continual model: {method} reaches {tau} sooner than "
    "{baseline} ({AD}), ends worse ({PD}), relies less on the cue ({SFR_rel}) and gains little or nothing "
    "from it ({delta}); {NSC_lowest}.",
    "shared-shortcut": "Shared shortcut: {method} relies on the cue ({delta}) as much as {baseline} does ({SFR_rel}); the "
    "training history adds nothing.",
    "benign-transfer": "Benign transfer: {method} is not clearly faster to {tau} than {baseline} ({AD}), ends no better "
    "({PD}), relies no more on the cue ({SFR_rel}) and gains little or nothing from it ({delta}); {NSC_lowest}.",
    "cue-harmful": "The cue does not help {baseline} ({delta_S} <= 0), so SFR_rel measures relative harm: {method} is {hurt} "
    "{baseline} ({SFR_rel}) and {moved} it ({CSR_rel}).",
    "helped": "helped by the cue, unlike",
    "less hurt": "harmed less by the cue than",
    "more hurt": "harmed more by the cue than",
    "hurt as much": "harmed by the cue as much as",
    "more sensitive": "more sensitive to the cue than",
    "less sensitive": "less sensitive to the cue than",
    "as sensitive": "as sensitive to the cue as",
    "saturated": "Saturated: with the cue covered, neither {method} ({own}) nor {baseline} ({other}) is above the floor "
    "({floor}). Both depend on the cue alone, so SFR_rel equals -PD by construction and the relative index is "
    "uninformative ({triplet}). {within}",
    "saturated within": "Restricted to the shortcut classes, {SFR_rel_within}.",
    "saturated without": "Measure acc_within to compare the models without the cue.",
    "NSC learned": "NSC accuracy is above chance in every seed (lowest {value} > {bound})",
    # verdicts: why there is no pattern
    "no baseline": "Ambiguous: no baseline {baseline} to compare {method} with.",
    "no common seed": "Ambiguous: {method} and {baseline} have no seed in common.",
    "unlearned": "Ambiguous: neither {method} nor {baseline} has learned the shortcut classes, even with the cue (accuracies "
    "{own} and {other}, floor {floor}), so no facet is meaningful.",
    "undefined": "Ambiguous: {reasons}.",
    "AD censored": "AD is undefined ({censoring})",
    "facet undefined": "{facet} is undefined",
    "unnamed": "Ambiguous: {method} reaches {tau} {speed} {baseline} ({AD}), {end} ({PD}) and {reliance} ({SFR_rel}); "
    "margins {margins}. This combination matches no named pattern.",
    "sooner": "sooner than",
    "later": "later than",
    "as soon": "within {epochs} of",
    "higher": "ends higher",
    "lower": "ends lower",
    "as high": "ends equally high",
    "relies less": "relies less on the cue",
    "relies more": "relies more on the cue",
    "relies equally": "relies on the cue equally",
    "censored": "{who} reached {tau} on {seeds}",
    # verdicts: reliance, withheld patterns, certainty
    "reliance": "Absolute reliance on the cue: {delta}{beside}.",
    "beside": "; {baseline}: {delta_S}",
    "withheld": "Not called {pattern}: {reasons}.",
    "withheld: delta": "its absolute reliance on the cue is too high ({delta} > {bound})",
    "withheld: NSC": f"{NSC} was not measured, so we cannot check that the other classes were learned",
    "withheld: some NSC": f"{NSC} was not measured in every seed, so we cannot check that the other classes were learned",
    "withheld: low NSC": "not every seed learned the other classes (lowest NSC accuracy {value}, chance {bound})",
    "near floor": "Without the cue both are near chance ({own} and {other}, floor {floor}), so read absolute reliance, not "
    "SFR_rel; more seeds would show whether this is saturation.",
    "seeds left out": "AD excludes some seeds: {censoring}.",
    "too few": "Too few seeds to judge certainty (n = {n}; at least {needed} needed).",
    "p": "p = {p} after Holm's correction",
    "conclusive": "Conclusive: {p}, and no 95 % interval crosses its threshold.",
    "inconclusive": "Not conclusive: {why}.",
    "crossing": "the 95 % interval of {facets} crosses its threshold",
    "crossings": "the 95 % intervals of {facets} cross their thresholds",
    "tied": "{facets} equals its threshold in every seed, as at a floor or ceiling",
    "doubt: copies": "identical runs count as different seeds",
    "doubt: near floor": "both masked accuracies are at the floor, so saturation is not ruled out",
    "doubt: censored": "AD leaves out seeds that contradict it",
    "doubt: no room": "{baseline} reaches {tau} so early that AD cannot be lower",
    "resolution": "AD {equal}, so its interval is the measurement resolution, ±{half} epochs (half an evaluation step).",
    "equal in all": "is the same in all seeds",
    "hardly differs": "barely varies between seeds",
    "masked of": "masked accuracy of {baseline}",
    "floor unknown": "{level}, because the number of classes is unknown (set it with --classes K)",
    "floor of few": "{level} (chance is 1/{classes})",
    "floor": "{level}, {factor} times chance (1/{classes})",
    # what to run next
    "next: baseline": "train {baseline} on T2 with {seeds}: without it AD, PD and SFR_rel are undefined",
    "next: measure": "measure {split} for {method} and {baseline} at every epoch of T2",
    "next: longer": "train longer",
    "next: longer than": "train longer than {budget}",
    "next: out of reach": "{longer}, or lower tau: {tau} is out of reach",
    "next: lower tau": "lower tau to {tau}, where AD = {AD} on {n} of {paired} seeds, or {longer}",
    "next: seeds": "run {seeds} of {method} and {baseline}",
    "next: more seeds": "run more seeds: with 95 % intervals this wide ({facets}), the verdict could still change",
    "next: placement": "counterfactual cue placement: does the cue change predictions on NSC images or at other positions?",
    "next: CKA": "CKA between the T1 and T2 models: do the features that ignore the cue come from T1?",
    "next: calibration": "calibration (ECE) under masking: does confidence follow the cue where accuracy does not?",
    # why a facet is undefined, by its name
    "why delta_within": _WITHIN,
    "why SFR_rel_within": _WITHIN,
    "why PD_NSC": f"{NSC} was not measured",
    "why PD_specific": f"{NSC} was not measured",
    "why share_lost": f"{SC_PATCH} and {SC_MASK} were not measured, or no image with the cue was classified correctly",
    "why SC_patch_within": f"acc_within of {SC_PATCH} was not measured",
    "why SC_mask_within": f"acc_within of {SC_MASK} was not measured",
    "why NSC_within": f"acc_within of {NSC} was not measured",
    "why PD": f"{SC_PATCH} was not measured",
    "why: baseline": "this is the baseline",
    "why: no baseline": "no baseline in the timeline",
    "why: no seed": "no seed in common with {baseline}",
    # checks: names and findings
    "check baseline": "the baseline never saw T1",
    "check T1": "T1 was learned before T2",
    "check pairs": "patched and masked splits match",
    "check mask": "masking has an effect",
    "check budget": "all runs share the same T2 budget and evaluation epochs",
    "check twice": "no two runs are identical",
    "check splits": "split names are recognised",
    "T1 rows": "found T1 rows for {runs}",
    "T1 unmeasured": f"{T1_ALL} was not measured for {{baseline}}",
    "T1 highest": f"highest final {T1_ALL} accuracy of {{baseline}}: {{value}} (seed {{seed}}); limit {{most}}",
    "T1 fresh": "; no T1 phase recorded for {runs}",
    "T1 unknown": f"{T1_ALL} after T1 was not measured{{fresh}}",
    "T1 lowest": f"lowest {T1_ALL} accuracy after T1: {{value}} ({{run}})",
    "T1 above": "; must be above {least} (number of T1 classes unknown)",
    "T1 uncounted": ", no interval: number of images unknown",
    "T1 interval": ", 95 % lower bound {least} over {n} images",
    "T1 chance": "; must be above chance, {chance} for {classes} classes",
    "no pairs": f"no run has both {SC_PATCH} and {SC_MASK}",
    "pairs": "{runs} compared",
    "uncounted": "; image counts missing in {n}",
    "other epochs": "; epochs differ in {runs}",
    "other images": "; image counts differ in {runs}",
    "mask unjudged": "no run has two or more epochs in which the patched and masked curves change",
    "mask copy": f"patched and masked {_EQUAL} {{runs}}, and so are all recorded losses",
    "mask open": f"patched and masked {_EQUAL} {{runs}}, and losses were not recorded for both: indistinguishable from a "
    "mask that does nothing",
    "mask loss": f"{_EQUAL} {{runs}}, but losses differ: the mask works, the predictions do not change",
    "mask acc_task": f"{_EQUAL} {{runs}}, but task accuracies differ: the mask works",
    "mask acc": "patched and masked curves differ in {n} of {runs}",
    "no grid": f"no {SC_PATCH} curve in T2",
    "grid": "{epochs}, {points}: {runs}",
    "one grid": "{epochs}, measured at {points}, in {runs}",
    "only run": "the only run",
    "all runs": "all {n} runs",
    "few runs": "fewer than two runs in T2",
    "runs differ": "the T2 curves of all {n} runs differ",
    "equal runs": "identical T2 curves: {runs}",
    "split meant": "'{split}' (did you mean '{meant}'?)",
    "splits not used": "unrecognised: {splits}",
    "splits known": "{known}{aside}",
    "splits aside": "; ignored: {splits}",
    # warnings
    "final last": f"using the last epoch as final for every run, because {VAL} is missing for {{runs}}",
    "final needs": f"final 'best-val' needs the split {VAL} after epoch 0; it is missing for {{runs}}",
    "warn baseline": "no baseline '{baseline}' in the timeline: AD, PD and SFR_rel are undefined; train it on T2 or choose "
    "another (methods: {methods})",
    "warn alone": "the timeline contains only the baseline '{baseline}': nothing to compare",
    "warn missing": "{method}: {what} is missing for {seeds}; facets that need it are undefined",
    "no T2": "every T2 row",
    "no checkpoint": "a checkpoint with all splits measured at one epoch",
    "warn seed": "{seeds} of {method} has no matching {other} run and is excluded from paired facets",
    "warn seeds": "{seeds} of {method} have no matching {other} run and are excluded from paired facets",
    # the answer: patterns
    "is red-flag": "faster than {baseline}, no worse with the cue present, and more reliant on the cue",
    "is saturated": "at the floor without the cue, as is {baseline}, so the relative index is uninformative",
    "is cue-harmful": "compared with a baseline that the cue does not help, so relative reliance means relative harm",
    "is shared-shortcut": "as reliant on the cue as {baseline}, so the training history adds nothing",
    "is benign-avoidance": "faster than {baseline}, but worse with the cue present and barely reliant on it",
    "is benign-transfer": "barely reliant on the cue, and no more so than {baseline}",
    "is ambiguous": "undecided on these data",
    "answer holds": "{names} {verb} {words} ({pattern}).",
    "answer leans": "Not conclusive: on average, {names} {verb} {words} ({pattern}).",
    "answer too few seeds": "Too few seeds to tell: on average, {names} {verb} {words} ({pattern}).",
    "answer none": "This timeline has no continual learner, so there is nothing to compare.",
    "answer no baseline": "This timeline has no baseline, so nothing can be compared with a model trained from scratch.",
    "answer unlearned": "{among} has learned the shortcut classes, even with the cue, so no facet is meaningful.",
    "among all": "No model",
    "among": "Neither {baseline} nor {methods}",
    # the answer: reliance
    "cue above": "Covering the cue reduces accuracy for {deltas}.",
    "cue below": "Covering the cue improves accuracy for {deltas}.",
    "cue across": "No clear effect of covering the cue (the interval contains 0) for {deltas}.",
    "cue no interval": "Accuracy with the cue minus accuracy with it covered, from too few seeds for an interval: {deltas}.",
    "cue unmeasured": "Absolute reliance on the cue is unknown: accuracy with the cue covered was not measured.",
    "deltas": "{n} models, ranging from {first} to {last}{among}",
    "deltas among": ", including {baseline}",
    "delta": "{method} (Δ {delta}{bounds})",
    "delta bounds": ", 95 % {interval}",
    # other effects of the cue
    "specific": "compared with {baseline}, {method} {what} ({numbers})",
    "specific numbers": "SC with the cue: {own} against {other}; NSC: {own_NSC} against {other_NSC}",
    "specific better": "does better on the shortcut classes than on the others",
    "specific gains more": "gains more on the shortcut classes than on the others",
    "specific loses less": "loses less on the shortcut classes than on the others",
    "specific keeps": "retains the shortcut classes but loses the others",
    "specific keeps by the cue": "retains the shortcut classes but loses the others: the cue reveals which task an image "
    "comes from",
    "specific worse": "does worse on the shortcut classes than on the others",
    "specific gains less": "gains less on the shortcut classes than on the others",
    "specific loses more": "loses more on the shortcut classes than on the others",
    "pull": "with the cue added to images of other classes, {method} assigns {with_cue} of them to a shortcut class "
    "({without} without it)",
    "pull cost": "adding the cue to images of other classes costs {method} {points} points of accuracy on them",
    "placement": "on the other side of the image, the cue is worth {moved} of its {delta} points to {method}",
    "placement only": "{method} uses the cue only at its usual position: elsewhere, it is worth {moved} of its {delta} "
    "points",
    # error rates of verdicts
    "rate unknown": "Error rates were measured for {least} or more seeds, so none is available for {seeds}.",
    "rate": "False-positive rate of a conclusive {pattern} with {size} seeds: {share} of null studies (95 % {low} to {high}; "
    "{control}).",
    "rate of red flags": "With {size} seeds, a conclusive red flag is found in {power} of positive controls and, falsely, in "
    "{share} of null studies.",
}


def say(key: str, **fields: object) -> str:
    """Return a sentence with names and numbers filled in.

    >>> say("masked of", baseline="scratch_t2")
    'masked accuracy of scratch_t2'
    """
    return WORDS[key].format(**fields)
