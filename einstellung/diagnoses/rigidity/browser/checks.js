"use strict";
// Checks of the log, and warnings, for the runs that are left. `log`: the runs in the log's order, the same by method and seed,
// the baseline, and what is known of splits and T1.

function logChecks(log) {
  const checks = [baselineNeverSawT1, t1WasLearned, pairsMatch, maskActs, sameBudget, noRunTwice, seedsArePaired, splitsAreKnown];
  return checks.map((check) => {
    const [name, passed, detail] = check(log);
    return { name, passed, detail };
  });
}

function named(runs, most = 6) {
  return atMost(runs.map((one) => `${one.method} seed ${one.seed}`), most);
}

/** The run with the smallest value, the first of equals. */
function lowestBy(runs, value) {
  return runs.reduce((best, one) => (value(one) < value(best) ? one : best));
}

function baselineNeverSawT1({ baseline, methods }) {
  const name = say("check baseline");
  if (baseline === null) return [name, null, say("why: no baseline")];
  const own = [...methods.get(baseline).values()];
  const trained = own.filter((one) => one.run.has_t1);
  if (trained.length) return [name, false, say("T1 rows", { runs: named(trained) })];
  const measured = own.filter((one) => one.accuracies.T1 !== null);
  if (!measured.length) return [name, null, say("T1 unmeasured", { baseline })];
  const { seed, accuracies: { T1 } } = lowestBy(measured, (one) => -one.accuracies.T1);
  return [name, T1 <= 0.05 + TOLERANCE, say("T1 highest", { baseline, value: fixed(T1), seed, most: 0.05 })];
}

/** The lower end of Wilson's 95 % interval of a share. */
function wilsonLow(share, n) {
  const z = 1.959963984540054;
  const half = z * Math.sqrt((share * (1 - share)) / n + (z * z) / (4 * n * n));
  return Math.max(0, (share + (z * z) / (2 * n) - half) / (1 + (z * z) / n));
}

function t1WasLearned({ runs, baseline, t1Classes: classes }) {
  const name = say("check T1");
  const after = (one) => one.run.phases.acc.R[0][0];
  const isFresh = (one) => one.fresh || (after(one) === null && !one.run.has_t1);
  const judged = runs.filter((one) => one.method !== baseline);
  const unjudged = judged.filter(isFresh);
  const known = judged.filter((one) => !isFresh(one) && after(one) !== null);
  const fresh = unjudged.length ? say("T1 fresh", { runs: named(unjudged) }) : "";
  if (!known.length) return [name, null, say("T1 unknown", { fresh })];
  const lowest = lowestBy(known, after);
  const [value, n] = [after(lowest), lowest.run.T1_images];
  const detail = say("T1 lowest", { value: fixed(value), run: named([lowest]) });
  if (classes === null) return [name, value > 0.1, detail + say("T1 above", { least: 0.1 }) + fresh];
  const least = n === null ? value : wilsonLow(value, n);
  const interval = n === null ? say("T1 uncounted") : say("T1 interval", { least: fixed(least), n });
  const chance = say("T1 chance", { chance: fixed(1 / classes), classes });
  return [name, least > 1 / classes + TOLERANCE, detail + interval + chance + fresh];
}

function pairsMatch({ runs }) {
  const name = say("check pairs");
  const found = grouped(runs, (one) => one.run.pairing);
  if (!found.size) return [name, null, say("no pairs")];
  const compared = [...found.values()].flat().length;
  const { uncounted, epochs, images } = Object.fromEntries(found);
  let detail = say("pairs", { runs: counted(compared, "run") });
  if (uncounted) detail += say("uncounted", { n: uncounted.length });
  if (epochs) detail += say("other epochs", { runs: named(epochs) });
  if (images) detail += say("other images", { runs: named(images) });
  return [name, !epochs && !images, detail];
}

function maskActs({ runs }) {
  const name = say("check mask");
  const found = grouped(runs, (one) => one.run.mask_effect);
  if (!found.size) return [name, null, say("mask unjudged")];
  const equal = ["copy", "open", "loss", "acc_task"].filter((kind) => found.has(kind));
  const details = equal.map((kind) => say(`mask ${kind}`, { runs: named(found.get(kind)) }));
  const judged = counted([...found.values()].flat().length, "run");
  if (found.has("acc")) details.push(say("mask acc", { n: found.get("acc").length, runs: judged }));
  return [name, !found.has("copy") && !found.has("open"), details.join("; ")];
}

function sameBudget({ runs }) {
  const name = say("check budget");
  const grids = [...grouped(runs, (one) => one.run.grid && one.run.grid[0]).values()];
  if (!grids.length) return [name, null, say("no grid")];
  const described = grids.map((own) => {
    const [, budget, points] = own[0].run.grid;
    return { epochs: counted(budget, "epoch"), points: counted(points, "point"), runs: named(own, 3) };
  });
  if (grids.length > 1) return [name, false, described.slice(0, 6).map((one) => say("grid", one)).join(" | ")];
  const everywhere = say(runs.length === 1 ? "only run" : "all runs", { n: runs.length });
  return [name, true, say("one grid", { ...described[0], runs: everywhere })];
}

function noRunTwice({ runs }) {
  const name = say("check twice");
  const groups = [...grouped(runs, (one) => one.run.twin).values()];
  const compared = groups.flat().length;
  if (compared < 2) return [name, null, say("few runs")];
  const twice = groups.filter((own) => own.length > 1 && own[0].run.moves);
  if (!twice.length) return [name, true, say("runs differ", { n: compared })];
  return [name, false, say("equal runs", { runs: twice.slice(0, 6).map((own) => named(own)).join(" | ") })];
}

function seedsArePaired({ methods, baseline }) {
  const name = "seeds are paired with the baseline";
  if (baseline === null) return [name, null, "no baseline in the timeline"];
  const others = [...methods].filter(([method]) => method !== baseline);
  if (!others.length) return [name, null, `no method other than ${baseline}`];
  const seeds = (list) => atMost(list, 8) || "none";
  const known = [...methods.get(baseline).keys()];
  const odd = [];
  for (const [method, own] of others) {
    const here = [...own.keys()].filter((seed) => !known.includes(seed));
    const there = known.filter((seed) => !own.has(seed));
    if (here.length + there.length) {
      odd.push(`${method}: only in ${method} ${seeds(here)}, only in ${baseline} ${seeds(there)}`);
    }
  }
  if (odd.length) return [name, false, odd.slice(0, 6).join(" | ")];
  return [name, true, `${counted(known.length, "common seed")} in ${counted(others.length, "method")}: ${seeds(known)}`];
}

function splitsAreKnown({ runs, splits }) {
  const name = say("check splits");
  const used = [...new Set(runs.flatMap((one) => one.run.splits))].sort(byCodePoint);
  const unknown = used.filter((split) => splits.get(split) !== true);
  const slips = unknown.filter((split) => splits.get(split) !== null);
  if (slips.length) {
    const asked = slips.map((split) => say("split meant", { split, meant: splits.get(split) }));
    return [name, false, say("splits not used", { splits: asked.join(", ") })];
  }
  const aside = unknown.length ? say("splits aside", { splits: unknown.join(", ") }) : "";
  return [name, true, say("splits known", { known: counted(used.length - unknown.length, "known split"), aside })];
}

function logWarnings({ methods, baseline }) {
  const found = [];
  const names = [...methods.keys()].join(", ");
  if (baseline === null) found.push(say("warn baseline", { baseline: DEFAULT_BASELINE, methods: names }));
  else if (methods.size === 1) found.push(say("warn alone", { baseline }));
  for (const [method, own] of methods) {
    const lacking = [...own.values()].flatMap((one) => {
      const what = one.run.has_t2 ? [...one.run.absent] : [say("no T2")];
      if (!what.length && one.epoch === null) what.push(say("no checkpoint"));
      return what.map((thing) => ({ thing, seed: one.seed }));
    });
    for (const [what, where] of grouped(lacking, (one) => one.thing)) {
      found.push(say("warn missing", { method, what, seeds: listedSeeds(where.map((one) => one.seed)) }));
    }
    if (baseline === null || method === baseline) continue;
    for (const [one, other] of [[method, baseline], [baseline, method]]) {
      const alone = [...methods.get(one).keys()].filter((seed) => !methods.get(other).has(seed));
      const key = alone.length === 1 ? "warn seed" : "warn seeds";
      if (alone.length) found.push(say(key, { seeds: listedSeeds(alone), method: one, other }));
    }
  }
  return found;
}
