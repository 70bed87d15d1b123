// A small line chart: the mean of every method by epoch, the range over its seeds, and its single seeds where asked for.

const NS = "http://www.w3.org/2000/svg";
const LIGHT = ["#0072B2", "#D55E00", "#009E73", "#B4518B", "#9A6B00", "#332288", "#882255", "#2B7F9E", "#5A6B00"];
const DARK = ["#56B4E9", "#FF8A3D", "#2FD3A0", "#E79BC6", "#F0B429", "#A99BFF", "#F27CA6", "#7FD8F0", "#C5D86D"];
const DASHES = ["", "7 3", "2 3", "9 3 2 3", "4 2", "12 4", "1 2", "6 2 1 2 1 2"];
const BOX = { width: 460, height: 240, left: 38, right: 10, top: 10, bottom: 26 };

export function svg(tag, attributes = {}, ...children) {
  const made = document.createElementNS(NS, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** A colour and a dash for each method; no two methods share a colour. */
export function styles(methods) {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const palette = dark ? DARK : LIGHT;
  return new Map(methods.map((method, i) => {
    const colour = i < palette.length ? palette[i] : `hsl(${((i * 137.508) % 360).toFixed(2)} 65% ${dark ? 68 : 36}%)`;
    return [method, { colour, dash: DASHES[Math.floor(i / 3) % DASHES.length] }];
  }));
}

/** Draw curves (as /api/curves gives them) into `place`; `shown` says which methods, `seeds` whether single seeds too. */
export function draw(place, title, curves, look, shown, seeds) {
  const visible = curves.filter((curve) => shown(curve.method));
  const last = Math.max(1, ...visible.map((curve) => curve.epochs[curve.epochs.length - 1] ?? 0));
  const x = (epoch) => BOX.left + (epoch / last) * (BOX.width - BOX.left - BOX.right);
  const y = (acc) => BOX.height - BOX.bottom - acc * (BOX.height - BOX.top - BOX.bottom);
  const summary = visible.slice(0, 12).map((curve) => `${curve.method} ${format(curve.mean.at(-1))}`).join(", ");
  const picture = svg("svg", { viewBox: `0 0 ${BOX.width} ${BOX.height}`, role: "img", "aria-label": `${title}, accuracy by epoch; latest: ${summary}` });
  for (const level of [0, 0.25, 0.5, 0.75, 1]) {
    picture.append(svg("line", { class: "axis", x1: BOX.left, x2: BOX.width - BOX.right, y1: y(level), y2: y(level) }));
    picture.append(svg("text", { x: BOX.left - 5, y: y(level) + 4, "text-anchor": "end" }, level.toString()));
  }
  const step = niceStep(last);
  for (let epoch = 0; epoch <= last + 1e-9; epoch += step) {
    picture.append(svg("text", { x: x(epoch), y: BOX.height - 8, "text-anchor": "middle" }, String(+epoch.toFixed(3))));
  }
  for (const curve of visible) {
    const { colour, dash } = look.get(curve.method);
    if (!seeds && curve.n.some((n) => n > 1)) {
      const there = curve.epochs.map((e, i) => `${x(e).toFixed(1)},${y(curve.high[i]).toFixed(1)}`);
      const back = curve.epochs.map((e, i) => `${x(e).toFixed(1)},${y(curve.low[i]).toFixed(1)}`).reverse();
      picture.append(svg("polygon", { points: [...there, ...back].join(" "), fill: colour, opacity: visible.length > 12 ? 0.04 : 0.13 }));
    }
    if (seeds && curve.seeds) {
      const d = curve.seeds.map((run) => path(run.epochs, run.acc, x, y)).join("");
      picture.append(svg("path", { d, fill: "none", stroke: colour, "stroke-width": 1, opacity: 0.55 }));
    }
    picture.append(svg("path", { d: path(curve.epochs, curve.mean, x, y), fill: "none", stroke: colour, "stroke-width": 2, "stroke-dasharray": dash }));
    if (curve.epochs.length === 1) picture.append(svg("circle", { cx: x(curve.epochs[0]), cy: y(curve.mean[0]), r: 3, fill: colour }));
  }
  place.append(picture);
  hover(place, picture, visible, look, x, last);
}

function path(epochs, values, x, y) {
  return epochs.map((epoch, i) => `${i ? "L" : "M"}${x(epoch).toFixed(1)} ${y(values[i]).toFixed(1)}`).join("");
}

function niceStep(last) {
  const rough = last / 6;
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= rough);
}

function hover(place, picture, curves, look, x, last) {
  const cursor = svg("line", { class: "cursor", y1: BOX.top, y2: BOX.height - BOX.bottom, visibility: "hidden" });
  picture.append(cursor);
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  place.append(tip);
  picture.addEventListener("pointerleave", () => { tip.hidden = true; cursor.setAttribute("visibility", "hidden"); });
  picture.addEventListener("pointermove", (event) => {
    const frame = picture.getBoundingClientRect();
    const at = ((event.clientX - frame.left) / frame.width * BOX.width - BOX.left) / (BOX.width - BOX.left - BOX.right) * last;
    const epochs = [...new Set(curves.flatMap((curve) => curve.epochs))];
    if (!epochs.length) return;
    const epoch = epochs.reduce((best, one) => (Math.abs(one - at) < Math.abs(best - at) ? one : best));
    cursor.setAttribute("x1", x(epoch));
    cursor.setAttribute("x2", x(epoch));
    cursor.setAttribute("visibility", "visible");
    const rows = curves.map((curve) => ({ curve, i: curve.epochs.indexOf(epoch) })).filter(({ i }) => i >= 0);
    rows.sort((a, b) => b.curve.mean[b.i] - a.curve.mean[a.i]);
    tip.replaceChildren(line(`epoch ${epoch}`));
    for (const { curve, i } of rows.slice(0, 12)) {
      const row = line(`${curve.method} ${format(curve.mean[i])}${curve.n[i] > 1 ? `  (${format(curve.low[i])} to ${format(curve.high[i])}, n ${curve.n[i]})` : ""}`);
      row.style.setProperty("color", look.get(curve.method).colour);
      tip.append(row);
    }
    if (rows.length > 12) tip.append(line(`and ${rows.length - 12} more`));
    tip.hidden = false;
    const left = event.clientX - place.getBoundingClientRect().left;
    tip.style.setProperty("left", `${Math.max(4, Math.min(left + 12, place.clientWidth - tip.offsetWidth - 8))}px`);
    tip.style.setProperty("top", "34px");
  });
}

function line(text) {
  const made = document.createElement("div");
  made.textContent = text;
  return made;
}

export function format(value) {
  return value === null || value === undefined ? "–" : value.toFixed(3);
}
