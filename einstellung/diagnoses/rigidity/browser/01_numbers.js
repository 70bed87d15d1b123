"use strict";
// Numbers as Python and numpy compute and write them, bit for bit, so that sentences and ties come out the same.
((rigidity) => {
  /** numpy's pairwise sum: in another order, a mean may differ in its last bit and round to another digit. */
  function sum(values, start = 0, n = values.length) {
    if (n > 128) {
      const half = (n >> 1) - ((n >> 1) % 8);
      return sum(values, start, half) + sum(values, start + half, n - half);
    }
    let total = 0;
    let place = 0;
    if (n >= 8) {
      const parts = values.slice(start, start + 8);
      for (place = 8; place < n - (n % 8); place += 8) {
        for (let k = 0; k < 8; k++) parts[k] += values[start + place + k];
      }
      const [a, b, c, d, e, f, g, h] = parts;
      total = a + b + (c + d) + (e + f + (g + h));
    }
    for (; place < n; place++) total += values[start + place];
    return total;
  }

  const minus = (a, b) => (a === null || b === null ? null : a - b);

  /** Digits of |value| cut off where they are an exact tie after an even digit: Python rounds half to even, JavaScript up. */
  function halfToEven(rounded, longer) {
    const [digits, exponent = ""] = longer.split("e");
    const length = rounded.split("e")[0].length;
    const kept = digits.slice(0, length).replace(/\.$/, "");
    const isTie = /^\.?50*$/.test(digits.slice(kept.length));
    return isTie && Number(kept.slice(-1)) % 2 === 0 ? kept + (exponent && `e${exponent}`) : rounded;
  }

  const isNegative = (value) => value < 0 || Object.is(value, -0);

  /** Python's format(value, ".3f"), with "+" in front where `signed`. */
  function fixed(value, digits = 3, signed = false) {
    const size = Math.abs(value);
    const text = halfToEven(size.toFixed(digits), size.toFixed(digits + 30));
    return (isNegative(value) ? "-" : signed ? "+" : "") + text;
  }

  const signed = (value, digits = 3) => fixed(value, digits, true);

  /** Python's format(value, ".6g"). */
  function general(value, precision = 6) {
    const size = Math.abs(value);
    const [digits, power] = halfToEven(size.toExponential(precision - 1), size.toExponential(precision + 30)).split("e");
    const exponent = Number(power);
    let text = `${Number(digits)}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
    if (exponent >= -4 && exponent < precision) {
      const places = precision - 1 - exponent;
      text = Number(`${digits}e${power}`).toFixed(places);
      if (places > 0) text = text.replace(/\.?0+$/, "");
    }
    return (isNegative(value) ? "-" : "") + text;
  }

  /** A threshold as a key: two decimals, more only where two would not name it. */
  function tauName(tau) {
    return Math.abs(tau - Number(fixed(tau, 2))) <= 1e-9 ? fixed(tau, 2) : general(tau, 10);
  }

  const counted = (number, noun) => `${general(number)} ${noun}${number === 1 ? "" : "s"}`;
  const percent = (share) => `${fixed(100 * share, 1)} %`;

  /** Text in the order of Python, by code points. */
  function byCodePoint(one, other) {
    const [a, b] = [Array.from(one), Array.from(other)];
    for (let i = 0; i < Math.min(a.length, b.length); i++) {
      if (a[i] !== b[i]) return a[i].codePointAt(0) - b[i].codePointAt(0);
    }
    return a.length - b.length;
  }

  rigidity.numbers = { sum, minus, fixed, signed, general, tauName, counted, percent, byCodePoint, TOLERANCE: 1e-9 };
})((globalThis.einstellungRigidity = globalThis.einstellungRigidity || {}));
