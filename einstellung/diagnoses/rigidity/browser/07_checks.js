"use strict";
// Checks of the log, and warnings, for the runs that are left.
((rigidity) => {
  const { fixed, counted, byCodePoint, TOLERANCE } = rigidity.numbers;
  const { DEFAULT_BASELINE } = rigidity.settings;
  const { listedSeeds } = rigidity.verdict;
  const Z_95 = 1.959963984540054;

  const check = (name, passed, detail) => ({ name, passed, detail });
  const more = (items, most) => (items.length > most ? ` and ${items.length - most} more` : "");

  function named(runs, most = 6) {
    const shown = runs.slice(0, most).map((run) => `${run.method} seed ${run.seed}`);
    return shown.join(", ") + more(runs, most);
  }

  function baselineNeverSawT1({ baseline, methods }) {
    const name = "the baseline never saw T1";
    if (baseline === null) return check(name, null, "no baseline in the timeline");
    const own = [...methods.get(baseline).values()];
    const trained = own.filter((one) => one.run.has_t1);
    if (trained.length) return check(name, false, `T1 rows exist for ${named(trained)}`);
    const measured = own.filter((one) => one.accuracies.T1 !== null);
    if (!measured.length) return check(name, null, `T1_all was not measured for ${baseline}`);
    const highest = measured.reduce((best, one) => (one.accuracies.T1 > best.accuracies.T1 ? one : best));
    const { T1 } = highest.accuracies;
    const detail = `highest final T1_all accuracy of ${baseline}: ${fixed(T1)} (seed ${highest.seed}), at most 0.05`;
    return check(name, T1 <= 0.05 + TOLERANCE, detail);
  }

  /** The lower end of Wilson's 95 % interval of a share. */
  function wilsonLow(share, n) {
    const middle = share + (Z_95 * Z_95) / (2 * n);
    const half = Z_95 * Math.sqrt((share * (1 - share)) / n + (Z_95 * Z_95) / (4 * n * n));
    return Math.max(0, (middle - half) / (1 + (Z_95 * Z_95) / n));
  }

  function t1WasLearned({ runs, baseline, t1Classes }) {
    const name = "T1 was learned before T2";
    const judged = runs.filter((one) => one.method !== baseline);
    const after = (one) => one.run.phases.acc.R[0][0];
    const isFresh = (one) => one.fresh || (after(one) === null && !one.run.has_t1);
    const fresh = judged.filter(isFresh);
    const known = judged.filter((one) => !isFresh(one) && after(one) !== null);
    const aside = fresh.length ? `; no T1 phase recorded for ${named(fresh)}` : "";
    if (!known.length) return check(name, null, `T1_all after T1 was not measured${aside}`);
    const lowest = known.reduce((best, one) => (after(one) < after(best) ? one : best));
    let least = after(lowest);
    let detail = `lowest T1_all accuracy after T1: ${fixed(least)} (${named([lowest])})`;
    if (t1Classes === null) {
      return check(name, least > 0.1, `${detail}, above 0.1 needed (T1's number of classes is not known)${aside}`);
    }
    const n = lowest.run.T1_images;
    if (n !== null) {
      least = wilsonLow(least, n);
      detail += `, at least ${fixed(least)} by its 95 % interval over ${n} images`;
    }
    detail += `; above chance needed, ${fixed(1 / t1Classes)} among ${t1Classes} classes`;
    return check(name, least > 1 / t1Classes + TOLERANCE, detail + aside);
  }

  const having = (runs, key, kind) => runs.filter((one) => one.run[key] === kind);

  function patchedAndMaskedMatch({ runs }) {
    const name = "patched and masked are measured alike";
    const compared = runs.filter((one) => one.run.pairing !== null);
    if (!compared.length) return check(name, null, "no run has both T2_shortcut_normal and T2_shortcut_masked");
    const [uncounted, epochs, images] = ["uncounted", "epochs", "images"].map((kind) => having(runs, "pairing", kind));
    let detail = `${counted(compared.length, "run")} compared`;
    if (uncounted.length) detail += `; number of images not recorded in ${uncounted.length}`;
    if (epochs.length) detail += `; other epochs in ${named(epochs)}`;
    if (images.length) detail += `; other numbers of images in ${named(images)}`;
    return check(name, !epochs.length && !images.length, detail);
  }

  function maskDoesSomething({ runs }) {
    const name = "masking changes something";
    const judged = runs.filter((one) => one.run.mask_effect !== null);
    if (!judged.length) {
      return check(name, null, "no run has two or more epochs of moving patched and masked curves");
    }
    const equal = "accuracies equal at every epoch in";
    const words = {
      copy: (of) => `patched and masked ${equal} ${of}, and so is every known loss`,
      open: (of) =>
        `patched and masked ${equal} ${of}, no loss known in both: cannot be told apart from a mask that does nothing`,
      loss: (of) => `${equal} ${of}, losses differ: the mask acts, the answers stay`,
      acc_task: (of) => `${equal} ${of}, task accuracies differ: the mask acts`,
    };
    const found = Object.entries(words).map(([kind, say]) => [having(runs, "mask_effect", kind), say]);
    const details = found.filter(([own]) => own.length).map(([own, say]) => say(named(own)));
    const differ = having(runs, "mask_effect", "acc").length;
    if (differ) details.push(`patched and masked curves differ in ${differ} of ${counted(judged.length, "run")}`);
    return check(name, !found[0][0].length && !found[1][0].length, details.join("; "));
  }

  /** Runs by a value, in the order in which it first appears. */
  function grouped(runs, key) {
    const groups = new Map();
    for (const one of runs) {
      const value = key(one);
      if (value !== null) groups.set(value, [...(groups.get(value) || []), one]);
    }
    return [...groups.values()];
  }

  function sameBudget({ runs }) {
    const name = "all runs share one T2 budget and epoch grid";
    const grids = grouped(runs, (one) => one.run.grid && one.run.grid[0]);
    if (!grids.length) return check(name, null, "no T2_shortcut_normal curve in T2");
    const [, budget, points] = grids[0][0].run.grid;
    if (grids.length === 1) {
      const everywhere = runs.length === 1 ? "the only run" : `all ${runs.length} runs`;
      return check(name, true, `${counted(budget, "epoch")}, measured at ${counted(points, "point")}, in ${everywhere}`);
    }
    const described = grids.map((own) => {
      const [, last, n] = own[0].run.grid;
      return `${counted(last, "epoch")}, ${counted(n, "point")}: ${named(own, 3)}`;
    });
    return check(name, false, described.slice(0, 6).join(" | "));
  }

  function noRunTwice({ runs }) {
    const name = "no two runs are the same";
    const compared = runs.filter((one) => one.run.twin !== null);
    if (compared.length < 2) return check(name, null, "fewer than two runs in T2");
    const twice = grouped(compared, (one) => one.run.twin).filter((own) => own.length > 1 && own[0].run.moves);
    if (!twice.length) return check(name, true, `the T2 curves of all ${compared.length} runs differ`);
    return check(name, false, `equal T2 curves: ${twice.slice(0, 6).map((own) => named(own)).join(" | ")}`);
  }

  function seedsArePaired({ methods, baseline }) {
    const name = "seeds are paired with the baseline";
    if (baseline === null) return check(name, null, "no baseline in the timeline");
    const others = [...methods].filter(([method]) => method !== baseline);
    if (!others.length) return check(name, null, `no method beside ${baseline}`);
    const seeds = (list) => (list.slice(0, 8).join(", ") || "none") + more(list, 8);
    const known = [...methods.get(baseline).keys()];
    const odd = [];
    for (const [method, own] of others) {
      const here = [...own.keys()].filter((seed) => !known.includes(seed));
      const there = known.filter((seed) => !own.has(seed));
      if (here.length || there.length) odd.push(`${method}: only there ${seeds(here)}, only in ${baseline} ${seeds(there)}`);
    }
    if (odd.length) return check(name, false, odd.slice(0, 6).join(" | "));
    const common = `${counted(known.length, "common seed")} in ${counted(others.length, "method")}`;
    return check(name, true, `${common}: ${seeds(known)}`);
  }

  function splitsAreKnown({ runs, splits }) {
    const name = "split names are understood";
    const used = [...new Set(runs.flatMap((one) => one.run.splits))].sort(byCodePoint);
    const unknown = used.filter((split) => splits.get(split) !== true);
    const slips = unknown.filter((split) => splits.get(split) !== null);
    if (slips.length) {
      const asked = slips.map((split) => `'${split}' (did you mean '${splits.get(split)}'?)`).join(", ");
      return check(name, false, `not used: ${asked}`);
    }
    const aside = unknown.length ? `; kept but not used: ${unknown.join(", ")}` : "";
    return check(name, true, `${counted(used.length - unknown.length, "known split")}${aside}`);
  }

  /** `log`: the runs in the log's order, the same by method and seed, the baseline, and what is known of splits and T1. */
  function logChecks(log) {
    return [
      baselineNeverSawT1,
      t1WasLearned,
      patchedAndMaskedMatch,
      maskDoesSomething,
      sameBudget,
      noRunTwice,
      seedsArePaired,
      splitsAreKnown,
    ].map((one) => one(log));
  }

  function logWarnings({ methods, baseline }) {
    const found = [];
    if (baseline === null) {
      found.push(
        `no baseline '${DEFAULT_BASELINE}' in the timeline: AD, PD and SFR_rel are undefined; train it on T2 or name another ` +
          `one (methods: ${[...methods.keys()].join(", ")})`,
      );
    } else if (methods.size === 1) {
      found.push(`the timeline holds the baseline '${baseline}' only: there is nothing to compare it with`);
    }
    for (const [method, own] of methods) {
      const lacking = new Map();
      for (const one of own.values()) {
        const { has_t2, absent } = one.run;
        const what = has_t2 ? [...absent] : ["every T2 row"];
        if (!what.length && one.epoch === null) what.push("a checkpoint with all splits measured at one epoch");
        for (const thing of what) lacking.set(thing, [...(lacking.get(thing) || []), one.seed]);
      }
      for (const [what, seeds] of lacking) {
        found.push(`${method}: ${what} is missing for ${listedSeeds(seeds)}; what needs it is undefined`);
      }
      if (baseline === null || method === baseline) continue;
      const base = methods.get(baseline);
      for (const [name, alone, other] of [
        [method, [...own.keys()].filter((seed) => !base.has(seed)), baseline],
        [baseline, [...base.keys()].filter((seed) => !own.has(seed)), method],
      ]) {
        if (!alone.length) continue;
        const [have, them] = alone.length === 1 ? ["has", "it"] : ["have", "them"];
        found.push(`${listedSeeds(alone)} of ${name} ${have} no ${other} run: paired facets leave ${them} out`);
      }
    }
    return found;
  }

  rigidity.checks = { logChecks, logWarnings };
})((globalThis.einstellungRigidity = globalThis.einstellungRigidity || {}));
