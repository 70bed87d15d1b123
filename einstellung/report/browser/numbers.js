// How numbers are written: the same as in the tables, with a real minus sign and a dash for what is undefined.
const DASH = "–";

function number(value, digits = 3, signed = false) {
  if (value === null || value === undefined) return DASH;
  let text = halfEven(value, digits);
  if (signed && value > 0) text = "+" + text;
  if (Number(text) === 0) text = text.replace(/^[+-]/, "");
  return text.replace("-", "−");
}

// As Python rounds: from the exact binary value, and toFixed does so too except that a true tie goes to the even digit.
function halfEven(value, digits) {
  const text = value.toFixed(digits);
  const scaled = value * 10 ** digits;
  if (Math.abs(scaled % 1) !== 0.5 || scaled / 10 ** digits !== value || digits > 8) return text;
  return (2 * Math.round(scaled / 2) / 10 ** digits).toFixed(digits);
}

function epochs(value, signed = false) {
  if (value === null || value === undefined) return DASH;
  const tenth = Math.abs(value * 10 - Math.round(value * 10)) < 1e-6;
  return number(value, tenth ? 1 : 2, signed);
}

// Round numbers for an axis from low to high, about `count` of them.
function ticks(low, high, count) {
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((part) => part * power).find((part) => part >= rough * 0.999);
  const found = [];
  for (let at = Math.ceil(low / step - 1e-9); at * step <= high + step * 1e-9; at += 1) found.push(at * step);
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9) + (step / power === 2.5 ? 1 : 0));
  return found.map((value) => ({ value, text: number(value, digits) }));
}
