"use strict";
// The summary shown first: patterns with their certainty, reliance on the cue, and other effects of the cue.
// `records`: the card's methods by name, in order.

function excludesZero({ n, ci95 }) {
  return n >= FEWEST_SEEDS && ci95 !== null && !(ci95[0] <= 0 && 0 <= ci95[1]);
}

/** PD_SC - PD_NSC: the effect of the training history that is specific to the shortcut classes. */
function specific(method, record, baseline, base) {
  const found = record.PD_specific;
  if (!found || found.mean === null || !base || !excludesZero(found)) return [];
  const numbers = say("specific numbers", {
    own: fixed(record.SC_patch.mean),
    other: fixed(base.SC_patch.mean),
    own_NSC: fixed(record.NSC.mean),
    other_NSC: fixed(base.NSC.mean),
  });
  return [["specific", found, say("specific", { method, baseline, what: say(`specific ${specificWords(found.mean, record)}`), numbers })]];
}

function isAboveZero(summary) {
  return summary !== null && excludesZero(summary) && summary.mean > 0;
}

/** What sets the shortcut classes apart; the cue is named only where the model relies on it more, or on nothing else. */
function specificWords(mean, { PD, PD_NSC, SFR_rel, saturated: isSaturated }) {
  const deficits = [PD, PD_NSC].filter(Boolean).map((summary) => summary.mean || 0);
  if (mean < 0 && isAboveZero(PD_NSC) && -mean > deficits[0]) { // most of the loss spares the shortcut classes
    return isSaturated || isAboveZero(SFR_rel) ? "keeps by the cue" : "keeps";
  }
  if (Math.max(...deficits) <= TOLERANCE) return mean < 0 ? "gains more" : "gains less";
  if (Math.min(...deficits) >= -TOLERANCE) return mean < 0 ? "loses less" : "loses more";
  return mean < 0 ? "better" : "worse";
}

/** Over the runs, not the card's `per_seed`: an object moves some seeds to its front, and a sum in another order may round. */
function perSeedDifference(runs, one, other) {
  return summarise(Array.from(runs.values(), (run) => minus(run.accuracies[one], run.accuracies[other])));
}

/** The increase in the share of other-class images assigned to a shortcut class when the cue is added. */
function pull(method, runs, effect) {
  if (effect && excludesZero(effect.pull) && effect.NSC_patched_called_SC.mean !== null) {
    const [with_cue, without] = [effect.NSC_patched_called_SC.mean, effect.NSC_called_SC.mean || 0].map(percent);
    return [["pull", effect.pull, say("pull", { method, with_cue, without })]];
  }
  if (effect && effect.pull.mean !== null) return [];
  const drop = perSeedDifference(runs, "NSC", "NSC_patched");
  if (!excludesZero(drop) || drop.mean <= 0) return [];
  return [["pull", drop, say("pull cost", { method, points: fixed(100 * drop.mean, 1) })]];
}

/** The value of the cue at another position, for models that rely on it at its usual one. */
function placement(method, runs, { delta }) {
  const moved = perSeedDifference(runs, "SC_elsewhere", "SC_mask");
  if (moved.mean === null || delta.mean === null || delta.mean < SHARED_RELIANCE || moved.n < FEWEST_SEEDS) return [];
  const key = excludesZero(moved) && moved.mean > 0 ? "placement" : "placement only";
  const points = { moved: fixed(100 * moved.mean, 1), delta: fixed(100 * delta.mean, 1) };
  return [["placement", moved, say(key, { method, ...points })]];
}

/** Every finding whose interval excludes 0, method by method; `methods`: their runs; `effects`: per-image effects. */
function besides(records, baseline, methods, effects) {
  return Array.from(records).flatMap(([method, record]) =>
    [
      ...specific(method, record, baseline, records.get(baseline)),
      ...pull(method, methods.get(method), effects.get(method)),
      ...placement(method, methods.get(method), record),
    ].map(([kind, { mean, ci95, n }, text]) => ({ method, kind, value: mean, ci95, n, text })),
  );
}

/** The line below a verdict: its false-positive rate, or the power to detect a red flag. */
function errorRate({ pattern, per_seed }, rates) {
  const seeds = Object.values(per_seed).filter((own) => own.paired).length;
  const sizes = Object.keys(rates).map(Number);
  const size = Math.max(...sizes.filter((one) => one <= seeds));
  if (size === -Infinity) return say("rate unknown", { least: Math.min(...sizes), seeds });
  const { false_alarms, power } = rates[size];
  const worst = false_alarms[pattern];
  if (worst) {
    const [low, high] = worst.ci95.map(percent);
    return say("rate", { pattern, share: percent(worst.share), size, low, high, control: worst.control });
  }
  const [found, share] = [power, false_alarms].map((kind) => percent(kind["red-flag"].share));
  return say("rate of red flags", { size, power: found, share });
}

function join(names) {
  return names.length > 1 ? `${names.slice(0, -1).join(", ")} and ${names[names.length - 1]}` : names[0];
}

const PATTERNS = "red-flag saturated cue-harmful shared-shortcut benign-avoidance benign-transfer ambiguous".split(" ");

function patternSentences(records, baseline) {
  const compared = [...records.keys()].filter((method) => method !== baseline);
  if (!compared.length) return [say("answer none")];
  if (!records.has(baseline)) return [say("answer no baseline")];
  const sentences = [];
  for (const pattern of PATTERNS) {
    const own = compared.filter((method) => records.get(method).pattern === pattern);
    const groups = grouped(own, (method) => {
      const { certainty, n_seeds } = records.get(method);
      return pattern === "ambiguous" && n_seeds >= FEWEST_SEEDS ? "" : certainty; // no pattern, so no certainty
    });
    for (const [certainty, members] of groups) {
      const verb = members.length === 1 ? "is" : "are";
      const fields = { names: join(members), verb, words: say(`is ${pattern}`, { baseline }), pattern };
      sentences.push(say(`answer ${certainty || "holds"}`, fields));
    }
  }
  const unlearned = compared.filter((method) => records.get(method).unlearned);
  if (unlearned.length) {
    const key = unlearned.length === compared.length && compared.length > 1 ? "among all" : "among";
    const among = say(key, { baseline, methods: unlearned.join(" nor ") });
    sentences.push(say("answer unlearned", { among }));
  }
  return sentences;
}

/** A difference of accuracies with a real minus sign; 0 has none. */
function difference(value) {
  const text = fixed(value, 3, "+");
  return (Number(text) === 0 ? text.slice(1) : text).replace("-", "−");
}

function describeDeltas(records, baseline, methods) {
  const one = (method) => {
    const { mean, ci95 } = records.get(method).delta;
    const bounds = ci95 ? say("delta bounds", { interval: `[${ci95.map(difference).join(", ")}]` }) : "";
    return say("delta", { method, delta: difference(mean), bounds });
  };
  if (methods.length <= 6) return join(methods.map(one));
  const ordered = [...methods].sort((a, b) => records.get(a).delta.mean - records.get(b).delta.mean);
  const among = methods.includes(baseline) ? say("deltas among", { baseline: one(baseline) }) : "";
  return say("deltas", { n: methods.length, first: one(ordered[0]), last: one(ordered[ordered.length - 1]), among });
}

/** Which methods rely on the cue: Δ and the side of 0 on which its interval lies. */
function relianceSentences(records, baseline) {
  const sides = grouped(records.keys(), (method) => {
    const { mean, ci95 } = records.get(method).delta;
    if (mean === null) return null;
    return !ci95 ? "no interval" : ci95[0] > 0 ? "above" : ci95[1] < 0 ? "below" : "across";
  });
  if (!sides.size) return [say("cue unmeasured")];
  return ["above", "below", "across", "no interval"]
    .filter((side) => sides.has(side))
    .map((side) => say(`cue ${side}`, { deltas: describeDeltas(records, baseline, sides.get(side)) }));
}

/** The paragraphs of the answer. */
function answerOf({ baseline, besides: findings }, records) {
  const texts = findings.filter((found) => found.kind === "specific").map((found) => found.text);
  const specifics = texts.map((text) => `${text[0].toUpperCase()}${text.slice(1)}.`);
  const paragraphs = [patternSentences(records, baseline), relianceSentences(records, baseline), specifics];
  return paragraphs.filter((sentences) => sentences.length).map((sentences) => sentences.join(" "));
}
