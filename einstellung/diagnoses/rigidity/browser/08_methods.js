"use strict";
// One method's runs beside the baseline's of the same seeds: its facets, what they decide, and the card's record of it.
((rigidity) => {
  const { minus, tauName } = rigidity.numbers;
  const { moments, summarise, pairedTest, survival } = rigidity.statistics;
  const { FACETS, pair, unpaired, seedRecord } = rigidity.runs;
  const { facet, atFloor, bothAtFloor, allMet, largestP, decide, certainty, highRigidity, flagCertainty } = rigidity.patterns;
  const { verdict, nextProbe } = rigidity.verdict;

  const [ACCURACY, DIFFERENCE, TWICE] = [[0, 1], [-1, 1], [-2, 2]]; // what accuracies and their differences can be
  const BOUNDS = { AD: null, SFR_rel: TWICE, SFR_rel_within: TWICE, PD_specific: TWICE };
  const SHOWN = ["SC_patch", "SC_mask", "NSC", "T1", "T1_after_T1"];
  const EXTRA = ["NSC_patched", "SC_clean", "SC_elsewhere"];

  /** Every facet and accuracy over the seeds. A delay is as coarse as the coarser of the two curves it is read from. */
  function facetsOf(scores, partners) {
    const step = Math.max(0, ...[...scores.map((score) => score.measured), ...partners].map((one) => one.run.step));
    const facets = {};
    for (const name of FACETS) {
      const bounds = name in BOUNDS ? BOUNDS[name] : DIFFERENCE;
      facets[name] = facet(scores.map((score) => score[name]), bounds, name === "AD" ? step / 2 : 0);
    }
    const over = (part, name, bounds) => facet(scores.map((score) => score.measured[part][name]), bounds);
    for (const name of [...SHOWN, ...EXTRA]) facets[name] = over("accuracies", name, ACCURACY);
    for (const name of ["SC_patch", "SC_mask", "NSC"]) facets[`${name}_within`] = over("within", name, ACCURACY);
    facets.delta = over("accuracies", "delta", DIFFERENCE);
    facets.delta_within = over("within", "delta", DIFFERENCE);
    facets.share_lost = over("accuracies", "share_lost", null);
    return facets;
  }

  /** What the verdict uses in their place: deltas and final accuracies of both models, on the seeds of SFR_rel. */
  function decidingFacets(scores, reference, facets) {
    const pairs = scores.filter((score) => score.SFR_rel !== null);
    const deciding = { ...facets, NSC_lowest: facets.NSC };
    const deltas = {
      delta: pairs.map((score) => score.measured.accuracies.delta),
      delta_S: pairs.map((score) => score.delta_S),
    };
    for (const [name, values] of Object.entries(deltas)) {
      if (values.length > 0 && values.length < facets[name].summary.n) deciding[name] = facet(values, DIFFERENCE);
    }
    for (const name of ["SC_patch", "SC_mask"]) {
      const base = (score) => reference.get(score.measured.seed);
      deciding[name] = facet(pairs.map((score) => score.measured.accuracies[name]), ACCURACY);
      deciding[`${name}_S`] = facet(pairs.map((score) => base(score).accuracies[name]), ACCURACY);
    }
    return deciding;
  }

  /** Pair a method's runs with the baseline's; `methods` holds every method's runs by seed. */
  function assess(method, methods, baseline, settings, floor) {
    const own = [...methods.get(method).values()];
    const isBaseline = method === baseline;
    const reference = baseline === null || isBaseline ? new Map() : methods.get(baseline);
    let scores;
    if (isBaseline) {
      const others = [...methods].filter(([name]) => name !== baseline).map(([, runs]) => runs);
      scores = own.map((run) => unpaired(run, others.some((runs) => runs.has(run.seed))));
    } else {
      scores = own.map((run) => pair(run, reference.get(run.seed)));
    }
    const partners = own.map((run) => reference.get(run.seed)).filter(Boolean);
    const facets = facetsOf(scores, partners);
    const paired = scores.filter((score) => score.paired).length;
    const found = { method, own, reference, scores, facets, paired, decision: null, p: null, flagP: null };
    if (isBaseline) {
      return { ...found, deciding: facets, saturated: atFloor(floor, facets.SC_mask.summary), unlearned: false, flag: null };
    }
    const deciding = decidingFacets(scores, reference, facets);
    const decision = decide(deciding, settings.margins, floor, paired);
    const flag = highRigidity(deciding, settings.margins, floor);
    return {
      ...found,
      deciding,
      decision,
      flag,
      p: decision.p ?? 1, // a pattern that was not found or not tested counts with 1
      flagP: (flag && largestP(flag)) ?? 1,
      saturated: bothAtFloor(deciding, floor, "SC_mask"),
      unlearned: bothAtFloor(deciding, floor, "SC_patch"),
    };
  }

  /** Which of the optional facets are undefined, and why. */
  function whyUndefined({ facets, decision, paired }, baseline) {
    const [patched, masked, other] = ["T2_shortcut_normal", "T2_shortcut_masked", "T2_nonshortcut_normal"];
    const needs = {
      delta_within: `acc_within of ${patched} and ${masked} was not measured`,
      SFR_rel_within: `acc_within of ${patched} and ${masked} was not measured`,
      PD_NSC: `${other} was not measured`,
      PD_specific: `${other} was not measured`,
      share_lost: `${patched} and ${masked} were not measured, or no image with the cue is right`,
      SC_patch_within: `acc_within of ${patched} was not measured`,
      SC_mask_within: `acc_within of ${masked} was not measured`,
      NSC_within: `acc_within of ${other} was not measured`,
    };
    const missing = (name) => facets[name].summary.mean === null;
    const reasons = Object.fromEntries(Object.entries(needs).filter(([name]) => missing(name)));
    if (missing("PD")) reasons.PD_specific = `${patched} was not measured`;
    let why = null;
    if (decision === null) why = "the baseline is what the others are compared with";
    else if (!paired) why = baseline === null ? "no baseline in the timeline" : `no seed in common with ${baseline}`;
    if (why) for (const name of ["SFR_rel_within", "PD_NSC", "PD_specific"]) reasons[name] = why;
    return reasons;
  }

  /** The seeds on which a threshold was not reached, and by whom. */
  function censoredBy(scores, side) {
    return new Map(scores.filter((score) => side(score) !== null).map((score) => [score.measured.seed, side(score)]));
  }

  /** The usual metrics of continual learning; `own` and `reference`: accuracies after both phases, by seed. */
  function continual(own, reference) {
    const values = { average_accuracy: [], BWT: [], FWT: [], forgetting: [], intransigence: [] };
    for (const [seed, { R }] of own) {
      const base = reference.get(seed) || null;
      const [[first, before], [kept, learned]] = R;
      values.average_accuracy.push(kept === null || learned === null ? null : (kept + learned) / 2);
      values.BWT.push(minus(kept, first));
      values.FWT.push(base && minus(before, base.before_T2));
      values.forgetting.push(minus(first, kept));
      values.intransigence.push(base && minus(base.R[1][1], learned));
    }
    return Object.fromEntries(Object.entries(values).map(([name, list]) => [name, summarise(list)]));
  }

  const phasesBySeed = (runs, part) => new Map(runs.filter(part).map((run) => [run.seed, part(run)]));

  function taskIncremental(own) {
    const tasks = own.filter((run) => run.task).map((run) => run.task.accuracies);
    if (!tasks.length) return null;
    return Object.fromEntries(SHOWN.map((name) => [name, summarise(tasks.map((one) => one[name]), ACCURACY)]));
  }

  function groupsOf(own) {
    const groups = own.map((run) => new Map(Object.entries(run.groups)));
    const names = new Set(groups.flatMap((one) => [...one.keys()]));
    const values = (name) => groups.map((one) => (one.has(name) ? one.get(name) : null));
    return Object.fromEntries(Array.from(names, (name) => [name, summarise(values(name), ACCURACY)]));
  }

  /** The card's record of a method; `pHolm` and `flagPHolm` are corrected for the number of methods. */
  function record(found, baseline, settings, floor, pHolm, flagPHolm) {
    const { method, own, reference, scores, facets, deciding, decision, flag } = found;
    const censored = censoredBy(scores, (score) => score.censored);
    const delays = settings.tau_grid.map((tau, place) => {
      const sides = censoredBy(scores, (score) => score.gridCensored[place]);
      const delay = { ...moments(scores.map((score) => score.gridAD[place])), censored: Object.fromEntries(sides) };
      return { tau, delay };
    });
    const sure = decision && certainty(decision, pHolm);
    const budgets = own.map((run) => run.budget).filter((budget) => budget !== null);
    const of = decision && {
      method,
      baseline: baseline ?? rigidity.settings.DEFAULT_BASELINE,
      baselinePresent: baseline !== null,
      seeds: own.map((run) => run.seed),
      paired: found.paired,
      facets: Object.fromEntries(Object.entries(deciding).map(([name, one]) => [name, one.summary])),
      censored,
      delays,
      tau: settings.tau,
      budget: budgets.length ? Math.min(...budgets) : null,
      margins: settings.margins,
      floor,
      decision,
      certainty: sure,
      pHolm,
      saturated: found.saturated,
      unlearned: found.unlearned,
    };
    const reasons = whyUndefined(found, baseline);
    const { AD, ...others } = facets;
    const shown = Object.entries(others).map(([name, one]) => [name, name in reasons ? null : one.summary]);
    const fewer = (name) => (deciding[name] === facets[name] ? null : deciding[name].summary);
    const tasks = phasesBySeed(own, (run) => run.task && run.task.phases);
    const referenceRuns = [...reference.values()];
    return {
      n_seeds: own.length,
      AD: { ...AD.summary, censored: Object.fromEntries(censored) },
      ...Object.fromEntries(shown),
      groups: groupsOf(own),
      why_undefined: reasons,
      delta_paired: fewer("delta"),
      delta_S_paired: fewer("delta_S"),
      task_incremental: taskIncremental(own),
      AD_tau: Object.fromEntries(delays.map(({ tau, delay }) => [tauName(tau), delay])),
      pattern: decision && decision.pattern,
      certainty: sure,
      p: decision && decision.p,
      p_holm: decision && decision.p !== null ? pHolm : null,
      saturated: found.saturated,
      unlearned: found.unlearned,
      high_rigidity: flag && allMet(flag),
      high_rigidity_certainty: flagCertainty(flag, deciding, flagPHolm),
      verdict: of && verdict(of),
      error_rate: null,
      conditions: decision ? decision.conditions : [],
      next_probe: of && nextProbe(of),
      tests: Object.fromEntries(["PD", "SFR_rel", "AD"].map((name) => [name, pairedTest(facets[name].values)])),
      survival: survival(own.filter((run) => run.budget !== null), reference, AD.resolution),
      continual: continual(phasesBySeed(own, (run) => run.phases), phasesBySeed(referenceRuns, (run) => run.phases)),
      continual_task: tasks.size
        ? continual(tasks, phasesBySeed(referenceRuns, (run) => run.task && run.task.phases))
        : null,
      per_seed: Object.fromEntries(scores.map((score) => [score.measured.seed, seedRecord(score)])),
    };
  }

  rigidity.methods = { assess, record };
})((globalThis.einstellungRigidity = globalThis.einstellungRigidity || {}));
