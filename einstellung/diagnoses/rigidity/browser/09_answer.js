"use strict";
// What a reader sees first: the patterns with their certainty, the reliance on the cue, and what the cue does besides.
((rigidity) => {
  const { fixed, minus, percent } = rigidity.numbers;
  const { summarise } = rigidity.statistics;
  const { FEWEST_SEEDS, SHARED_RELIANCE } = rigidity.patterns;

  const excludesZero = ({ n, ci95 }) => n >= FEWEST_SEEDS && ci95 !== null && !(ci95[0] <= 0 && 0 <= ci95[1]);
  const finding = (method, kind, { mean, ci95, n }, text) => [{ method, kind, value: mean, ci95, n, text }];

  /** PD_SC - PD_NSC: what its history does to the cue's classes and not to the others. */
  function specific(method, record, baseline, base) {
    const found = record.PD_specific;
    if (!found || found.mean === null || !base || !excludesZero(found)) return [];
    const numbers = [["SC with the cue", "SC_patch"], ["NSC", "NSC"]]
      .map(([label, key]) => `${label} ${fixed(record[key].mean)} against ${fixed(base[key].mean)}`)
      .join(", ");
    let what = "does worse on the cue's classes than on the others";
    if (found.mean < 0) {
      what = "does better on the cue's classes than on the others: the cue helps it beyond what any history would";
      const others = record.PD_NSC;
      // of what it loses on the other classes, the larger part spares the cue's
      if (others && excludesZero(others) && others.mean > 0 && -found.mean > (record.PD.mean || 0)) {
        what = "keeps the cue's classes and loses the others: the cue tells it which task an image is from";
      }
    }
    return finding(method, "specific", found, `compared with ${baseline}, ${method} ${what} (${numbers})`);
  }

  /** How many more images of the other classes are called a shortcut class once they have the cue. */
  function pull(method, record, effect) {
    if (effect && excludesZero(effect.pull) && effect.NSC_patched_called_SC.mean !== null) {
      const text =
        `put on images of the other classes, the cue makes ${method} call ${percent(effect.NSC_patched_called_SC.mean)} of them ` +
        `a shortcut class (${percent(effect.NSC_called_SC.mean || 0)} without it)`;
      return finding(method, "pull", effect.pull, text);
    }
    if (effect && effect.pull.mean !== null) return [];
    const drop = summarise(Object.values(record.per_seed).map((own) => minus(own.NSC, own.NSC_patched)));
    if (!excludesZero(drop) || drop.mean <= 0) return [];
    const cost = `${fixed(100 * drop.mean, 1)} points of accuracy there`;
    return finding(method, "pull", drop, `put on images of the other classes, the cue costs ${method} ${cost}`);
  }

  /** What the cue is worth at another place, where it is worth something at its own. */
  function placement(method, record) {
    const moved = summarise(Object.values(record.per_seed).map((own) => minus(own.SC_elsewhere, own.SC_mask)));
    const { mean } = record.delta;
    if (moved.mean === null || mean === null || mean < SHARED_RELIANCE || moved.n < FEWEST_SEEDS) return [];
    const worth = `${fixed(100 * moved.mean, 1)} of its ${fixed(100 * mean, 1)} points`;
    const text =
      excludesZero(moved) && moved.mean > 0
        ? `moved to the other side of the image, the cue is worth ${worth} to ${method}`
        : `${method} uses the cue at its usual place only: moved, it is worth ${worth}`;
    return finding(method, "placement", moved, text);
  }

  /** Every finding whose interval excludes 0, method by method; `effects`: what single images say, by method. */
  function besides(records, baseline, effects) {
    return Array.from(records).flatMap(([method, record]) => [
      ...specific(method, record, baseline, records.get(baseline)),
      ...pull(method, record, effects.get(method)),
      ...placement(method, record),
    ]);
  }

  /** The line under a verdict: how often it is false, or how often a red flag would have been found. */
  function errorRate(record, rates) {
    const seeds = Object.values(record.per_seed).filter((own) => own.paired).length;
    const sizes = Object.keys(rates).map(Number);
    const size = Math.max(...sizes.filter((one) => one <= seeds));
    if (size === -Infinity) {
      return `How often such a verdict is false was measured from ${Math.min(...sizes)} seeds on, not for ${seeds}.`;
    }
    const { false_alarms, power } = rates[size];
    const worst = false_alarms[record.pattern];
    if (worst) {
      const [low, high] = worst.ci95.map(percent);
      return (
        `A certain ${record.pattern} is false in ${percent(worst.share)} of null studies with ${size} seeds (95 %: ${low} to ` +
        `${high}; ${worst.control}).`
      );
    }
    return (
      `With ${size} seeds a red flag is found with certainty in ${percent(power["red-flag"].share)} of positive controls, and ` +
      `falsely in ${percent(false_alarms["red-flag"].share)} of null studies.`
    );
  }

  const PATTERNS = {
    "red-flag": (base) => `faster than ${base}, no worse with the cue present, and leaning on the cue more than ${base}`,
    saturated: (base) => `right with the cue only, and so is ${base}: at this floor the relative index cannot tell`,
    "cue-harmful": (base) => `compared where the cue hurts ${base} itself, so relative reliance reads as relative harm`,
    "shared-shortcut": (base) => `leaning on the cue just as ${base} does, so the training history adds nothing`,
    "benign-avoidance": (base) => `faster than ${base}, yet worse with the cue present and hardly leaning on it`,
    "benign-transfer": (base) => `hardly leaning on the cue, and not more than ${base}`,
    ambiguous: () => "not decided by these data",
  };

  const join = (names) => (names.length > 1 ? `${names.slice(0, -1).join(", ")} and ${names[names.length - 1]}` : names[0]);

  function patternSentence(certainty, names, words) {
    if (certainty === "leans") return `By the means ${names} ${words}, but that is not conclusive.`;
    if (certainty === "too few seeds") return `By the means alone ${names} ${words}: there are too few seeds to tell.`;
    return `${names} ${words}.`;
  }

  /** `records`: the card's methods, in order. */
  function patterns(records, baseline) {
    const compared = [...records.keys()].filter((method) => method !== baseline);
    if (!compared.length) return ["There is no continual learner in this timeline, so there is nothing to compare."];
    if (!records.has(baseline)) {
      return ["There is no baseline in this timeline, so nothing can be said relative to a model trained from scratch."];
    }
    const groups = new Map();
    for (const method of compared) {
      const { pattern, certainty, n_seeds } = records.get(method);
      const shown = pattern === "ambiguous" && n_seeds >= FEWEST_SEEDS ? null : certainty;
      const key = `${pattern}/${shown}`;
      if (!groups.has(key)) groups.set(key, { pattern, shown, members: [] });
      groups.get(key).members.push(method);
    }
    const order = Object.keys(PATTERNS);
    const sorted = [...groups.values()].sort((a, b) => order.indexOf(a.pattern) - order.indexOf(b.pattern));
    const sentences = sorted.map(({ pattern, shown, members }) => {
      const verb = members.length === 1 ? "is" : "are";
      return patternSentence(shown, join(members), `${verb} ${PATTERNS[pattern](baseline)} (${pattern})`);
    });
    const unlearned = compared.filter((method) => records.get(method).unlearned);
    if (unlearned.length) {
      const all = unlearned.length === compared.length && compared.length > 1;
      const among = all ? "None of them" : `Neither ${baseline} nor ${unlearned.join(" nor ")}`;
      sentences.push(`${among} has learned the shortcut classes, even with the cue: no facet means anything there yet.`);
    }
    return sentences;
  }

  /** A difference of accuracies with a real minus sign; 0 has none. */
  function difference(value) {
    const text = fixed(value, 3, true);
    return (Number(text) === 0 ? text.slice(1) : text).replace("-", "−");
  }

  function deltas(records, baseline, methods) {
    if (methods.length > 6) {
      const ordered = [...methods].sort((a, b) => records.get(a).delta.mean - records.get(b).delta.mean);
      const [first, last] = [ordered[0], ordered[ordered.length - 1]].map((one) => deltas(records, baseline, [one]));
      const among = methods.includes(baseline) ? `; ${deltas(records, baseline, [baseline])} is among them` : "";
      return `${methods.length} models, from ${first} to ${last}${among}`;
    }
    return join(
      methods.map((method) => {
        const { mean, ci95 } = records.get(method).delta;
        const range = ci95 ? `, 95 % [${difference(ci95[0])}, ${difference(ci95[1])}]` : "";
        return `${method} (Δ ${difference(mean)}${range})`;
      }),
    );
  }

  /** Which methods rely on the cue at all: Δ, and on which side of 0 its interval lies. */
  function reliance(records, baseline) {
    const sides = { above: [], below: [], across: [], "no interval": [] };
    for (const [method, { delta }] of records) {
      if (delta.mean === null) continue;
      const { ci95 } = delta;
      const side = !ci95 ? "no interval" : ci95[0] > 0 ? "above" : ci95[1] < 0 ? "below" : "across";
      sides[side].push(method);
    }
    const sentences = {
      above: (of) => `Covering the cue costs accuracy in ${of}.`,
      below: (of) => `Covering the cue helps in ${of}.`,
      across: (of) => `Whether covering the cue costs accuracy is open in ${of}: the interval holds 0.`,
      "no interval": (of) =>
        `From too few seeds for an interval, accuracy with the cue minus accuracy with it covered: ${of}.`,
    };
    const found = Object.entries(sides).filter(([, methods]) => methods.length);
    if (!found.length) {
      return ["Absolute reliance on the cue was not measured: there are no accuracies with the cue covered."];
    }
    return found.map(([side, methods]) => sentences[side](deltas(records, baseline, methods)));
  }

  /** The paragraphs of the answer; `records`: the card's methods, in order. */
  function answer(card, records) {
    const texts = card.besides.filter((found) => found.kind === "specific").map((found) => found.text);
    const specifics = texts.map((text) => {
      const [first, ...rest] = text;
      return `${first.toUpperCase()}${rest.join("")}.`;
    });
    const paragraphs = [patterns(records, card.baseline), reliance(records, card.baseline), specifics];
    return paragraphs.filter((sentences) => sentences.length).map((sentences) => sentences.join(" "));
  }

  rigidity.answer = { besides, errorRate, answer };
})((globalThis.einstellungRigidity = globalThis.einstellungRigidity || {}));
