"use strict";
// What may be chosen, refused with the messages of `einstellung score`; and the runs that are left.
((rigidity) => {
  const { byCodePoint, tauName } = rigidity.numbers;
  const DEFAULT_BASELINE = "scratch_t2";

  /** The number of characters that two texts share in order: the longest common block, then left and right of it. */
  function matching(a, b) {
    let [length, endA, endB] = [0, 0, 0];
    let before = [];
    for (let i = 0; i < a.length; i++) {
      const row = [];
      for (let j = 0; j < b.length; j++) {
        if (a[i] !== b[j]) continue;
        row[j] = (before[j - 1] || 0) + 1;
        if (row[j] > length) [length, endA, endB] = [row[j], i + 1, j + 1];
      }
      before = row;
    }
    if (length === 0) return 0;
    const left = matching(a.slice(0, endA - length), b.slice(0, endB - length));
    return left + length + matching(a.slice(endA), b.slice(endB));
  }

  function closest(name, known) {
    let best = null;
    for (const other of known) {
      const [a, b] = [Array.from(other), Array.from(name)];
      const ratio = a.length + b.length ? (2 * matching(a, b)) / (a.length + b.length) : 1;
      if (ratio >= 0.6 && (best === null || ratio >= best.ratio)) best = { ratio, other };
    }
    return best && best.other;
  }

  /** The closest known name as a question, or the list of known names. */
  function suggestion(name, names) {
    const known = [...names].sort(byCodePoint);
    const close = closest(name.toLowerCase().replace(/-/g, "_"), known) ?? closest(name, known);
    return close !== null ? `did you mean '${close}'?` : `there are: ${known.join(", ")}`;
  }

  /** A number from what was given; the text is judged as the command line would judge it. */
  function number(text, refuse) {
    const value = /^\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*$/i.test(text) ? Number(text) : NaN;
    if (Number.isFinite(value)) return value;
    const isNumber = /^\s*[+-]?(nan|inf(inity)?|[\d.]+e\d+)\s*$/i.test(text);
    return refuse(`input should be a ${isNumber ? "finite number" : "valid number, unable to parse string as a number"}`);
  }

  function atLeast(value, least, refuse) {
    return value >= least ? value : refuse(`input should be greater than or equal to ${least}`);
  }

  function whole(text, least, refuse) {
    if (!/^\s*[+-]?\d+(\.0+)?\s*$/.test(text)) refuse("input should be a valid integer, unable to parse string as an integer");
    return atLeast(Number(text), least, refuse);
  }

  function oneOf(text, choices, refuse) {
    const [last, ...others] = choices.map((choice) => `'${choice}'`).reverse();
    return choices.includes(text) ? text : refuse(`input should be ${others.reverse().join(", ")} or ${last}`);
  }

  const isAccuracy = (value) => value > 0 && value <= 1;

  function tau(text, refuse) {
    const value = number(text, refuse);
    return isAccuracy(value) ? value : refuse("a number above 0 and up to 1 is needed");
  }

  /** Rising, each threshold once. */
  function grid(text, refuse) {
    const values = text.split(",").filter((part) => part.trim()).map((part) => number(part, refuse));
    if (values.length === 0) refuse("at least one threshold is needed");
    if (!values.every(isAccuracy)) refuse("numbers above 0 and up to 1 are needed");
    const falling = [...values].sort((a, b) => b - a);
    return [...new Map(falling.map((value) => [tauName(value), value])).values()].sort((a, b) => a - b);
  }

  const FIELDS = { AD: "AD", PD: "PD", SFR: "SFR_rel" }; // how a margin is given -> how the card calls it

  function margins(given, own) {
    const found = { ...own };
    if (given === null || typeof given !== "object") {
      throw new Error(`--margins is ${given}: write three numbers from 0 up, for AD, PD and SFR_rel, e.g. 1,0.02,0.02`);
    }
    for (const [key, value] of Object.entries(given)) {
      const field = FIELDS[key];
      const refuse = (words) => {
        throw new Error(`--margins: ${field || key} is ${value}: ${words}`);
      };
      if (!field) refuse("extra inputs are not permitted");
      if (value !== null && value !== undefined) found[field] = atLeast(number(String(value), refuse), 0, refuse);
    }
    return found;
  }

  // in the order in which the command checks them
  const PARSE = {
    baseline: (text) => text,
    tau,
    window: (text, refuse) => whole(text, 1, refuse),
    smoothing: (text, refuse) => oneOf(text, ["trailing", "centred", "none"], refuse),
    tau_grid: grid,
    final: (text, refuse) => oneOf(text, ["auto", "last", "best-val"], refuse),
    margins,
    classes: (text, refuse) => whole(text, 2, refuse),
  };

  /** The settings with what was given in place of the study's own; what is null or missing stays. */
  function parse(given, own) {
    const option = (key) => `--${key.replace(/_/g, "-")}`;
    const names = Object.keys(PARSE);
    for (const key of Object.keys(given)) {
      if (names.includes(key) || key === "methods" || key === "seeds") continue;
      throw new Error(`${option(key)} is not a setting of the diagnosis 'rigidity': ${suggestion(key, names)}`);
    }
    const settings = { ...own };
    for (const key of names) {
      const value = given[key];
      if (value === null || value === undefined) continue;
      const refuse = (words) => {
        throw new Error(`${option(key)} is ${value}: ${words}`);
      };
      settings[key] = key === "margins" ? margins(value, own.margins) : PARSE[key](String(value), refuse);
    }
    return settings;
  }

  /** The runs of the methods and seeds that were asked for. */
  function chosenRuns(payload, { methods, seeds }) {
    if (methods && methods.length === 0) throw new Error("--methods '': give names separated by commas");
    if (seeds && !(seeds.length && seeds.every((seed) => /^\s*[+-]?\d+\s*$/.test(seed)))) {
      throw new Error(`--seeds ${seeds.join(",")}: give whole numbers separated by commas`);
    }
    const wanted = seeds && seeds.map((seed) => String(BigInt(seed)));
    for (const method of methods || []) {
      if (payload.methods.includes(method)) continue;
      throw new Error(`no method '${method}' in the timeline: ${suggestion(String(method), payload.methods)}`);
    }
    for (const seed of wanted || []) {
      if (payload.seeds.includes(seed)) continue;
      throw new Error(`no seed ${seed} in the timeline: there are: ${payload.seeds.join(", ")}`);
    }
    const kept = payload.runs.filter(
      (run) => (!methods || methods.includes(run.method)) && (!wanted || wanted.includes(run.seed)),
    );
    if (kept.length === 0) throw new Error("no run is left: none of these methods has one of these seeds");
    return kept;
  }

  /** The baseline's name as the timeline spells it; null if only the default is absent. */
  function resolveBaseline(methods, asked) {
    const wanted = asked === null ? DEFAULT_BASELINE : asked;
    const found = methods.includes(wanted)
      ? [wanted]
      : methods.filter((method) => method.toLowerCase() === wanted.toLowerCase());
    if (found.length === 1) return found[0];
    if (found.length > 1) throw new Error(`baseline '${wanted}' may be any of ${found.join(", ")}: write it exactly`);
    if (asked !== null) throw new Error(`no baseline '${asked}' in the timeline: ${suggestion(asked, methods)}`);
    return null;
  }

  /** The rule that picks the final checkpoint, the same for all runs, and what there is to say about it. */
  function finalRule(runs, final) {
    const trained = runs.filter((run) => run.has_t2);
    const without = new Map();
    for (const run of trained.filter((one) => !one.has_val)) {
      without.set(run.method, [...(without.get(run.method) || []), run.seed]);
    }
    const named = Array.from(without, ([method, seeds]) => `${method} (seeds ${seeds.join(", ")})`).join("; ");
    if (final === "best-val" && named) {
      throw new Error(`final 'best-val' needs the split T2_val after epoch 0, which is missing for ${named}`);
    }
    if (final !== "auto") return [final, []];
    if (trained.every((run) => !run.has_val)) return ["last", []];
    if (!named) return ["best-val", []];
    return ["last", [`the last epoch counts as final for every run, because T2_val is missing for ${named}`]];
  }

  rigidity.settings = { DEFAULT_BASELINE, parse, chosenRuns, resolveBaseline, finalRule };
})((globalThis.einstellungRigidity = globalThis.einstellungRigidity || {}));
