"use strict";
// Uncertainty over seeds: the t distribution, intervals, tests, Holm's correction, survival.
((rigidity) => {
  const { sum } = rigidity.numbers;
  const NO_SPREAD = 1e-12; // differences of k / n that are equal on paper differ by rounding

  /** B(a, 1/2) for a = df / 2, by its recurrence: exact to a few roundings, unlike a difference of log gammas. */
  function beta(df) {
    let value = df % 2 ? Math.PI : 2;
    for (let a = df % 2 ? 0.5 : 1; a < df / 2; a++) value *= a / (a + 0.5);
    return value;
  }

  /** The regularised incomplete beta function I_x(a, b), by its continued fraction (modified Lentz). */
  function incompleteBeta(front, x, a, b) {
    const tiny = 1e-300;
    let c = 1;
    let d = 1 / (1 - ((a + b) * x) / (a + 1) || tiny);
    let value = d;
    for (let m = 1; m <= 2000; m++) {
      for (const term of [
        (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m)),
        (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1)),
      ]) {
        d = 1 / (1 + term * d || tiny);
        c = 1 + term / c || tiny;
        value *= c * d;
      }
      if (Math.abs(c * d - 1) < 1e-16) break;
    }
    return (front * value) / a;
  }

  /** P(T > |t|) of Student's t with a whole number of degrees of freedom. */
  function upperTail(t, df) {
    const ratio = (t * t) / df;
    if (ratio === Infinity) return 0;
    const [x, a] = [1 / (1 + ratio), df / 2]; // x^a (1 - x)^(1/2) / B(a, 1/2)
    const front = (Math.exp(-a * Math.log1p(ratio)) * Math.sqrt(ratio / (1 + ratio))) / beta(df);
    if (x < (a + 1) / (a + 2.5)) return incompleteBeta(front, x, a, 0.5) / 2;
    return (1 - incompleteBeta(front, ratio / (1 + ratio), 0.5, a)) / 2;
  }

  /** P(T <= t). */
  const tCdf = (t, df) => (t <= 0 ? upperTail(t, df) : 1 - upperTail(t, df));

  /** The t with P(T <= t) = p, for p above 1/2: Newton's steps on the upper tail, kept between bounds. */
  function tQuantile(p, df) {
    const tail = 1 - p;
    let [low, high] = [0, 1];
    while (upperTail(high, df) > tail) [low, high] = [high, 2 * high];
    let t = (low + high) / 2;
    for (let step = 0; step < 200; step++) {
      const excess = upperTail(t, df) - tail;
      if (excess > 0) low = t;
      else high = t;
      const density = Math.exp((-(df + 1) / 2) * Math.log1p((t * t) / df)) / (Math.sqrt(df) * beta(df));
      let next = t + excess / density;
      if (!(next > low && next < high)) next = (low + high) / 2;
      if (Math.abs(next - t) <= 1e-16 * t) break;
      t = next;
    }
    return t;
  }

  const quantiles = new Map();
  function t975(df) {
    if (!quantiles.has(df)) quantiles.set(df, tQuantile(0.975, df));
    return quantiles.get(df);
  }

  /** Mean and standard deviation (n - 1) of the values that are not null. */
  function moments(values) {
    const known = values.filter((value) => value !== null);
    const n = known.length;
    if (n === 0) return { mean: null, sd: null, n };
    const mean = sum(known) / n;
    if (n === 1) return { mean, sd: null, n };
    const sd = Math.sqrt(sum(known.map((value) => (value - mean) * (value - mean))) / (n - 1));
    return { mean, sd: sd > NO_SPREAD ? sd : 0, n };
  }

  /** Mean, deviation and 95 % t interval, within `bounds`, never narrower than the mean ± `resolution`. */
  function summarise(values, bounds = null, resolution = 0) {
    const { mean, sd, n } = moments(values);
    if (mean === null) return { mean, sd, n, ci95: null, interval: "none" };
    if (sd === null) return { mean, sd, n, ci95: null, interval: "n = 1: no interval" };
    const half = (t975(n - 1) * sd) / Math.sqrt(n);
    const ci95 = [mean - Math.max(half, resolution), mean + Math.max(half, resolution)];
    if (bounds) [ci95[0], ci95[1]] = [Math.max(ci95[0], bounds[0]), Math.min(ci95[1], bounds[1])];
    return { mean, sd, n, ci95, interval: half >= resolution ? "t" : "resolution" };
  }

  /** One-sided p that the mean lies above (side 1) or below (side -1) a bound. */
  function pBeyond({ mean, sd, n }, bound, side, resolution = 0) {
    const ahead = side * (mean - bound);
    const error = Math.max(sd / Math.sqrt(n), resolution ? resolution / t975(n - 1) : 0);
    if (error === 0) return ahead > NO_SPREAD ? 0 : 1;
    return tCdf(-ahead / error, n - 1);
  }

  /** Two-sided paired t test with its effect size. */
  function pairedTest(values) {
    const { mean, sd, n } = moments(values);
    const test = { n, statistic: null, p: null, p_holm: null, d_z: null, note: null, test: "paired t" };
    if (n < 2) return { ...test, note: `n = ${n}: no test` };
    if (sd === 0) {
      if (Math.abs(mean) <= NO_SPREAD) return { ...test, p: 1, note: "all differences are 0" };
      return { ...test, note: "all differences are equal: no t test" };
    }
    const t = (mean * Math.sqrt(n)) / sd;
    return { ...test, statistic: t, p: 2 * upperTail(t, n - 1), d_z: mean / sd };
  }

  /** Holm's step-down correction; null is no part of the family. */
  function holm(values) {
    const ranked = values.map((p, place) => [p, place]).filter(([p]) => p !== null);
    ranked.sort((one, other) => one[0] - other[0] || one[1] - other[1]);
    const adjusted = values.map(() => null);
    let highest = 0;
    ranked.forEach(([p, place], rank) => {
      highest = Math.max(highest, Math.min(1, (ranked.length - rank) * p));
      adjusted[place] = highest;
    });
    return adjusted;
  }

  /** Kaplan-Meier's share of runs below the threshold, at 0 and at every time at which a run's watch ends. */
  function kaplanMeier(runs) {
    const ends = runs.map((run) => (run.E === null ? run.budget : run.E));
    const times = [...new Set([0, ...ends])].sort((a, b) => a - b);
    let left = 1;
    const share = times.map((time) => {
      const reaching = runs.filter((run) => run.E === time).length;
      const watched = ends.filter((end) => end >= time).length;
      left *= 1 - reaching / watched;
      return left;
    });
    return { times, share };
  }

  /** Time to threshold of a method's runs, and the difference of restricted means to the baseline's, paired by seed. */
  function survival(own, reference, resolution) {
    if (own.length === 0) return null;
    const pairs = own.map((run) => [run, reference.get(run.seed)]).filter(([, base]) => base && base.budget !== null);
    const horizon = Math.min(...own.map((run) => run.budget), ...pairs.map(([, base]) => base.budget));
    const { times, share } = kaplanMeier(own);
    const edges = [...times, Math.max(horizon, times[times.length - 1])].map((time) => Math.min(time, horizon));
    const restricted = (run) => (run.E === null ? horizon : Math.min(run.E, horizon));
    const { mean, ci95 } = summarise(pairs.map(([run, base]) => restricted(run) - restricted(base)), null, resolution);
    const median = share.findIndex((left) => left <= 0.5);
    return {
      budget: horizon,
      events: own.filter((run) => run.E !== null).length,
      n: own.length,
      median: median < 0 ? null : times[median],
      restricted_mean: sum(share.map((left, place) => left * (edges[place + 1] - edges[place]))),
      restricted_mean_difference: { value: mean, ci95 },
    };
  }

  rigidity.statistics = { tCdf, tQuantile, moments, summarise, pBeyond, pairedTest, holm, survival };
})((globalThis.einstellungRigidity = globalThis.einstellungRigidity || {}));
