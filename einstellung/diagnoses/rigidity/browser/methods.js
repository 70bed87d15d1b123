"use strict";
// One method's runs beside the baseline's of the same seeds: its facets, what they decide, and the card's record of it.

const [ACCURACY, DIFFERENCE, TWICE] = [[0, 1], [-1, 1], [-2, 2]]; // what accuracies and their differences can be
const SHARE_LOST = [-Infinity, 1]; // below 0 where covering the cue helps
const BOUNDS = { AD: undefined, SFR_rel: TWICE, SFR_rel_within: TWICE, PD_specific: TWICE };
const SHOWN = ["SC_patch", "SC_mask", "NSC", "T1", "T1_after_T1"];

/** Every facet and accuracy over the seeds. A delay is as coarse as the coarser of the two curves it is read from. */
function facetsOf(scores, partners) {
  const step = Math.max(0, ...[...scores.map((score) => score.measured), ...partners].map((one) => one.run.step));
  const over = (part, name, bounds) => facet(scores.map((score) => score.measured[part][name]), bounds);
  return {
    ...fromNames(FACETS, (name) => {
      const bounds = name in BOUNDS ? BOUNDS[name] : DIFFERENCE;
      return facet(scores.map((score) => score[name]), bounds, name === "AD" ? step / 2 : 0);
    }),
    ...fromNames([...AT_CHECKPOINT, "T1", "T1_after_T1"], (name) => over("accuracies", name, ACCURACY)),
    SC_patch_within: over("within", "SC_patch", ACCURACY),
    SC_mask_within: over("within", "SC_mask", ACCURACY),
    NSC_within: over("within", "NSC", ACCURACY),
    delta: over("accuracies", "delta", DIFFERENCE),
    delta_within: over("within", "delta", DIFFERENCE),
    share_lost: over("accuracies", "share_lost", SHARE_LOST),
  };
}

/** The facets as the verdict uses them: deltas and final accuracies of both models on the seeds of SFR_rel. */
function decidingFacets(scores, reference, facets) {
  const pairs = scores.filter((score) => score.SFR_rel !== null);
  const own = (name) => pairs.map((score) => score.measured.accuracies[name]);
  const base = (name) => pairs.map((score) => reference.get(score.measured.seed).accuracies[name]);
  const fewer = (name, values) =>
    values.length > 0 && values.length < facets[name].summary.n ? facet(values, DIFFERENCE) : facets[name];
  const compared = scores.filter((score) => score.AD !== null).map((score) => reference.get(score.measured.seed));
  return {
    ...facets,
    AD_room: facet(compared.map((one) => minus(one.E, one.first))),
    NSC_lowest: facets.NSC,
    delta: fewer("delta", own("delta")),
    delta_S: fewer("delta_S", base("delta")),
    SC_patch: facet(own("SC_patch"), ACCURACY),
    SC_patch_S: facet(base("SC_patch"), ACCURACY),
    SC_mask: facet(own("SC_mask"), ACCURACY),
    SC_mask_S: facet(base("SC_mask"), ACCURACY),
  };
}

/** Whether one run stands under two seeds. */
function hasCopies(own) {
  const moving = own.map(({ run }) => run).filter((run) => run.moves);
  return new Set(moving.map((run) => run.twin)).size < moving.length;
}

/** Pair a method's runs with the baseline's; `methods` holds every method's runs by seed. */
function assess(method, methods, baseline, settings, floor) {
  const own = [...methods.get(method).values()];
  const isBaseline = method === baseline;
  const reference = baseline === null || isBaseline ? new Map() : methods.get(baseline);
  const others = [...methods].filter(([name]) => name !== method).map(([, runs]) => runs);
  const hasPartner = (run) => others.some((runs) => runs.has(run.seed));
  const scores = own.map((run) => (isBaseline ? unpaired(run, hasPartner(run)) : pair(run, reference.get(run.seed))));
  const facets = facetsOf(scores, own.map((run) => reference.get(run.seed)).filter(Boolean));
  const paired = scores.filter((score) => score.paired).length;
  const found = { method, own, reference, scores, facets, paired };
  if (isBaseline) {
    const none = { decision: null, flag: null, flagDoubts: [], p: null, flagP: null, unlearned: false };
    return { ...found, ...none, deciding: facets, saturated: atFloor(floor, facets.SC_mask) };
  }
  const deciding = decidingFacets(scores, reference, facets);
  const decision = decide(deciding, settings.margins, floor, paired);
  const flag = highRigidity(deciding, settings.margins, floor);
  const copies = hasCopies(own) || hasCopies([...reference.values()]);
  const sides = scores.map((score) => score.censored[0]);
  const never = new Set([[method, "method"], [baseline, "baseline"]].flatMap(([name, side]) => (sides.includes(name) ? [side] : [])));
  return {
    ...found,
    deciding,
    decision: { ...decision, doubts: doubts(decision.conditions, deciding, floor, never, copies) },
    flag,
    flagDoubts: doubts(flag || [], deciding, floor, never, copies),
    p: decision.p ?? 1, // a pattern that was not found or not tested counts with 1
    flagP: (flag && largestP(flag)) ?? 1,
    saturated: bothAtFloor(deciding, floor, "SC_mask"),
    unlearned: bothAtFloor(deciding, floor, "SC_patch"),
  };
}

const OPTIONAL = [
  ...["delta_within", "SFR_rel_within", "PD_NSC", "PD_specific", "share_lost"],
  ...["SC_patch_within", "SC_mask_within", "NSC_within"],
];

/** Which of the optional facets are undefined, and why. */
function whyUndefined({ facets, decision, paired }, baseline) {
  const isMissing = (name) => facets[name].summary.mean === null;
  const reasons = fromNames(OPTIONAL.filter(isMissing), (name) => say(`why ${name}`));
  if (isMissing("PD")) reasons.PD_specific = say("why PD");
  if (decision !== null && paired) return reasons;
  const alone = baseline === null ? "why: no baseline" : "why: no seed";
  const why = say(decision === null ? "why: baseline" : alone, { baseline });
  return { ...reasons, ...fromNames(["SFR_rel_within", "PD_NSC", "PD_specific"], () => why) };
}

/** The usual metrics of continual learning; `own` and `reference`: accuracies after both phases, by seed. */
function continual(own, reference) {
  const values = Array.from(own, ([seed, { R: [[first, before], [kept, learned]] }]) => {
    const base = reference.get(seed) || null;
    return {
      average_accuracy: kept === null || learned === null ? null : (kept + learned) / 2,
      BWT: minus(kept, first),
      FWT: base && minus(before, base.before_T2),
      forgetting: minus(first, kept),
      intransigence: base && minus(base.R[1][1], learned),
    };
  });
  const names = ["average_accuracy", "BWT", "FWT", "forgetting", "intransigence"];
  return fromNames(names, (name) => summarise(values.map((one) => one[name])));
}

function phasesBySeed(runs, part) {
  return new Map([...runs].filter(part).map((run) => [run.seed, part(run)]));
}

function taskIncremental(own) {
  const tasks = own.filter((run) => run.task).map((run) => run.task.accuracies);
  return tasks.length ? fromNames(SHOWN, (name) => summarise(tasks.map((one) => one[name]), ACCURACY)) : null;
}

function groupsOf(own) {
  const groups = own.map((run) => new Map(Object.entries(run.groups)));
  const names = new Set(groups.flatMap((one) => [...one.keys()]));
  return fromNames(names, (name) => summarise(groups.map((one) => one.get(name) ?? null), ACCURACY));
}

/** The seeds on which a threshold was not reached, and by whom. */
function censoredAt(scores, place) {
  const censored = scores.filter((score) => score.censored[place] !== null);
  return new Map(censored.map((score) => [score.measured.seed, score.censored[place]]));
}

/** The card's record of a method; `pHolm` and `flagPHolm` are corrected for the number of methods. */
function methodRecord(found, baseline, settings, floor, pHolm, flagPHolm) {
  const { method, own, reference, scores, facets, deciding, decision, flag, paired, saturated, unlearned } = found;
  const { tau, margins } = settings;
  const censored = censoredAt(scores, 0);
  const delays = settings.tau_grid.map((threshold, place) => {
    const summary = moments(scores.map((score) => score.delays[place + 1]));
    return { tau: threshold, delay: { ...summary, censored: Object.fromEntries(censoredAt(scores, place + 1)) } };
  });
  let certainty = decision && certaintyOf(decision.conditions, decision.fewest, pHolm, decision.doubts);
  if (certainty === "holds" && decision.pattern === "ambiguous") certainty = "leans";
  const budgets = own.map((run) => run.budget).filter((budget) => budget !== null);
  const of = decision && {
    ...{ method, paired, censored, delays, tau, margins, floor, decision, certainty, pHolm, saturated, unlearned },
    baseline: baseline ?? DEFAULT_BASELINE,
    baselinePresent: baseline !== null,
    seeds: own.map((run) => run.seed),
    facets: fromNames(Object.keys(deciding), (name) => deciding[name].summary),
    budget: budgets.length ? Math.min(...budgets) : null,
  };
  const reasons = whyUndefined(found, baseline);
  const { AD, ...others } = facets;
  const fewer = (name) => (deciding[name] === facets[name] ? null : deciding[name].summary);
  const isSet = flag && allMet(flag);
  const flagSeeds = isSet && Math.min(...flag.map((one) => deciding[one.facet].summary.n));
  const tasks = (runs) => phasesBySeed(runs, (run) => run.task && run.task.phases);
  const phases = (runs) => phasesBySeed(runs, (run) => run.phases);
  return {
    n_seeds: own.length,
    AD: { ...AD.summary, censored: Object.fromEntries(censored) },
    ...fromNames(Object.keys(others), (name) => (name in reasons ? null : others[name].summary)),
    groups: groupsOf(own),
    why_undefined: reasons,
    delta_paired: fewer("delta"),
    delta_S_paired: fewer("delta_S"),
    task_incremental: taskIncremental(own),
    AD_tau: Object.fromEntries(delays.map((one) => [tauName(one.tau), one.delay])),
    pattern: decision && decision.pattern,
    certainty,
    p: decision && decision.p,
    p_holm: decision && decision.p !== null ? pHolm : null,
    saturated,
    unlearned,
    high_rigidity: isSet,
    high_rigidity_certainty: isSet ? certaintyOf(flag, flagSeeds, flagPHolm, found.flagDoubts) : null,
    verdict: of && verdict(of),
    error_rate: null,
    conditions: decision ? decision.conditions : [],
    next_probe: of && nextProbe(of),
    tests: fromNames(TRIPLET, (name) => pairedTest(facets[name].values)),
    survival: survival(own.filter((run) => run.budget !== null), reference, AD.resolution),
    continual: continual(phases(own), phases(reference.values())),
    continual_task: tasks(own).size ? continual(tasks(own), tasks(reference.values())) : null,
    per_seed: Object.fromEntries(scores.map((score) => [score.measured.seed, seedRecord(score)])),
  };
}
