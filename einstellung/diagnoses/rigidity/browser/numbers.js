"use strict";
// Numbers and lists as Python and numpy compute and write them, to the last bit: sentences and ties come out the same.

const TOLERANCE = 1e-9;

/** numpy's pairwise sum: in another order, a mean may differ in its last bit and round to another digit. */
function sum(values, start = 0, n = values.length) {
  if (n > 128) {
    const half = (n >> 1) - ((n >> 1) % 8);
    return sum(values, start, half) + sum(values, start + half, n - half);
  }
  let [total, place] = [0, 0];
  if (n >= 8) {
    const parts = values.slice(start, start + 8);
    for (place = 8; place < n - (n % 8); place++) parts[place % 8] += values[start + place];
    const [a, b, c, d, e, f, g, h] = parts;
    total = a + b + (c + d) + (e + f + (g + h));
  }
  for (; place < n; place++) total += values[start + place];
  return total;
}

/** a - b; null where either is. */
function minus(a, b) {
  return a === null || b === null ? null : a - b;
}

/** Python rounds an exact tie to the even digit, JavaScript up: the digits of `longer` cut off where that makes a difference. */
function halfToEven(rounded, longer) {
  const [digits, exponent] = longer.split("e");
  const kept = digits.slice(0, rounded.split("e")[0].length).replace(/\.$/, "");
  if (!/^\.?50*$/.test(digits.slice(kept.length)) || kept.slice(-1) % 2) return rounded;
  return exponent ? `${kept}e${exponent}` : kept;
}

function sign(value, plus = "") {
  return value < 0 || Object.is(value, -0) ? "-" : plus;
}

/** Python's format(value, ".3f"); `plus`: what stands in front of a number that is not negative. */
function fixed(value, digits = 3, plus = "") {
  const size = Math.abs(value);
  const text = size.toFixed(digits);
  const isTie = (size * 2 ** (digits + 1)) % 2 === 1; // only such fractions of two end in a 5 after these digits
  return sign(value, plus) + (isTie ? halfToEven(text, size.toFixed(digits + 30)) : text);
}

/** Python's format(value, ".6g"). */
function general(value, precision = 6) {
  const size = Math.abs(value);
  const rounded = halfToEven(size.toExponential(precision - 1), size.toExponential(precision + 30));
  const exponent = Number(rounded.split("e")[1]);
  let text = rounded.replace(/\.?0*e(.)(\d)$/, "e$10$2").replace(/\.?0*e/, "e");
  if (exponent >= -4 && exponent < precision) {
    text = Number(rounded).toFixed(precision - 1 - exponent);
    if (text.includes(".")) text = text.replace(/\.?0+$/, "");
  }
  return sign(value) + text;
}

/** A threshold as a key: two decimals, more only where two would not name it. */
function tauName(tau) {
  return Math.abs(tau - fixed(tau, 2)) <= TOLERANCE ? fixed(tau, 2) : general(tau, 10);
}

function counted(number, noun) {
  return `${general(number)} ${noun}${number === 1 ? "" : "s"}`;
}

function percent(share) {
  return `${fixed(100 * share, 1)} %`;
}

function atMost(items, most) {
  return items.slice(0, most).join(", ") + (items.length > most ? ` and ${items.length - most} more` : "");
}

function listedSeeds(seeds) {
  return `seed${seeds.length === 1 ? "" : "s"} ${atMost(seeds, 8)}`;
}

/** The order of Python's text, by code points. */
function byCodePoint(one, other) {
  const [a, b] = [one, other].map((text) => Array.from(text, (letter) => letter.codePointAt(0)));
  const place = a.findIndex((code, i) => code !== b[i]);
  return place < 0 || place >= b.length ? a.length - b.length : a[place] - b[place];
}

/** Items by a key of theirs, in the order in which the keys first appear; an item without a key (null) is left out. */
function grouped(items, key) {
  const groups = new Map();
  for (const item of items) {
    const name = key(item);
    if (name === null) continue;
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name).push(item);
  }
  return groups;
}

/** An object of these names; safe for any name, "__proto__" too. */
function fromNames(names, value) {
  return Object.fromEntries(Array.from(names, (name) => [name, value(name)]));
}

let words = {}; // the sentences come with the data: they are written once, in Python
let told = (text) => text; // of a phase of many: its own name in the place of T2, and that of its history in the place of T1

/** A sentence with its names and numbers. */
function say(key, fields = {}) {
  return told(words[key].replace(/\{(\w+)\}/g, (_, name) => fields[name]));
}

function namingOf(given) {
  if (!given) return (text) => text;
  const [pattern, phase, history] = given;
  const expression = new RegExp(pattern, "gu");
  return (text) => text.replace(expression, (_, kept, split, now, before) => kept ?? (before === undefined ? phase : history));
}
