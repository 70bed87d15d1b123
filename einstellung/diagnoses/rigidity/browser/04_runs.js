"use strict";
// One run: its time to threshold, its final accuracies, and what comparing it with the baseline of the same seed gives.
((rigidity) => {
  const { minus, TOLERANCE } = rigidity.numbers;

  /** Moving average over effective epochs; epoch 0 neither enters a window nor has a value. `epochs` must rise. */
  function smooth(epochs, acc, window, smoothing) {
    if (smoothing === "none" || window <= 1) return acc.map((value, i) => (epochs[i] > TOLERANCE ? value : NaN));
    const ahead = smoothing === "trailing" ? 0 : window / 2;
    const sums = [0];
    for (const value of acc) sums.push(sums[sums.length - 1] + value);
    let [low, high] = [0, 0];
    return epochs.map((epoch) => {
      while (low < epochs.length && epochs[low] <= Math.max(epoch + ahead - window, 0) + TOLERANCE) low++;
      while (high < epochs.length && epochs[high] <= epoch + ahead + TOLERANCE) high++;
      return epoch > TOLERANCE ? (sums[high] - sums[low]) / (high - low) : NaN;
    });
  }

  /** The first epoch at which a smoothed curve is at or above the threshold; null where it never is. */
  function timeTo(tau, epochs, smoothed) {
    const place = smoothed.findIndex((value) => value >= tau - TOLERANCE);
    return place < 0 ? null : epochs[place];
  }

  /** Whether a run has no T1 behind it: the baseline, and one that knows no more of T1 than an untrained net. */
  function startsFresh(run, baseline, untrained) {
    if (run.method === baseline) return true;
    if (run.has_t1 || run.T1_start_of_T2 === null) return false;
    return run.T1_start_of_T2 <= Math.max(0.1, untrained || 0) + TOLERANCE;
  }

  const NAMES = ["SC_patch", "SC_mask", "NSC", "NSC_patched", "SC_clean", "SC_elsewhere"];

  function accuracies(values, phases) {
    const found = Object.fromEntries(values.map((value, place) => [NAMES[place], value]));
    if (phases) [found.T1, found.T1_after_T1] = [phases.R[1][0], phases.R[0][0]];
    found.delta = minus(found.SC_patch, found.SC_mask);
    found.share_lost = found.SC_mask === null || !found.SC_patch ? null : 1 - found.SC_mask / found.SC_patch;
    return found;
  }

  /** Everything that is read from one run's curves. */
  function measure(run, settings, rule, baseline, untrained) {
    const taus = [settings.tau, ...settings.tau_grid];
    const [epochs, acc] = run.curve || [[], []];
    const smoothed = smooth(epochs, acc, settings.window, settings.smoothing);
    const [E, ...grid] = taus.map((tau) => timeTo(tau, epochs, smoothed));
    const final = run.final[rule];
    const fresh = startsFresh(run, baseline, untrained);
    const phasesOf = (field) => {
      const { R, before_T2 } = run.phases[field];
      return { R: [fresh ? [null, null] : R[0], R[1]], before_T2 };
    };
    const phases = phasesOf("acc");
    const task = run.phases.acc_task ? phasesOf("acc_task") : null;
    return {
      run,
      method: run.method,
      seed: run.seed,
      fresh,
      E,
      grid,
      budget: run.curve ? epochs[epochs.length - 1] : null,
      epoch: final.epoch,
      accuracies: accuracies(final.acc, phases),
      within: accuracies(final.acc_within),
      groups: final.groups,
      phases,
      task: task && { accuracies: accuracies(final.acc_task, task), phases: task },
    };
  }

  function censoredSide(own, base, method, baseline) {
    if (own === null && base === null) return "both";
    if (own === null) return method;
    return base === null ? baseline : null;
  }

  const FACETS = ["AD", "PD", "SFR_rel", "CSR_rel", "delta_S", "SFR_rel_within", "PD_NSC", "PD_specific"];

  function unpaired(measured, paired) {
    const none = measured.grid.map(() => null);
    const undefinedFacets = Object.fromEntries(FACETS.map((name) => [name, null]));
    return { measured, paired, ...undefinedFacets, gridAD: none, censored: null, gridCensored: none };
  }

  /** A run beside the baseline's of the same seed. */
  function pair(measured, base) {
    if (!base) return unpaired(measured, false);
    const [own, other] = [measured.accuracies, base.accuracies];
    // A run without a patched curve was not watched: its delay is unknown, which is not the same as censored.
    const watched = measured.budget !== null && base.budget !== null;
    const times = [[measured.E, base.E], ...measured.grid.map((time, place) => [time, base.grid[place]])];
    const [AD, ...gridAD] = times.map(([one, two]) => minus(one, two));
    const [censored, ...gridCensored] = times.map(([one, two]) =>
      watched ? censoredSide(one, two, measured.method, base.method) : null,
    );
    const PD = minus(other.SC_patch, own.SC_patch);
    const PD_NSC = minus(other.NSC, own.NSC);
    const defined = own.delta !== null && other.delta !== null;
    return {
      measured,
      paired: true,
      AD,
      PD,
      SFR_rel: minus(own.delta, other.delta),
      CSR_rel: defined ? Math.abs(own.delta) - Math.abs(other.delta) : null,
      delta_S: other.delta,
      SFR_rel_within: minus(measured.within.delta, base.within.delta),
      PD_NSC,
      PD_specific: minus(PD, PD_NSC),
      gridAD,
      censored,
      gridCensored,
    };
  }

  /** A whole number where it is one: epochs are counted. */
  function whole(value) {
    return value !== null && Math.abs(value - Math.round(value)) <= TOLERANCE ? Math.round(value) : value;
  }

  /** What the card says of a run. */
  function seedRecord(score) {
    const { measured } = score;
    const { delta, share_lost, ...own } = measured.accuracies;
    const facets = Object.fromEntries(FACETS.filter((name) => name !== "delta_S").map((name) => [name, score[name]]));
    return {
      E: whole(measured.E),
      ...facets,
      AD: whole(score.AD),
      delta,
      delta_within: measured.within.delta,
      share_lost,
      ...own,
      checkpoint_epoch: whole(measured.epoch),
      paired: score.paired,
    };
  }

  rigidity.runs = { FACETS, smooth, measure, pair, unpaired, seedRecord };
})((globalThis.einstellungRigidity = globalThis.einstellungRigidity || {}));
