"use strict";
// The card of a study for any settings, as `einstellung score --json` prints it.

/** The runs in the log's order, and method -> seed -> run with rising seeds. */
function measureRuns(payload, kept, settings, rule, baseline) {
  const untrained = new Map(kept.filter((run) => run.method === baseline).map((run) => [run.seed, run.T1_start_of_T2]));
  const runs = kept.map((run) => measure(run, settings, rule, baseline, untrained.get(run.seed)));
  const places = new Map(payload.seeds.map((seed, place) => [seed, place]));
  const rising = (own) => [...own].sort((a, b) => places.get(a.seed) - places.get(b.seed)).map((run) => [run.seed, run]);
  const byMethod = grouped(runs, (run) => run.method);
  const names = payload.methods.filter((method) => byMethod.has(method));
  return { runs, methods: new Map(names.map((method) => [method, new Map(rising(byMethod.get(method)))])) };
}

/** What follows from the timeline alone; `effects`: what single images say of the cue, by method. */
function scoreTimeline(payload, given, effects) {
  words = payload.words;
  told = namingOf(payload.naming);
  const kept = chosenRuns(payload, given);
  const settings = parseSettings(given, payload.settings);
  const present = new Set(kept.map((run) => run.method));
  const baseline = resolveBaseline(payload.methods.filter((method) => present.has(method)), settings.baseline);
  const [rule, said] = finalRule(kept, settings.final);
  const { runs, methods } = measureRuns(payload, kept, settings, rule, baseline);
  const floor = floorOf(settings.classes);
  const found = [...methods.keys()].map((method) => assess(method, methods, baseline, settings, floor));
  const [pHolm, flagPHolm] = [holm(found.map((one) => one.p)), holm(found.map((one) => one.flagP))];
  const records = new Map(
    found.map((one, i) => [one.method, methodRecord(one, baseline, settings, floor, pHolm[i], flagPHolm[i])]),
  );
  for (const name of TRIPLET) {
    const tests = Array.from(records.values(), (record) => record.tests[name]);
    const corrected = holm(tests.map((test) => test.p));
    tests.forEach((test, place) => Object.assign(test, { p_holm: corrected[place] }));
  }
  for (const record of records.values()) {
    if (record.pattern) record.error_rate = errorRate(record, payload.error_rates);
  }
  const log = { runs, methods, baseline, t1Classes: payload.t1_classes, splits: new Map(Object.entries(payload.splits)) };
  const { tau, window, smoothing, margins, tau_grid } = settings;
  const named = baseline ?? DEFAULT_BASELINE;
  return {
    kind: "rigidity",
    schema_version: payload.card.schema_version,
    baseline: named,
    methods: Object.fromEntries(records),
    checks: logChecks(log),
    warnings: [...said, ...logWarnings(log)],
    variant: "paper",
    ...{ tau, window, smoothing, final: rule, margins, tau_grid, floor },
    besides: besides(records, named, methods, effects),
  };
}

/**
 * `payload`: what `browser_data.payload` returns. The result:
 * - `defaults`: the study's settings; `baseline: null` is scratch_t2, if it is there.
 * - `score(settings)`: the card for these settings; what is missing is as in the study. A mistake throws an Error with the
 *   command's message.
 * - `answer(card)`: the sentences that a reader sees first, in the order of the card's methods.
 * - `smooth(epochs, acc, window, smoothing)`: a curve as the score smooths it.
 * - `asInStudy`: paths of what comes from files of the runs: always as in the study, and right for its own settings only.
 */
function createScorer(payload) {
  const { card, settings } = payload;
  const failures = card.proxy === null ? payload.failures : [card.proxy, ...payload.failures];
  const effects = new Map(Object.entries((card.per_image && card.per_image.cue_effect) || {}));
  const own = scoreTimeline(payload, {}, effects);
  const checks = card.checks.slice(own.checks.length);
  const warnings = card.warnings.slice(failures.length + own.warnings.length);
  const asInStudy = ["per_image", "attention", "corroboration", "phases"].filter((key) => card[key] !== null);
  asInStudy.push(...checks.map((_, place) => `checks[${own.checks.length + place}]`));
  if (warnings.length) asInStudy.push(`warnings[-${warnings.length}:]`);
  if (card.per_image) asInStudy.push("besides[?@.kind=='pull']");

  function score(given) {
    const found = scoreTimeline(payload, given || {}, effects);
    const { per_image, attention, corroboration, proxy, reported, stream_facts, phases } = card;
    const isLeft = new Set(Object.keys(found.methods));
    const printed = reported && Object.entries(reported.methods).filter(([method]) => isLeft.has(method));
    return {
      ...found,
      checks: [...found.checks, ...checks],
      warnings: [...failures, ...found.warnings, ...warnings],
      ...{ per_image, attention, corroboration, proxy, stream_facts, phases },
      reported: printed && { ...reported, methods: Object.fromEntries(printed) },
    };
  }

  function answer(given) {
    // JavaScript puts names that are whole numbers first; then the order of the timeline is the right one
    const names = Object.keys(given.methods);
    const isMoved = names.some((name) => /^\d+$/.test(name));
    const order = isMoved ? payload.methods.filter((name) => names.includes(name)) : names;
    const [first, ...rest] = answerOf(given, new Map(order.map((name) => [name, given.methods[name]])));
    return [card.phases ? `In ${card.phases.shown}: ${first}` : first, ...rest];
  }

  const { AD, PD, SFR_rel } = settings.margins;
  const seeds = payload.seeds.map((seed) => (Number.isSafeInteger(Number(seed)) ? Number(seed) : seed));
  const defaults = { ...settings, margins: { AD, PD, SFR: SFR_rel }, methods: [...payload.methods], seeds };
  return { defaults, score, answer, asInStudy, smooth };
}
