"use strict";
// One run: its time to threshold, its final accuracies, and what comparing it with the baseline of the same seed gives.

/** Moving average over effective epochs; epoch 0 neither enters a window nor has a value. `epochs` must rise. */
function smooth(epochs, acc, window, smoothing) {
  if (smoothing === "none" || window <= 1) return acc.map((value, i) => (epochs[i] > TOLERANCE ? value : NaN));
  const ahead = smoothing === "trailing" ? 0 : window / 2;
  const sums = [0];
  for (const value of acc) sums.push(sums[sums.length - 1] + value);
  let [low, high] = [0, 0];
  return epochs.map((epoch) => {
    while (epochs[low] <= Math.max(epoch + ahead - window, 0) + TOLERANCE) low++;
    while (epochs[high] <= epoch + ahead + TOLERANCE) high++;
    return epoch > TOLERANCE ? (sums[high] - sums[low]) / (high - low) : NaN;
  });
}

/** Whether a run has no T1 behind it: the baseline, and one that knows no more of T1 than an untrained net. */
function startsFresh(run, baseline, untrained) {
  if (run.method === baseline) return true;
  if (run.has_t1 || run.T1_start_of_T2 === null) return false;
  return run.T1_start_of_T2 <= Math.max(0.1, untrained || 0) + TOLERANCE;
}

const AT_CHECKPOINT = ["SC_patch", "SC_mask", "NSC", "NSC_patched", "SC_clean", "SC_elsewhere"];

function accuracies(values, phases) {
  const found = Object.fromEntries(values.map((value, place) => [AT_CHECKPOINT[place], value]));
  if (phases) [found.T1, found.T1_after_T1] = [phases.R[1][0], phases.R[0][0]];
  found.delta = minus(found.SC_patch, found.SC_mask);
  found.share_lost = found.SC_mask === null || !found.SC_patch ? null : 1 - found.SC_mask / found.SC_patch;
  return found;
}

/** Everything that is read from one run's curves. */
function measure(run, settings, rule, baseline, untrained) {
  const [epochs, acc] = run.curve || [[], []];
  const smoothed = smooth(epochs, acc, settings.window, settings.smoothing);
  const timeTo = (tau) => epochs[smoothed.findIndex((value) => value >= tau - TOLERANCE)] ?? null;
  const times = [settings.tau, ...settings.tau_grid].map(timeTo);
  const fresh = startsFresh(run, baseline, untrained);
  const final = run.final[rule];
  const phasesOf = (field) => {
    const own = run.phases[field];
    return own && { R: [fresh ? [null, null] : own.R[0], own.R[1]], before_T2: own.before_T2 };
  };
  const [phases, task] = [phasesOf("acc"), phasesOf("acc_task")];
  return {
    run,
    method: run.method,
    seed: run.seed,
    fresh,
    times,
    E: times[0],
    first: epochs.find((epoch) => epoch > TOLERANCE) ?? null,
    budget: epochs[epochs.length - 1] ?? null,
    epoch: final.epoch,
    accuracies: accuracies(final.acc, phases),
    within: accuracies(final.acc_within),
    groups: final.groups,
    phases,
    task: task && { accuracies: accuracies(final.acc_task, task), phases: task },
  };
}

const FACETS = ["AD", "PD", "SFR_rel", "CSR_rel", "delta_S", "SFR_rel_within", "PD_NSC", "PD_specific"];

function unpaired(measured, paired) {
  const none = measured.times.map(() => null);
  return { measured, paired, delays: none, censored: none, ...fromNames(FACETS, () => null) };
}

/** A run beside the baseline's of the same seed; `delays` and `censored`: at tau, then at the thresholds of the grid. */
function pair(measured, base) {
  if (!base) return unpaired(measured, false);
  const [own, other] = [measured.accuracies, base.accuracies];
  // A run without a patched curve was not watched: its delay is unknown, which is not the same as censored.
  const watched = measured.budget !== null && base.budget !== null;
  const censoredBy = (time, place) => {
    if (!watched) return null;
    if (time !== null) return base.times[place] === null ? base.method : null;
    return base.times[place] === null ? "both" : measured.method;
  };
  const delays = measured.times.map((time, place) => minus(time, base.times[place]));
  const PD = minus(other.SC_patch, own.SC_patch);
  const PD_NSC = minus(other.NSC, own.NSC);
  const size = (delta) => delta && Math.abs(delta);
  return {
    measured,
    paired: true,
    delays,
    censored: measured.times.map(censoredBy),
    AD: delays[0],
    PD,
    SFR_rel: minus(own.delta, other.delta),
    CSR_rel: minus(size(own.delta), size(other.delta)),
    delta_S: other.delta,
    SFR_rel_within: minus(measured.within.delta, base.within.delta),
    PD_NSC,
    PD_specific: minus(PD, PD_NSC),
  };
}

/** A whole number where it is one: epochs are counted. */
function whole(value) {
  return value !== null && Math.abs(value - Math.round(value)) <= TOLERANCE ? Math.round(value) : value;
}

/** What the card says of a run. */
function seedRecord({ measured, paired, delays, censored, delta_S, ...facets }) {
  return {
    E: whole(measured.E),
    ...facets,
    AD: whole(facets.AD),
    delta_within: measured.within.delta,
    ...measured.accuracies,
    checkpoint_epoch: whole(measured.epoch),
    paired,
  };
}
