"use strict";
// Writes a verdict: sentences chosen by the numbers, with the numbers and margins filled in. `of`: all data on a method.

/** A few sentences: the pattern, the absolute reliance, caveats and certainty. */
function verdict(of) {
  const { pattern, conditions } = of.decision;
  const fields = { method: of.method, baseline: of.baseline, tau: general(of.tau), floor: describeFloor(of.floor) };
  for (const name of [...TRIPLET, "CSR_rel", "delta", "delta_S", "SFR_rel_within"]) fields[name] = shown(of, name);
  const special = { "cue-harmful": cueHarmful, saturated, ambiguous }[pattern];
  const parts = special ? {} : Object.fromEntries(conditions.map((one) => [one.facet, compared(of, one)]));
  const opening = special ? special(of, fields) : say(pattern, { ...fields, ...parts });
  const sentences = [opening, reliance(of, fields), ...withheld(of, fields), nearFloor(of), ...certainty(of), resolution(of)];
  return sentences.filter(Boolean).join(" ");
}

function symbol(of, name) {
  if (name === "SC_mask_S") return say("masked of", of);
  return { delta: "Delta", delta_S: "Delta_S", SC_mask: "masked accuracy" }[name] || name;
}

function shown(of, name) {
  const { mean, ci95 } = of.facets[name];
  if (mean === null) return `${symbol(of, name)} undefined`;
  const signed = (value) => fixed(value, name === "AD" ? 1 : 3, "+");
  const text = `${symbol(of, name)} = ${signed(mean)}${name === "AD" ? " epochs" : ""}`;
  return ci95 ? `${text} [${ci95.map(signed).join(", ")}]` : text;
}

function compared(of, { facet: name, relation, bound, value }) {
  if (name === "NSC_lowest") return say("NSC learned", { value: fixed(value), bound: fixed(bound) });
  const against = relation === "|.| <" ? `, within +-${general(bound)}` : ` ${relation} ${general(bound)}`;
  return shown(of, name) + against;
}

function cueHarmful({ facets }, fields) {
  const side = (name, above, below, equal) => {
    if (holds(facets[name].mean, ">", 0)) return say(above);
    return say(holds(facets[name].mean, "<", 0) ? below : equal);
  };
  const hurt = holds(facets.delta.mean, ">", 0) ? say("helped") : side("SFR_rel", "less hurt", "more hurt", "hurt as much");
  const moved = side("CSR_rel", "more sensitive", "less sensitive", "as sensitive");
  return say("cue-harmful", { ...fields, hurt, moved });
}

function saturated({ facets }, fields) {
  const accuracy = ({ mean, ci95 }) => (ci95 ? `${fixed(mean)} [${ci95.map((end) => fixed(end)).join(", ")}]` : fixed(mean));
  return say("saturated", {
    ...fields,
    own: accuracy(facets.SC_mask),
    other: accuracy(facets.SC_mask_S),
    triplet: TRIPLET.map((name) => fields[name]).join(", "),
    within: say(facets.SFR_rel_within.mean === null ? "saturated without" : "saturated within", fields),
  });
}

function ambiguous(of, fields) {
  const { facets } = of;
  if (!of.baselinePresent) return say("no baseline", fields);
  if (of.paired === 0) return say("no common seed", fields);
  if (of.unlearned) {
    return say("unlearned", { ...fields, own: fixed(facets.SC_patch.mean), other: fixed(facets.SC_patch_S.mean) });
  }
  const reasons = TRIPLET.filter((name) => facets[name].mean === null).map((name) => {
    const censored = name === "AD" && of.censored.size;
    return say(censored ? "AD censored" : "facet undefined", { facet: name, censoring: censoring(of) });
  });
  return reasons.length ? say("undefined", { reasons: reasons.join(", ") }) : unnamed(of, fields);
}

/** The direction of each facet, given the margins: informative even without a named pattern. */
function unnamed({ facets, margins }, fields) {
  const side = (name, below, above, between) => {
    if (holds(facets[name].mean, "<=", -margins[name])) return say(below);
    return say(holds(facets[name].mean, ">=", margins[name]) ? above : between, { epochs: counted(margins.AD, "epoch") });
  };
  return say("unnamed", {
    ...fields,
    speed: side("AD", "sooner", "later", "as soon"),
    end: side("PD", "higher", "lower", "as high"),
    reliance: side("SFR_rel", "relies less", "relies more", "relies equally"),
    margins: TRIPLET.map((name) => `${name} ${general(margins[name])}`).join(", "),
  });
}

function censoring({ censored, tau }) {
  const groups = grouped(censored.keys(), (seed) => censored.get(seed));
  const who = (side) => (side === "both" ? "neither" : `${side} never`);
  const sentence = ([side, seeds]) => say("censored", { who: who(side), tau: general(tau), seeds: listedSeeds(seeds) });
  return Array.from(groups, sentence).join("; ");
}

function reliance({ facets }, fields) {
  if (facets.delta.mean === null) return "";
  return say("reliance", { ...fields, beside: facets.delta_S.mean === null ? "" : say("beside", fields) });
}

/** Why a benign name was not given where only the added conditions refuse it. */
function withheld(of, { delta }) {
  const reason = ({ facet: name, value, bound }) => {
    if (name === "delta") return say("withheld: delta", { delta, bound: general(bound) });
    if (value === null) return say(of.facets.NSC_lowest.n ? "withheld: some NSC" : "withheld: NSC");
    return say("withheld: low NSC", { value: fixed(value), bound: fixed(bound) });
  };
  return Object.entries(of.decision.withheld).map(([pattern, refused]) =>
    say("withheld", { pattern, reasons: refused.map(reason).join("; ") }),
  );
}

/** A warning where the masked means are at the floor but not the intervals: SFR_rel may equal -PD by construction. */
function nearFloor({ facets, floor, saturated: isSaturated, unlearned }) {
  const [own, other] = [facets.SC_mask.mean, facets.SC_mask_S.mean];
  if (own === null || other === null || isSaturated || unlearned || Math.max(own, other) > floor.level) return "";
  return say("near floor", { own: fixed(own), other: fixed(other), floor: fixed(floor.level) });
}

function certainty(of) {
  const { decision, facets, pHolm } = of;
  const counts = of.censored.size && facets.AD.n && decision.conditions.some((one) => one.facet === "AD");
  const leftOut = counts ? [say("seeds left out", { censoring: censoring(of) })] : [];
  if (of.certainty === "too few seeds") return [say("too few", { n: decision.fewest, needed: FEWEST_SEEDS }), ...leftOut];
  if (decision.pattern === "ambiguous") return leftOut;
  const p = pHolm === null ? "" : say("p", { p: general(pHolm, 2) });
  if (of.certainty === "holds") return [say("conclusive", { p }), ...leftOut];
  const unsure = decision.conditions.filter((one) => !one.sure).map((one) => symbol(of, one.facet));
  const crossing = unsure.length ? say(unsure.length > 1 ? "crossings" : "crossing", { facets: join(unsure) }) : "";
  const tied = decision.conditions.filter((one) => isTied(of, one)).map((one) => symbol(of, one.facet));
  const ties = tied.length ? say("tied", { facets: join(tied) }) : "";
  const doubted = decision.doubts.map((one) => say(`doubt: ${one}`, { baseline: of.baseline, tau: general(of.tau) }));
  return [say("inconclusive", { why: [crossing, ties, ...doubted, p].filter(Boolean).join("; ") }), ...leftOut];
}

/** Whether a facet equals its bound in every seed, as at a ceiling: no test can show on which side it lies. */
function isTied({ facets }, { facet: name, relation, bound }) {
  if (name === "NSC_lowest" || relation === "|.| <") return false;
  const { mean, sd } = facets[name];
  return mean !== null && sd === 0 && Math.abs(mean - bound) <= TOLERANCE;
}

function resolution({ facets: { AD } }) {
  if (AD.interval !== "resolution") return "";
  const equal = say(AD.sd === 0 ? "equal in all" : "hardly differs");
  return say("resolution", { equal, half: general(AD.ci95[1] - AD.mean) });
}

/** What to run next where the case is ambiguous; null where it is not. */
function nextProbe(of) {
  const { facets, decision, margins, paired } = of;
  if (decision.pattern !== "ambiguous") return null;
  if (!of.baselinePresent || paired === 0) return say("next: baseline", { ...of, seeds: listedSeeds(of.seeds) });
  const unwatched = facets.AD.mean === null && of.censored.size === 0;
  if (facets.PD.mean === null || unwatched) return say("next: measure", { ...of, split: "T2_shortcut_normal" });
  if (facets.SFR_rel.mean === null) return say("next: measure", { ...of, split: "T2_shortcut_masked" });
  if (facets.AD.mean === null) return probeForDelay(of);
  if (paired < FEWEST_SEEDS) return say("next: seeds", { ...of, seeds: counted(FEWEST_SEEDS - paired, "more seed") });
  const isOpen = ({ facet: name, relation, bound, met }) =>
    !facets[name].ci95 || facets[name].ci95.some((end) => holds(end, relation, bound) !== met);
  const open = decision.conditions.filter(isOpen).map((one) => one.facet);
  if (open.length) return say("next: more seeds", { facets: join(open) });
  if (holds(facets.SFR_rel.mean, ">=", margins.SFR_rel)) return say("next: placement");
  return say(holds(facets.SFR_rel.mean, "<=", -margins.SFR_rel) ? "next: CKA" : "next: calibration");
}

function probeForDelay({ budget, delays, tau, paired }) {
  const known = budget !== null && counted(budget, "effective epoch");
  const longer = say(known ? "next: longer than" : "next: longer", { budget: known });
  const found = delays.filter((one) => one.tau < tau && 2 * one.delay.n > paired).pop(); // thresholds rise
  if (!found) return say("next: out of reach", { longer, tau: general(tau) });
  const { n, mean } = found.delay;
  return say("next: lower tau", { tau: general(found.tau), AD: fixed(mean, 1, "+"), n, paired, longer });
}
