"""The sentences of the rigidity index, written once: Python and the browser's scripts choose among them and fill them in."""

from __future__ import annotations

from einstellung.timeline import NSC, SC_MASK, SC_PATCH, T1_ALL, VAL

_EQUAL = "accuracies equal at every epoch in"
_WITHIN = f"acc_within of {SC_PATCH} and {SC_MASK} was not measured"

WORDS = {
    # verdicts: what the facets show
    "red-flag": "Red flag, shortcut-induced rigidity: {method} reaches {tau} sooner than {baseline} ({AD}), ends no worse ({PD}) "
    "and leans more on the cue ({SFR_rel}).",
    "benign-avoidance": "Benign avoidance, the cue distracts the continual model: {method} reaches {tau} sooner than {baseline} "
    "({AD}), ends worse ({PD}), leans less on the cue ({SFR_rel}) and hardly at all ({delta}); {NSC_lowest}.",
    "shared-shortcut": "Shared shortcut: {method} leans on the cue ({delta}) as {baseline} does ({SFR_rel}); the history adds "
    "nothing to it.",
    "benign-transfer": "Benign transfer: {method} reaches {tau} not clearly sooner than {baseline} ({AD}), ends no better "
    "({PD}), leans no more on the cue ({SFR_rel}) and hardly at all ({delta}); {NSC_lowest}.",
    "cue-harmful": "The cue does not help {baseline} ({delta_S} <= 0), so SFR_rel is relative harm: {method} is {hurt} "
    "{baseline} ({SFR_rel}) and {moved} it ({CSR_rel}).",
    "less hurt": "less hurt by it than",
    "more hurt": "more hurt by it than",
    "hurt as much": "hurt by it as much as",
    "more sensitive": "more sensitive to the cue than",
    "less sensitive": "less sensitive to the cue than",
    "as sensitive": "as sensitive to the cue as",
    "saturated": "Saturated: with the cue covered, neither {method} ({own}) nor {baseline} ({other}) is above the floor "
    "({floor}). The cue decides alone in both, so SFR_rel is -PD by algebra and the relative index cannot tell (AD, PD and "
    "SFR_rel: {triplet}). {within}",
    "saturated within": "With the choice among the shortcut classes only, {SFR_rel_within}.",
    "saturated without": "Measure acc_within to compare the models on what is left.",
    "NSC learned": "NSC accuracy is above chance in every seed (lowest {value} > {bound})",
    # verdicts: why nothing was decided
    "no baseline": "Ambiguous: there is no baseline {baseline} to compare {method} with.",
    "no common seed": "Ambiguous: {method} and {baseline} have no seed in common.",
    "unlearned": "Ambiguous: neither {method} nor {baseline} has learned the shortcut classes ({own} and {other} even with the "
    "cue; the floor is {floor}): no facet means anything yet.",
    "undefined": "Ambiguous: {reasons}.",
    "AD censored": "AD is undefined ({censoring})",
    "facet undefined": "{facet} is undefined",
    "unnamed": "Ambiguous: {method} reaches {tau} {speed} {baseline} ({AD}), {end} ({PD}) and {reliance} ({SFR_rel}) (margins "
    "{margins}); none of the named patterns is that combination.",
    "sooner": "sooner than",
    "later": "later than",
    "as soon": "within {epochs} of",
    "higher": "ends higher",
    "lower": "ends lower",
    "as high": "ends as high",
    "leans less": "leans less on the cue",
    "leans more": "leans more on the cue",
    "leans as much": "leans on it as much",
    "censored": "{who} reached {tau} on {seeds}",
    # verdicts: reliance, what was withheld, certainty
    "reliance": "Absolute reliance on the cue: {delta}{beside}.",
    "beside": ", beside {delta_S} of {baseline}",
    "withheld": "Not called {pattern}: {reasons}.",
    "withheld: delta": "it leans on the cue itself ({delta} > {bound})",
    "withheld: NSC": f"{NSC} was not measured, so it cannot be told whether the other classes were learned",
    "withheld: some NSC": f"{NSC} was not measured in every seed, so it cannot be told whether the other classes were learned",
    "withheld: low NSC": "the other classes were not learned in every seed (lowest NSC accuracy {value}, chance {bound})",
    "near floor": "With the cue covered next to nothing is left in either ({own} and {other}, floor {floor}), so SFR_rel hardly "
    "says more than -PD; more seeds would tell whether this is saturated.",
    "seeds left out": "AD leaves seeds out: {censoring}.",
    "too few": "Too few seeds to tell how sure that is (n = {n}, {needed} are needed).",
    "p": "p = {p} after Holm's correction",
    "conclusive": "Conclusive: {p}, and every 95 % interval is on its side of the bound.",
    "inconclusive": "Not conclusive: {why}.",
    "crossing": "the 95 % interval of {facets} crosses its bound",
    "resolution": "AD {equal}: it is judged by its resolution, ±{half} epochs (half an evaluation step).",
    "equal in all": "is equal in all seeds",
    "hardly differs": "hardly differs between seeds",
    "masked of": "masked accuracy of {baseline}",
    "floor unknown": "{level}, because the number of classes is not known (--classes K sets it)",
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
    "next: more seeds": "run more seeds: the 95 % interval of {facets} is wide enough for another verdict",
    "next: placement": "counterfactual cue placement: put the cue on NSC images and at other places, and see whether it pulls",
    "next: CKA": "CKA between the T1 and T2 models: do the features that ignore the cue come from T1?",
    "next: calibration": "calibration (ECE) under masking: does confidence follow the cue where accuracy does not?",
    # why a facet is undefined, by its name
    "why delta_within": _WITHIN,
    "why SFR_rel_within": _WITHIN,
    "why PD_NSC": f"{NSC} was not measured",
    "why PD_specific": f"{NSC} was not measured",
    "why share_lost": f"{SC_PATCH} and {SC_MASK} were not measured, or no image with the cue is right",
    "why SC_patch_within": f"acc_within of {SC_PATCH} was not measured",
    "why SC_mask_within": f"acc_within of {SC_MASK} was not measured",
    "why NSC_within": f"acc_within of {NSC} was not measured",
    "why PD": f"{SC_PATCH} was not measured",
    "why: baseline": "the baseline is what the others are compared with",
    "why: no baseline": "no baseline in the timeline",
    "why: no seed": "no seed in common with {baseline}",
    # checks: their names, and what they found
    "check baseline": "the baseline never saw T1",
    "check T1": "T1 was learned before T2",
    "check pairs": "patched and masked are measured alike",
    "check mask": "masking changes something",
    "check budget": "all runs share one T2 budget and epoch grid",
    "check twice": "no two runs are the same",
    "check splits": "split names are understood",
    "T1 rows": "T1 rows exist for {runs}",
    "T1 unmeasured": f"{T1_ALL} was not measured for {{baseline}}",
    "T1 highest": f"highest final {T1_ALL} accuracy of {{baseline}}: {{value}} (seed {{seed}}), at most {{most}}",
    "T1 fresh": "; no T1 phase recorded for {runs}",
    "T1 unknown": f"{T1_ALL} after T1 was not measured{{fresh}}",
    "T1 lowest": f"lowest {T1_ALL} accuracy after T1: {{value}} ({{run}})",
    "T1 above": ", above {least} needed (T1's number of classes is not known)",
    "T1 interval": ", at least {least} by its 95 % interval over {n} images",
    "T1 chance": "; above chance needed, {chance} among {classes} classes",
    "no pairs": f"no run has both {SC_PATCH} and {SC_MASK}",
    "pairs": "{runs} compared",
    "uncounted": "; number of images not recorded in {n}",
    "other epochs": "; other epochs in {runs}",
    "other images": "; other numbers of images in {runs}",
    "mask unjudged": "no run has two or more epochs of moving patched and masked curves",
    "mask copy": f"patched and masked {_EQUAL} {{runs}}, and so is every known loss",
    "mask open": f"patched and masked {_EQUAL} {{runs}}, no loss known in both: cannot be told apart from a mask that does "
    "nothing",
    "mask loss": f"{_EQUAL} {{runs}}, losses differ: the mask acts, the answers stay",
    "mask acc_task": f"{_EQUAL} {{runs}}, task accuracies differ: the mask acts",
    "mask acc": "patched and masked curves differ in {n} of {runs}",
    "no grid": f"no {SC_PATCH} curve in T2",
    "grid": "{epochs}, {points}: {runs}",
    "one grid": "{epochs}, measured at {points}, in {runs}",
    "only run": "the only run",
    "all runs": "all {n} runs",
    "few runs": "fewer than two runs in T2",
    "runs differ": "the T2 curves of all {n} runs differ",
    "equal runs": "equal T2 curves: {runs}",
    "split meant": "'{split}' (did you mean '{meant}'?)",
    "splits not used": "not used: {splits}",
    "splits known": "{known}{aside}",
    "splits aside": "; kept but not used: {splits}",
    # warnings
    "final last": f"the last epoch counts as final for every run, because {VAL} is missing for {{runs}}",
    "final needs": f"final 'best-val' needs the split {VAL} after epoch 0, which is missing for {{runs}}",
    "warn baseline": "no baseline '{baseline}' in the timeline: AD, PD and SFR_rel are undefined; train it on T2 or name another "
    "one (methods: {methods})",
    "warn alone": "the timeline holds the baseline '{baseline}' only: there is nothing to compare it with",
    "warn missing": "{method}: {what} is missing for {seeds}; what needs it is undefined",
    "no T2": "every T2 row",
    "no checkpoint": "a checkpoint with all splits measured at one epoch",
    "warn seed": "{seeds} of {method} has no {other} run: paired facets leave it out",
    "warn seeds": "{seeds} of {method} have no {other} run: paired facets leave them out",
    # the answer: the patterns
    "is red-flag": "faster than {baseline}, no worse with the cue present, and leaning on the cue more than {baseline}",
    "is saturated": "right with the cue only, and so is {baseline}: at this floor the relative index cannot tell",
    "is cue-harmful": "compared where the cue hurts {baseline} itself, so relative reliance reads as relative harm",
    "is shared-shortcut": "leaning on the cue just as {baseline} does, so the training history adds nothing",
    "is benign-avoidance": "faster than {baseline}, yet worse with the cue present and hardly leaning on it",
    "is benign-transfer": "hardly leaning on the cue, and not more than {baseline}",
    "is ambiguous": "not decided by these data",
    "answer holds": "{names} {verb} {words} ({pattern}).",
    "answer leans": "By the means {names} {verb} {words} ({pattern}), but that is not conclusive.",
    "answer too few seeds": "By the means alone {names} {verb} {words} ({pattern}): there are too few seeds to tell.",
    "answer none": "There is no continual learner in this timeline, so there is nothing to compare.",
    "answer no baseline": "There is no baseline in this timeline, so nothing can be said relative to a model trained from "
    "scratch.",
    "answer unlearned": "{among} has learned the shortcut classes, even with the cue: no facet means anything there yet.",
    "among all": "None of them",
    "among": "Neither {baseline} nor {methods}",
    # the answer: reliance
    "cue above": "Covering the cue costs accuracy in {deltas}.",
    "cue below": "Covering the cue helps in {deltas}.",
    "cue across": "Whether covering the cue costs accuracy is open in {deltas}: the interval holds 0.",
    "cue no interval": "From too few seeds for an interval, accuracy with the cue minus accuracy with it covered: {deltas}.",
    "cue unmeasured": "Absolute reliance on the cue was not measured: there are no accuracies with the cue covered.",
    "deltas": "{n} models, from {first} to {last}{among}",
    "deltas among": "; {baseline} is among them",
    "delta": "{method} (Δ {delta}{bounds})",
    "delta bounds": ", 95 % {interval}",
    # what the cue does besides
    "specific": "compared with {baseline}, {method} {what} ({numbers})",
    "specific numbers": "SC with the cue {own} against {other}, NSC {own_NSC} against {other_NSC}",
    "specific better": "does better on the cue's classes than on the others: the cue helps it beyond what any history would",
    "specific keeps": "keeps the cue's classes and loses the others: the cue tells it which task an image is from",
    "specific worse": "does worse on the cue's classes than on the others",
    "pull": "put on images of the other classes, the cue makes {method} call {with_cue} of them a shortcut class ({without} "
    "without it)",
    "pull cost": "put on images of the other classes, the cue costs {method} {points} points of accuracy there",
    "placement": "moved to the other side of the image, the cue is worth {moved} of its {delta} points to {method}",
    "placement only": "{method} uses the cue at its usual place only: moved, it is worth {moved} of its {delta} points",
    # how often a verdict is false
    "rate unknown": "How often such a verdict is false was measured from {least} seeds on, not for {seeds}.",
    "rate": "A certain {pattern} is false in {share} of null studies with {size} seeds (95 %: {low} to {high}; {control}).",
    "rate of red flags": "With {size} seeds a red flag is found with certainty in {power} of positive controls, and falsely in "
    "{share} of null studies.",
}


def say(key: str, **fields: object) -> str:
    """A sentence with its names and numbers.

    >>> say("masked of", baseline="scratch_t2")
    'masked accuracy of scratch_t2'
    """
    return WORDS[key].format(**fields)
