"use strict";
// The card of a study for any settings, as `einstellung score --json` prints it.
((rigidity) => {
  const { holm } = rigidity.statistics;
  const { DEFAULT_BASELINE, parse, chosenRuns, resolveBaseline, finalRule } = rigidity.settings;
  const { measure } = rigidity.runs;
  const { floorOf } = rigidity.patterns;
  const { logChecks, logWarnings } = rigidity.checks;
  const { assess, record } = rigidity.methods;
  const { besides, errorRate, answer } = rigidity.answer;

  /** Method -> seed -> what was measured, methods in the log's order and seeds rising; and the same runs in the log's order. */
  function measureRuns(payload, kept, settings, rule, baseline) {
    const untrained = new Map(kept.filter((run) => run.method === baseline).map((run) => [run.seed, run.T1_start_of_T2]));
    const runs = kept.map((run) => measure(run, settings, rule, baseline, untrained.get(run.seed)));
    const places = new Map(payload.seeds.map((seed, place) => [seed, place]));
    const methods = new Map(runs.map((run) => [run.method, new Map()]));
    for (const run of [...runs].sort((a, b) => places.get(a.seed) - places.get(b.seed))) {
      methods.get(run.method).set(run.seed, run);
    }
    return { runs, methods };
  }

  /** Correct each facet's tests for the number of methods compared. */
  function correctTests(records) {
    for (const name of ["PD", "SFR_rel", "AD"]) {
      const tests = records.map((one) => one.tests[name]);
      holm(tests.map((test) => test.p)).forEach((p, place) => {
        tests[place].p_holm = p;
      });
    }
  }

  /** What follows from the timeline alone; `effects`: what single images say of the cue, by method. */
  function scoreTimeline(payload, given, effects) {
    const kept = chosenRuns(payload, given);
    const settings = parse(given, payload.settings);
    const names = payload.methods.filter((method) => kept.some((run) => run.method === method));
    const baseline = resolveBaseline(names, settings.baseline);
    const [rule, said] = finalRule(kept, settings.final);
    const { runs, methods } = measureRuns(payload, kept, settings, rule, baseline);
    const floor = floorOf(settings.classes);
    const found = names.map((method) => assess(method, methods, baseline, settings, floor));
    const pHolm = holm(found.map((one) => one.p));
    const flagPHolm = holm(found.map((one) => one.flagP));
    const records = found.map((one, place) => record(one, baseline, settings, floor, pHolm[place], flagPHolm[place]));
    correctTests(records);
    for (const one of records) if (one.pattern) one.error_rate = errorRate(one, payload.error_rates);
    const byMethod = new Map(names.map((method, place) => [method, records[place]]));
    const log = { runs, methods, baseline, t1Classes: payload.t1_classes, splits: new Map(Object.entries(payload.splits)) };
    return {
      kind: "rigidity",
      schema_version: payload.card.schema_version,
      baseline: baseline ?? DEFAULT_BASELINE,
      methods: Object.fromEntries(byMethod),
      checks: logChecks(log),
      warnings: [...said, ...logWarnings(log)],
      variant: "paper",
      tau: settings.tau,
      window: settings.window,
      smoothing: settings.smoothing,
      final: rule,
      margins: settings.margins,
      tau_grid: settings.tau_grid,
      floor,
      besides: besides(byMethod, baseline ?? DEFAULT_BASELINE, effects),
    };
  }

  /** What the browser cannot compute, by its place in the card: it comes from files of the runs. */
  function pathsAsInStudy({ card }, checks, warnings) {
    const paths = ["per_image", "attention", "corroboration"].filter((key) => card[key] !== null);
    paths.push(...checks.map((_, place) => `checks[${card.checks.length - checks.length + place}]`));
    if (warnings.length) paths.push(`warnings[-${warnings.length}:]`);
    if (card.per_image) paths.push("besides[?@.kind=='pull']");
    return paths;
  }

  /**
   * `payload`: what `browser_data.payload` returns. The result:
   * - `defaults`: the study's settings; `baseline: null` is scratch_t2, if it is there.
   * - `score(settings)`: the card for these settings; what is missing is as in the study. A mistake throws an Error with the
   *   command's message.
   * - `answer(card)`: the sentences that a reader sees first.
   * - `asInStudy`: paths of what is always returned as in the study, and is right for the study's own settings only.
   */
  function createScorer(payload) {
    const { card, settings, failures } = payload;
    const effects = new Map(Object.entries((card.per_image && card.per_image.cue_effect) || {}));
    const own = scoreTimeline(payload, {}, effects);
    const checks = card.checks.slice(own.checks.length);
    const warnings = card.warnings.slice(failures.length + own.warnings.length);

    function score(given = {}) {
      const found = scoreTimeline(payload, given || {}, effects);
      const printed = card.reported && Object.entries(card.reported.methods);
      const isLeft = new Set(Object.keys(found.methods));
      return {
        ...found,
        checks: [...found.checks, ...checks],
        warnings: [...failures, ...found.warnings, ...warnings],
        per_image: card.per_image,
        attention: card.attention,
        corroboration: card.corroboration,
        reported: printed && { ...card.reported, methods: Object.fromEntries(printed.filter(([name]) => isLeft.has(name))) },
        stream_facts: card.stream_facts,
      };
    }

    /** The card's own order of methods, but JavaScript puts names that are whole numbers first: then that of the timeline. */
    function orderedRecords({ methods }) {
      const names = Object.keys(methods);
      const order = names.some((name) => /^\d+$/.test(name)) ? payload.methods.filter((name) => names.includes(name)) : names;
      return new Map(order.map((name) => [name, methods[name]]));
    }

    const { margins, ...plain } = settings;
    const isSafe = (seed) => Number.isSafeInteger(Number(seed));
    return {
      defaults: {
        ...plain,
        margins: { AD: margins.AD, PD: margins.PD, SFR: margins.SFR_rel },
        methods: [...payload.methods],
        seeds: payload.seeds.map((seed) => (isSafe(seed) ? Number(seed) : seed)),
      },
      score,
      answer: (given) => answer(given, orderedRecords(given)),
      asInStudy: pathsAsInStudy(payload, checks, warnings),
    };
  }

  globalThis.createScorer = createScorer;
})((globalThis.einstellungRigidity = globalThis.einstellungRigidity || {}));
