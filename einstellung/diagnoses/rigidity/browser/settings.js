"use strict";
// What may be chosen, refused with the messages of `einstellung score`; and the runs that are left.

const DEFAULT_BASELINE = "scratch_t2";

/** The number of letters that two texts share in order: the longest common block, then left and right of it. */
function matching(a, b) {
  let [length, endA, endB, before] = [0, 0, 0, []];
  a.forEach((letter, i) => {
    const row = b.map((other, j) => (letter === other ? (before[j - 1] || 0) + 1 : 0));
    row.forEach((run, j) => {
      if (run > length) [length, endA, endB] = [run, i + 1, j + 1];
    });
    before = row;
  });
  if (length === 0) return 0;
  const left = matching(a.slice(0, endA - length), b.slice(0, endB - length));
  return left + length + matching(a.slice(endA), b.slice(endB));
}

/** The closest known name as a question, or the list of known names. */
function suggestion(name, names) {
  const known = [...names].sort(byCodePoint);
  for (const wanted of [name.toLowerCase().replace(/-/g, "_"), name]) {
    let [best, closest] = [0.6, []];
    for (const other of known) {
      const [a, b] = [Array.from(other), Array.from(wanted)];
      const ratio = (2 * matching(a, b)) / (a.length + b.length);
      if (ratio >= best) [best, closest] = [ratio, ratio > best ? [other] : [...closest, other]];
    }
    if (closest.length) return `did you mean ${closest.slice(-2).map((one) => `'${one}'`).join(" or ")}?`;
  }
  return `there are: ${known.join(", ")}`;
}

function option(key) {
  return `--${key.replace(/_/g, "-")}`;
}

/** A number from what was given; the text is judged as the command line would judge it. */
function number(text, refuse) {
  const value = /^\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*$/i.test(text) ? Number(text) : NaN;
  if (Number.isFinite(value)) return value;
  const isNumber = /^\s*[+-]?(nan|inf(inity)?|[\d.]+e\d+)\s*$/i.test(text);
  return refuse(`input should be a ${isNumber ? "finite number" : "valid number, unable to parse string as a number"}`);
}

function atLeast(least, value, refuse) {
  return value >= least ? value : refuse(`input should be greater than or equal to ${least}`);
}

function wholeFrom(least) {
  return (text, refuse) => {
    const isWhole = /^\s*[+-]?\d+(\.0+)?\s*$/.test(text);
    if (!isWhole) refuse("input should be a valid integer, unable to parse string as an integer");
    return atLeast(least, Number(text), refuse);
  };
}

function oneOf(...choices) {
  const [last, ...others] = choices.map((choice) => `'${choice}'`).reverse();
  const listed = `${others.reverse().join(", ")} or ${last}`;
  return (text, refuse) => (choices.includes(text) ? text : refuse(`input should be ${listed}`));
}

function isAccuracy(value) {
  return value > 0 && value <= 1;
}

/** The thresholds rising, each once. */
function parseGrid(text, refuse) {
  const values = text.split(",").filter((part) => part.trim()).map((part) => number(part, refuse));
  if (values.length === 0) refuse("at least one threshold is needed");
  if (!values.every(isAccuracy)) refuse("numbers above 0 and up to 1 are needed");
  const once = new Map(values.sort((a, b) => b - a).map((value) => [tauName(value), value]));
  return [...once.values()].sort((a, b) => a - b);
}

function parseMargins(given, own) {
  const found = { ...own };
  for (const [key, value] of Object.entries(given)) {
    const field = key === "SFR" ? "SFR_rel" : key;
    const refuse = (why) => {
      throw new Error(`--margins: ${field} is ${value}: ${why}`);
    };
    if (!["AD", "PD", "SFR"].includes(key)) refuse("extra inputs are not permitted");
    if ((value ?? null) !== null) found[field] = atLeast(0, number(String(value), refuse), refuse);
  }
  return found;
}

// in the order in which the command judges them
const PARSERS = {
  baseline: (text) => text,
  tau(text, refuse) {
    const value = number(text, refuse);
    return isAccuracy(value) ? value : refuse("a number above 0 and up to 1 is needed");
  },
  window: wholeFrom(1),
  smoothing: oneOf("trailing", "centred", "none"),
  tau_grid: parseGrid,
  final: oneOf("auto", "last", "best-val"),
  margins: null,
  classes: wholeFrom(2),
  phase: (text, refuse) => refuse("this page is about one phase: choose another with einstellung score"),
};

/** The settings with what was given in place of the study's own; what is null or missing stays. All problems are reported at once. */
function parseSettings(given, own) {
  const names = Object.keys(PARSERS);
  const problems = Object.keys(given)
    .filter((key) => ![...names, "methods", "seeds"].includes(key))
    .map((key) => `${option(key)} is not a setting of the diagnosis 'rigidity': ${suggestion(key, names)}`);
  const settings = { ...own };
  for (const key of names) {
    const value = given[key] ?? null;
    const refuse = (why) => {
      throw new Error(`${option(key)} is ${value}: ${why}`);
    };
    if (value === null) continue;
    try {
      settings[key] = key === "margins" ? parseMargins(value, own.margins) : PARSERS[key](String(value), refuse);
    } catch (error) {
      problems.push(error.message);
    }
  }
  if (problems.length) throw new Error(problems.join("; "));
  return settings;
}

/** The runs of the methods and seeds that were asked for; null or missing: of all. */
function chosenRuns(payload, { methods, seeds }) {
  if (methods && methods.length === 0) throw new Error("--methods '': give names separated by commas");
  if (seeds && !(seeds.length && seeds.every((seed) => /^\s*[+-]?\d+\s*$/.test(seed)))) {
    throw new Error(`--seeds ${seeds.join(",")}: give whole numbers separated by commas`);
  }
  const numbers = seeds && seeds.map((seed) => String(BigInt(seed)));
  const method = methods && methods.find((one) => !payload.methods.includes(one));
  if (method !== undefined && method !== null) {
    throw new Error(`no method '${method}' in the timeline: ${suggestion(String(method), payload.methods)}`);
  }
  const seed = numbers && numbers.find((one) => !payload.seeds.includes(one));
  if (seed) throw new Error(`no seed ${seed} in the timeline: there are: ${payload.seeds.join(", ")}`);
  const isChosen = (run) => (!methods || methods.includes(run.method)) && (!numbers || numbers.includes(run.seed));
  const kept = payload.runs.filter(isChosen);
  if (kept.length === 0) throw new Error("no run is left: none of these methods has one of these seeds");
  return kept;
}

/** The baseline's name as the timeline spells it; null if only the default is absent. */
function resolveBaseline(methods, asked) {
  const wanted = asked ?? DEFAULT_BASELINE;
  if (methods.includes(wanted)) return wanted;
  const found = methods.filter((method) => method.toLowerCase() === wanted.toLowerCase());
  if (found.length > 1) throw new Error(`baseline '${wanted}' matches ${found.join(", ")}: give the exact name`);
  if (found.length === 0 && asked !== null) {
    throw new Error(`no baseline '${asked}' in the timeline: ${suggestion(asked, methods)}`);
  }
  return found[0] ?? null;
}

/** The rule that picks the final checkpoint, the same for all runs, and what there is to say about it. */
function finalRule(runs, final) {
  const trained = runs.filter((run) => run.has_t2);
  const without = grouped(trained.filter((run) => !run.has_val), (run) => run.method);
  const seeds = (own) => own.map((run) => run.seed).join(", ");
  const named = Array.from(without, ([method, own]) => `${method} (seeds ${seeds(own)})`).join("; ");
  if (final === "best-val" && named) throw new Error(say("final needs", { runs: named }));
  if (final !== "auto") return [final, []];
  if (!trained.some((run) => run.has_val)) return ["last", []];
  return named ? ["last", [say("final last", { runs: named })]] : ["best-val", []];
}
