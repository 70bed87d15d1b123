"use strict";
// Uncertainty over seeds: the t distribution, intervals, tests, Holm's correction, survival.

const NO_SPREAD = 1e-12; // differences of k / n that are equal on paper differ by rounding

/** B(df / 2, 1/2), by its recurrence: exact to a few roundings, unlike a difference of log gammas. */
function beta(df) {
  let value = df % 2 ? Math.PI : 2;
  for (let a = df % 2 ? 0.5 : 1; a < df / 2; a++) value *= a / (a + 0.5);
  return value;
}

/** The regularised incomplete beta function I_x(a, b) by its continued fraction; front: x^a (1 - x)^b / B(a, b). */
function incompleteBeta(front, x, a, b) {
  let [c, d] = [1, 1 / (1 - ((a + b) * x) / (a + 1))];
  let value = d;
  for (let m = 1; m <= 2000 && Math.abs(c * d - 1) > 1e-16; m++) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    c = 1 + even / c;
    d = 1 / (1 + even * d);
    value *= c * d;
    c = 1 + odd / c;
    d = 1 / (1 + odd * d);
    value *= c * d;
  }
  return (front * value) / a;
}

/** P(T > |t|) of Student's t with a whole number of degrees of freedom. */
function upperTail(t, df) {
  const [ratio, a] = [(t * t) / df, df / 2];
  if (ratio === Infinity) return 0;
  const x = 1 / (1 + ratio);
  const front = (Math.exp(-a * Math.log1p(ratio)) * Math.sqrt(ratio * x)) / beta(df);
  if (x < (a + 1) / (a + 2.5)) return incompleteBeta(front, x, a, 0.5) / 2;
  return (1 - incompleteBeta(front, ratio * x, 0.5, a)) / 2;
}

/** P(T <= t). */
function tCdf(t, df) {
  return t <= 0 ? upperTail(t, df) : 1 - upperTail(t, df);
}

/** The t with P(T <= t) = p, for p above 1/2: Newton's steps on the upper tail, kept between bounds. */
function tQuantile(p, df) {
  let [low, high] = [0, 1];
  while (upperTail(high, df) > 1 - p) [low, high] = [high, 2 * high];
  let [t, next] = [0, (low + high) / 2];
  for (let step = 0; step < 200 && Math.abs(next - t) > 1e-16 * t; step++) {
    t = next;
    const excess = upperTail(t, df) - (1 - p);
    if (excess > 0) low = t;
    else high = t;
    const density = Math.exp((-(df + 1) / 2) * Math.log1p((t * t) / df)) / (Math.sqrt(df) * beta(df));
    next = t + excess / density;
    if (!(next > low && next < high)) next = (low + high) / 2;
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
function summarise(values, bounds = [-Infinity, Infinity], resolution = 0) {
  const { mean, sd, n } = moments(values);
  if (sd === null) return { mean, sd, n, ci95: null, interval: n ? "n = 1: no interval" : "none" };
  const half = (t975(n - 1) * sd) / Math.sqrt(n);
  const reach = Math.max(half, resolution);
  const ci95 = [Math.max(mean - reach, bounds[0]), Math.min(mean + reach, bounds[1])];
  return { mean, sd, n, ci95, interval: half >= resolution ? "t" : "resolution" };
}

/** One-sided p that the mean lies above (side 1) or below (side -1) a bound. */
function pBeyond({ mean, sd, n }, bound, side, resolution = 0) {
  const ahead = side * (mean - bound);
  const error = Math.max(sd / Math.sqrt(n), resolution && resolution / t975(n - 1));
  if (error === 0) return ahead > NO_SPREAD ? 0 : 1;
  return tCdf(-ahead / error, n - 1);
}

/** Two-sided paired t test with its effect size. */
function pairedTest(values) {
  const { mean, sd, n } = moments(values);
  const test = { n, statistic: null, p: null, p_holm: null, d_z: null, note: null, test: "paired t" };
  if (n < 2) return { ...test, note: `n = ${n}: no test` };
  if (sd === 0 && Math.abs(mean) <= NO_SPREAD) return { ...test, p: 1, note: "all differences are 0" };
  if (sd === 0) return { ...test, note: "all differences are equal: no t test" };
  const t = (mean * Math.sqrt(n)) / sd;
  return { ...test, statistic: t, p: 2 * upperTail(t, n - 1), d_z: mean / sd };
}

/** Holm's step-down correction; null is no part of the family. */
function holm(values) {
  const places = values.map((_, place) => place).filter((place) => values[place] !== null);
  const adjusted = values.map(() => null);
  let highest = 0;
  places.sort((a, b) => values[a] - values[b]).forEach((place, rank) => {
    highest = Math.max(highest, Math.min(1, (places.length - rank) * values[place]));
    adjusted[place] = highest;
  });
  return adjusted;
}

/** Time to threshold by Kaplan-Meier, and the difference of restricted means to the baseline's runs, paired by seed. */
function survival(own, reference, resolution) {
  if (own.length === 0) return null;
  const pairs = own.map((run) => [run, reference.get(run.seed)]).filter(([, base]) => base && base.budget !== null);
  const horizon = Math.min(...own.map((run) => run.budget), ...pairs.map(([, base]) => base.budget));
  const ends = own.map((run) => run.E ?? run.budget);
  const times = [...new Set([0, ...ends])].sort((a, b) => a - b);
  let left = 1;
  const share = times.map((time) => {
    left *= 1 - own.filter((run) => run.E === time).length / ends.filter((end) => end >= time).length;
    return left;
  });
  const edges = [...times, Math.max(horizon, times[times.length - 1])].map((time) => Math.min(time, horizon));
  const restricted = (run) => Math.min(run.E ?? horizon, horizon);
  const differences = pairs.map(([run, base]) => restricted(run) - restricted(base));
  const { mean, ci95 } = summarise(differences, undefined, resolution);
  return {
    budget: horizon,
    events: own.filter((run) => run.E !== null).length,
    n: own.length,
    median: times.find((_, place) => share[place] <= 0.5) ?? null,
    restricted_mean: sum(share.map((part, place) => part * (edges[place + 1] - edges[place]))),
    restricted_mean_difference: { value: mean, ci95 },
  };
}
