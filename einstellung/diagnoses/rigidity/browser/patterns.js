"use strict";
// Which pattern the facets show, and with what certainty.

const FEWEST_SEEDS = 3;
const SHARED_RELIANCE = 0.1;
const ALPHA = 0.05;
const TRIPLET = ["AD", "PD", "SFR_rel"];

/** A facet's value of every seed, and its summary. */
function facet(values, bounds, resolution = 0) {
  return { values, resolution, summary: summarise(values, bounds, resolution) };
}

/** The accuracy up to which a model counts as knowing nothing. */
function floorOf(classes) {
  if (classes === null) return { level: 0.05, chance: 0.05, classes };
  return { level: Math.max(1 / classes, Math.min(3 / classes, 0.25)), chance: 1 / classes, classes };
}

function describeFloor({ level, chance, classes }) {
  const known = level < 3 * chance - TOLERANCE ? "floor of few" : "floor";
  return say(classes === null ? "floor unknown" : known, { level: fixed(level), factor: 3, classes });
}

/** Whether an accuracy is not above the floor: the upper end of its interval, or a single seed's value. */
function atFloor(floor, { summary: { mean, ci95 } }) {
  return mean !== null && (ci95 ? ci95[1] : mean) <= floor.level + TOLERANCE;
}

function bothAtFloor(facets, floor, name) {
  return atFloor(floor, facets[name]) && atFloor(floor, facets[`${name}_S`]);
}

function holds(value, relation, bound) {
  if (relation === "<=") return value <= bound + TOLERANCE;
  if (relation === "<") return value < bound - TOLERANCE;
  if (relation === ">=") return value >= bound - TOLERANCE;
  if (relation === ">") return value > bound + TOLERANCE;
  return Math.abs(value) < bound - TOLERANCE;
}

function pValue({ summary, resolution }, relation, bound) {
  if (summary.sd === null) return null;
  if (relation === "|.| <") return Math.max(pBeyond(summary, -bound, 1), pBeyond(summary, bound, -1));
  return pBeyond(summary, bound, relation[0] === ">" ? 1 : -1, resolution);
}

/** A facet's mean, its interval and its test against a bound; NSC as it is in every seed, without a test. */
function compare(facets, name, relation, bound) {
  const meets = (value) => holds(value, relation, bound);
  if (name === "NSC_lowest") {
    const { values } = facets[name];
    const value = values.length === 0 || values.includes(null) ? null : Math.min(...values);
    const met = value === null ? null : meets(value);
    return { facet: name, relation, bound, value, met, sure: met, p: null };
  }
  const { mean, ci95 } = facets[name].summary;
  const met = mean === null ? null : meets(mean);
  const p = pValue(facets[name], relation, bound);
  return { facet: name, relation, bound, value: mean, met, sure: ci95 && ci95.every(meets), p };
}

/** Every pattern's conditions, in the order in which they are tried. */
function candidates(facets, { AD, PD, SFR_rel }, floor) {
  const allOf = (...conditions) => conditions.map((condition) => compare(facets, ...condition));
  // Neither benign word for a model that lives on the cue, nor for one that has not learned the other classes.
  const benign = [["delta", "<=", SFR_rel], ["NSC_lowest", ">", floor.chance]];
  return {
    "cue-harmful": allOf(["delta_S", "<=", 0]),
    saturated: allOf(["SC_mask", "<=", floor.level], ["SC_mask_S", "<=", floor.level]),
    "red-flag": allOf(["AD", "<=", -AD], ["PD", "<=", 0], ["SFR_rel", ">=", SFR_rel]),
    "benign-avoidance": allOf(["AD", "<", 0], ["PD", ">=", PD], ["SFR_rel", "<=", -SFR_rel], ...benign),
    "shared-shortcut": allOf(["delta", ">=", SHARED_RELIANCE], ["SFR_rel", "|.| <", SFR_rel]),
    "benign-transfer": allOf(["AD", ">", -AD], ["PD", ">=", 0], ["SFR_rel", "<", SFR_rel], ...benign),
  };
}

function allMet(conditions) {
  return conditions.every((condition) => condition.met);
}

/** The p of an intersection-union test; null where a condition cannot be tested. */
function largestP(conditions) {
  const values = conditions.map((condition) => condition.p);
  return values.includes(null) ? null : Math.max(...values);
}

/** The first pattern whose conditions the means meet; else ambiguous, with the conditions of the red flag. */
function decide(facets, margins, floor, pairedSeeds) {
  const conditionsOf = candidates(facets, margins, floor);
  const withheld = {};
  const defined = TRIPLET.every((name) => facets[name].summary.mean !== null);
  if (defined && !bothAtFloor(facets, floor, "SC_patch")) {
    for (const [pattern, conditions] of Object.entries(conditionsOf)) {
      if (pattern === "saturated" ? bothAtFloor(facets, floor, "SC_mask") : allMet(conditions)) {
        const tested = conditions.filter((condition) => condition.facet !== "NSC_lowest");
        const fewest = Math.min(...tested.map((condition) => facets[condition.facet].summary.n));
        return { pattern, conditions, fewest, p: largestP(tested), withheld };
      }
      if (pattern.startsWith("benign") && allMet(conditions.slice(0, 3))) {
        withheld[pattern] = conditions.slice(3).filter((condition) => !condition.met);
      }
    }
  }
  return { pattern: "ambiguous", conditions: conditionsOf["red-flag"], fewest: pairedSeeds, p: null, withheld };
}

/** How certain conditions are that the means meet. */
function certaintyOf(conditions, fewest, pHolm, inDoubt) {
  if (fewest < FEWEST_SEEDS) return "too few seeds";
  const sure = !inDoubt.length && conditions.every((condition) => condition.sure);
  return sure && pHolm !== null && pHolm <= ALPHA ? "holds" : "leans";
}

/** Why conditions cannot be certain, however small their p; `never`: the sides that did not reach the threshold in some seed. */
function doubts(conditions, facets, floor, never, copies) {
  const atOrBelow = (mean, bound) => mean !== null && mean <= bound + TOLERANCE;
  const floored = ["SC_mask", "SC_mask_S"].every((name) => atOrBelow(facets[name].summary.mean, floor.level));
  const found = conditions.flatMap(({ facet: name, relation, bound }) => {
    if (name === "SFR_rel") return floored ? ["near floor"] : [];
    if (name !== "AD") return [];
    const noRoom = relation === ">" && atOrBelow(facets.AD_room.summary.mean, -bound);
    return [...(never.has(relation[0] === "<" ? "method" : "baseline") ? ["censored"] : []), ...(noRoom ? ["no room"] : [])];
  });
  return [...(copies ? ["copies"] : []), ...found];
}

/** The conditions of the high-rigidity flag; null where a facet is undefined or the floor decides. */
function highRigidity(facets, { AD, PD, SFR_rel }, floor) {
  const bounds = [["AD", "<=", -AD], ["PD", "<=", -PD], ["SFR_rel", ">=", SFR_rel]];
  const conditions = bounds.map((condition) => compare(facets, ...condition));
  if (conditions.some((condition) => condition.met === null)) return null;
  return bothAtFloor(facets, floor, "SC_mask") || bothAtFloor(facets, floor, "SC_patch") ? null : conditions;
}
