"use strict";
// Which pattern the facets show, and with what certainty.
((rigidity) => {
  const { fixed, TOLERANCE } = rigidity.numbers;
  const { summarise, pBeyond } = rigidity.statistics;
  const FEWEST_SEEDS = 3;
  const SHARED_RELIANCE = 0.1;
  const ALPHA = 0.05;
  const TRIPLET = ["AD", "PD", "SFR_rel"];

  /** A facet's value of every seed, and its summary. */
  function facet(values, bounds = null, resolution = 0) {
    return { values, resolution, summary: summarise(values, bounds, resolution) };
  }

  /** The accuracy up to which a model counts as knowing nothing. */
  function floorOf(classes) {
    if (classes === null) return { level: 0.05, chance: 0.05, classes };
    return { level: Math.max(1 / classes, Math.min(3 / classes, 0.25)), chance: 1 / classes, classes };
  }

  function describeFloor({ level, chance, classes }) {
    const shown = fixed(level);
    if (classes === null) return `${shown}, because the number of classes is not known (--classes K sets it)`;
    return level < 3 * chance - TOLERANCE ? `${shown} (chance is 1/${classes})` : `${shown}, 3 times chance (1/${classes})`;
  }

  /** Whether an accuracy is not above the floor: the upper end of its interval, or a single seed's value. */
  function atFloor(floor, { mean, ci95 }) {
    return mean !== null && (ci95 ? ci95[1] : mean) <= floor.level + TOLERANCE;
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

  /** A facet's mean, its interval and its test against a bound. */
  function compare(facets, name, relation, bound) {
    if (name === "NSC_lowest") {
      // as it is in every seed: no mean, no test; undefined where a seed has none
      const { values } = facets[name];
      const value = values.length === 0 || values.includes(null) ? null : Math.min(...values);
      const met = value === null ? null : holds(value, relation, bound);
      return { facet: name, relation, bound, value, met, sure: met, p: null };
    }
    const { mean, ci95 } = facets[name].summary;
    return {
      facet: name,
      relation,
      bound,
      value: mean,
      met: mean === null ? null : holds(mean, relation, bound),
      sure: ci95 && ci95.every((end) => holds(end, relation, bound)),
      p: pValue(facets[name], relation, bound),
    };
  }

  /** Every pattern's conditions, in the order in which they are tried. */
  function candidates(facets, margins, floor) {
    const allOf = (...conditions) => conditions.map((condition) => compare(facets, ...condition));
    // Neither benign word for a model that lives on the cue, nor for one that has not learned the other classes.
    const benign = [["delta", "<=", margins.SFR_rel], ["NSC_lowest", ">", floor.chance]];
    const { AD, PD, SFR_rel } = margins;
    return {
      "cue-harmful": allOf(["delta_S", "<=", 0]),
      saturated: allOf(["SC_mask", "<=", floor.level], ["SC_mask_S", "<=", floor.level]),
      "red-flag": allOf(["AD", "<=", -AD], ["PD", "<=", 0], ["SFR_rel", ">=", SFR_rel]),
      "benign-avoidance": allOf(["AD", "<", 0], ["PD", ">=", PD], ["SFR_rel", "<=", -SFR_rel], ...benign),
      "shared-shortcut": allOf(["delta", ">=", SHARED_RELIANCE], ["SFR_rel", "|.| <", SFR_rel]),
      "benign-transfer": allOf(["AD", ">", -AD], ["PD", ">=", 0], ["SFR_rel", "<", SFR_rel], ...benign),
    };
  }

  const bothAtFloor = (facets, floor, name) =>
    atFloor(floor, facets[name].summary) && atFloor(floor, facets[`${name}_S`].summary);

  const allMet = (conditions) => conditions.every((condition) => condition.met);

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

  function certainty(decision, pHolm) {
    if (decision.fewest < FEWEST_SEEDS) return "too few seeds";
    const sure = decision.pattern !== "ambiguous" && decision.conditions.every((condition) => condition.sure);
    return sure && pHolm !== null && pHolm <= ALPHA ? "holds" : "leans";
  }

  /** The conditions of the high-rigidity flag; null where a facet is undefined or the floor decides. */
  function highRigidity(facets, margins, floor) {
    const conditions = [
      compare(facets, "AD", "<=", -margins.AD),
      compare(facets, "PD", "<=", -margins.PD),
      compare(facets, "SFR_rel", ">=", margins.SFR_rel),
    ];
    if (conditions.some((condition) => condition.met === null)) return null;
    return bothAtFloor(facets, floor, "SC_mask") || bothAtFloor(facets, floor, "SC_patch") ? null : conditions;
  }

  function flagCertainty(flag, facets, pHolm) {
    if (!flag || !allMet(flag)) return null;
    if (flag.some((condition) => facets[condition.facet].summary.n < FEWEST_SEEDS)) return "too few seeds";
    return flag.every((condition) => condition.sure) && pHolm !== null && pHolm <= ALPHA ? "holds" : "leans";
  }

  rigidity.patterns = {
    FEWEST_SEEDS,
    SHARED_RELIANCE,
    TRIPLET,
    facet,
    floorOf,
    describeFloor,
    atFloor,
    bothAtFloor,
    holds,
    allMet,
    largestP,
    decide,
    certainty,
    highRigidity,
    flagCertainty,
  };
})((globalThis.einstellungRigidity = globalThis.einstellungRigidity || {}));
