"use strict";
// A verdict in words: sentences chosen by the numbers, with the numbers and margins in them.
((rigidity) => {
  const { fixed, signed, general, counted } = rigidity.numbers;
  const { FEWEST_SEEDS, TRIPLET, describeFloor, holds } = rigidity.patterns;

  const OPENINGS = {
    "red-flag": ({ method, baseline, tau }, part) =>
      `Red flag, shortcut-induced rigidity: ${method} reaches ${general(tau)} sooner than ${baseline} (${part.AD}), ends no ` +
      `worse (${part.PD}) and leans more on the cue (${part.SFR_rel}).`,
    "benign-avoidance": ({ method, baseline, tau }, part) =>
      `Benign avoidance, the cue distracts the continual model: ${method} reaches ${general(tau)} sooner than ${baseline} ` +
      `(${part.AD}), ends worse (${part.PD}), leans less on the cue (${part.SFR_rel}) and hardly at all (${part.delta}); ` +
      `${part.NSC_lowest}.`,
    "shared-shortcut": ({ method, baseline }, part) =>
      `Shared shortcut: ${method} leans on the cue (${part.delta}) as ${baseline} does (${part.SFR_rel}); the history adds ` +
      "nothing to it.",
    "benign-transfer": ({ method, baseline, tau }, part) =>
      `Benign transfer: ${method} reaches ${general(tau)} not clearly sooner than ${baseline} (${part.AD}), ends no better ` +
      `(${part.PD}), leans no more on the cue (${part.SFR_rel}) and hardly at all (${part.delta}); ${part.NSC_lowest}.`,
    "cue-harmful": cueHarmful,
    saturated,
    ambiguous,
  };

  /** A few sentences: what the facets show, the absolute reliance, what limits it, how sure it is. */
  function verdict(of) {
    const { pattern, conditions } = of.decision;
    const parts = Object.fromEntries(conditions.map((condition) => [condition.facet, compared(of, condition)]));
    const opening = OPENINGS[pattern](of, parts);
    const sentences = [opening, reliance(of), ...withheld(of), nearFloor(of), certainty(of), resolution(of)];
    return sentences.filter(Boolean).join(" ");
  }

  const SYMBOLS = { delta: "Delta", delta_S: "Delta_S", SC_mask: "masked accuracy" };
  const symbol = (of, facet) => (facet === "SC_mask_S" ? `masked accuracy of ${of.baseline}` : SYMBOLS[facet] || facet);

  function shown(of, facet) {
    const { mean, ci95 } = of.facets[facet];
    if (mean === null) return `${symbol(of, facet)} undefined`;
    const [digits, unit] = facet === "AD" ? [1, " epochs"] : [3, ""];
    const range = ci95 ? ` [${signed(ci95[0], digits)}, ${signed(ci95[1], digits)}]` : "";
    return `${symbol(of, facet)} = ${signed(mean, digits)}${unit}${range}`;
  }

  function compared(of, { facet, relation, bound, value }) {
    if (facet === "NSC_lowest") {
      return value === null ? "" : `NSC accuracy is above chance in every seed (lowest ${fixed(value)} > ${fixed(bound)})`;
    }
    if (relation === "|.| <") return `${shown(of, facet)}, within +-${general(bound)}`;
    return `${shown(of, facet)} ${relation} ${general(bound)}`;
  }

  function cueHarmful(of) {
    const { method, baseline, facets } = of;
    const sign = (facet, above, below, equal) => {
      if (holds(facets[facet].mean, ">", 0)) return above;
      return holds(facets[facet].mean, "<", 0) ? below : equal;
    };
    const hurt = sign("SFR_rel", "less hurt by it than", "more hurt by it than", "hurt by it as much as");
    const moved = sign("CSR_rel", "more sensitive to the cue than", "less sensitive to the cue than", "as sensitive to the cue as");
    return (
      `The cue does not help ${baseline} (${shown(of, "delta_S")} <= 0), so SFR_rel is relative harm: ${method} is ${hurt} ` +
      `${baseline} (${shown(of, "SFR_rel")}) and ${moved} it (${shown(of, "CSR_rel")}).`
    );
  }

  function accuracy({ mean, ci95 }) {
    return ci95 ? `${fixed(mean)} [${fixed(ci95[0])}, ${fixed(ci95[1])}]` : fixed(mean);
  }

  function saturated(of) {
    const { method, baseline, facets, floor } = of;
    const text =
      `Saturated: with the cue covered, neither ${method} (${accuracy(facets.SC_mask)}) nor ${baseline} ` +
      `(${accuracy(facets.SC_mask_S)}) is above the floor (${describeFloor(floor)}). The cue decides alone in both, so SFR_rel ` +
      "is -PD by algebra and the relative index cannot tell (AD, PD and SFR_rel: " +
      `${TRIPLET.map((facet) => shown(of, facet)).join(", ")}).`;
    if (facets.SFR_rel_within.mean === null) return `${text} Measure acc_within to compare the models on what is left.`;
    return `${text} With the choice among the shortcut classes only, ${shown(of, "SFR_rel_within")}.`;
  }

  function ambiguous(of) {
    const { method, baseline, facets, margins } = of;
    if (!of.baselinePresent) return `Ambiguous: there is no baseline ${baseline} to compare ${method} with.`;
    if (of.paired === 0) return `Ambiguous: ${method} and ${baseline} have no seed in common.`;
    if (of.unlearned) {
      return (
        `Ambiguous: neither ${method} nor ${baseline} has learned the shortcut classes (${fixed(facets.SC_patch.mean)} and ` +
        `${fixed(facets.SC_patch_S.mean)} even with the cue; the floor is ${describeFloor(of.floor)}): no facet means anything yet.`
      );
    }
    const lacking = TRIPLET.filter((facet) => facets[facet].mean === null);
    if (lacking.length) {
      const reasons = lacking.map((facet) =>
        facet === "AD" && of.censored.size ? `AD is undefined (${censoring(of)})` : `${facet} is undefined`,
      );
      return `Ambiguous: ${reasons.join(", ")}.`;
    }
    const limits = TRIPLET.map((facet) => `${facet} ${general(margins[facet])}`).join(", ");
    return `Ambiguous: ${directions(of)} (margins ${limits}); none of the named patterns is that combination.`;
  }

  /** Which way each facet points, margins counted: an unnamed combination still says something. */
  function directions(of) {
    const { method, baseline, margins, tau } = of;
    const side = (facet, below, above, between) => {
      const { mean } = of.facets[facet];
      if (holds(mean, "<=", -margins[facet])) return below;
      return holds(mean, ">=", margins[facet]) ? above : between;
    };
    const speed = side("AD", "sooner than", "later than", `within ${counted(margins.AD, "epoch")} of`);
    const end = side("PD", "ends higher", "ends lower", "ends as high");
    const leaning = side("SFR_rel", "leans less on the cue", "leans more on the cue", "leans on it as much");
    return (
      `${method} reaches ${general(tau)} ${speed} ${baseline} (${shown(of, "AD")}), ${end} (${shown(of, "PD")}) and ` +
      `${leaning} (${shown(of, "SFR_rel")})`
    );
  }

  function listedSeeds(seeds) {
    const more = seeds.length > 8 ? ` and ${seeds.length - 8} more` : "";
    return `seed${seeds.length === 1 ? "" : "s"} ${seeds.slice(0, 8).join(", ")}${more}`;
  }

  function censoring(of) {
    const sides = new Map();
    for (const [seed, side] of of.censored) sides.set(side, [...(sides.get(side) || []), seed]);
    return Array.from(sides, ([side, seeds]) => {
      const who = side === "both" ? "neither" : `${side} never`;
      return `${who} reached ${general(of.tau)} on ${listedSeeds(seeds)}`;
    }).join("; ");
  }

  function reliance(of) {
    if (of.facets.delta.mean === null) return "";
    const beside = of.facets.delta_S.mean === null ? "" : `, beside ${shown(of, "delta_S")} of ${of.baseline}`;
    return `Absolute reliance on the cue: ${shown(of, "delta")}${beside}.`;
  }

  /** Why a benign name was not given where only the added conditions refuse it. */
  function withheld(of) {
    return Object.entries(of.decision.withheld).map(([pattern, refused]) => {
      const reasons = refused.map(({ facet, value, bound }) => {
        if (facet === "delta") return `it leans on the cue itself (${shown(of, "delta")} > ${general(bound)})`;
        if (value === null) {
          const seeds = of.facets.NSC_lowest.n ? " in every seed" : "";
          return `T2_nonshortcut_normal was not measured${seeds}, so it cannot be told whether the other classes were learned`;
        }
        return (
          `the other classes were not learned in every seed (lowest NSC accuracy ${fixed(value)}, chance ${fixed(bound)})`
        );
      });
      return `Not called ${pattern}: ${reasons.join("; ")}.`;
    });
  }

  /** A warning where the masked means are at the floor but not the intervals: SFR_rel may be -PD by algebra. */
  function nearFloor(of) {
    const [own, other] = [of.facets.SC_mask.mean, of.facets.SC_mask_S.mean];
    if (own === null || other === null || of.saturated || of.unlearned) return "";
    if (Math.max(own, other) > of.floor.level) return "";
    return (
      `With the cue covered next to nothing is left in either (${fixed(own)} and ${fixed(other)}, floor ` +
      `${fixed(of.floor.level)}), so SFR_rel hardly says more than -PD; more seeds would tell whether this is saturated.`
    );
  }

  function certainty(of) {
    const { decision, facets } = of;
    const needsDelay = decision.conditions.some((condition) => condition.facet === "AD");
    const leftOut = of.censored.size && facets.AD.n && needsDelay ? ` AD leaves seeds out: ${censoring(of)}.` : "";
    if (of.certainty === "too few seeds") {
      return `Too few seeds to tell how sure that is (n = ${decision.fewest}, ${FEWEST_SEEDS} are needed).${leftOut}`;
    }
    if (decision.pattern === "ambiguous") return leftOut.trim();
    const p = of.pHolm === null ? "" : `p = ${general(of.pHolm, 2)} after Holm's correction`;
    if (of.certainty === "holds") {
      return `Conclusive: ${p}, and every 95 % interval is on its side of the bound.${leftOut}`;
    }
    const unsure = decision.conditions.filter((condition) => !condition.sure);
    const names = unsure.map((condition) => symbol(of, condition.facet)).join(", ");
    const crossing = names && `the 95 % interval of ${names} crosses its bound`;
    return `Not conclusive: ${[crossing, p].filter(Boolean).join(" and ")}.${leftOut}`;
  }

  function resolution(of) {
    const { mean, sd, ci95, interval } = of.facets.AD;
    if (interval !== "resolution") return "";
    const equal = sd === 0 ? "is equal in all seeds" : "hardly differs between seeds";
    return `AD ${equal}: it is judged by its resolution, ±${general(ci95[1] - mean)} epochs (half an evaluation step).`;
  }

  /** What to run next where the case is ambiguous; null where it is not. */
  function nextProbe(of) {
    const { method, baseline, facets, margins } = of;
    if (of.decision.pattern !== "ambiguous") return null;
    if (!of.baselinePresent || of.paired === 0) {
      return `train ${baseline} on T2 with ${listedSeeds(of.seeds)}: without it AD, PD and SFR_rel are undefined`;
    }
    const atEveryEpoch = (split) => `measure ${split} for ${method} and ${baseline} at every epoch of T2`;
    const unwatched = facets.AD.mean === null && of.censored.size === 0;
    if (facets.PD.mean === null || unwatched) return atEveryEpoch("T2_shortcut_normal");
    if (facets.SFR_rel.mean === null) return atEveryEpoch("T2_shortcut_masked");
    if (facets.AD.mean === null) return probeForDelay(of);
    if (of.paired < FEWEST_SEEDS) {
      return `run ${counted(FEWEST_SEEDS - of.paired, "more seed")} of ${method} and ${baseline}`;
    }
    const open = of.decision.conditions.filter(({ facet, relation, bound, met }) => {
      const { ci95 } = facets[facet];
      return !ci95 || ci95.some((end) => holds(end, relation, bound) !== met);
    });
    if (open.length) {
      const names = open.map((condition) => condition.facet).join(", ");
      return `run more seeds: the 95 % interval of ${names} is wide enough for another verdict`;
    }
    if (holds(facets.SFR_rel.mean, ">=", margins.SFR_rel)) {
      return "counterfactual cue placement: put the cue on NSC images and at other places, and see whether it pulls";
    }
    if (holds(facets.SFR_rel.mean, "<=", -margins.SFR_rel)) {
      return "CKA between the T1 and T2 models: do the features that ignore the cue come from T1?";
    }
    return "calibration (ECE) under masking: does confidence follow the cue where accuracy does not?";
  }

  function probeForDelay(of) {
    const longer = of.budget === null ? "train longer" : `train longer than ${counted(of.budget, "effective epoch")}`;
    // thresholds rise
    const found = of.delays.filter(({ tau, delay }) => tau < of.tau && 2 * delay.n > of.paired).pop();
    if (!found) return `${longer}, or lower tau: ${general(of.tau)} is out of reach`;
    const known = `AD = ${signed(found.delay.mean, 1)} on ${found.delay.n} of ${of.paired} seeds`;
    return `lower tau to ${general(found.tau)}, where ${known}, or ${longer}`;
  }

  rigidity.verdict = { verdict, nextProbe, listedSeeds };
})((globalThis.einstellungRigidity = globalThis.einstellungRigidity || {}));
