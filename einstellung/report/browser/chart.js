// Curves over epochs: mean and band of every method, single seeds on demand, values on hover or by arrow keys, zoom by dragging,
// and a threshold that can be moved.
const CHART = { height: 340, left: 52, right: 14, top: 12, bottom: 40 };

function createChart(place, { label }) {
  const status = element("p", { class: "visually-hidden", role: "status" });
  const bubble = element("div", { class: "bubble", hidden: true });
  const frame = element("div", { class: "chart" });
  clear(place).append(frame, bubble, status);
  let spec = null, zoom = null, at = null, width = 0, scale = null, cross = null;

  function domain() {
    const inside = (x) => !zoom || (x >= zoom[0] && x <= zoom[1]);
    const xs = [], ys = [...(spec.levels ?? []).map((level) => level.value)];
    for (const series of spec.series) {
      series.x.forEach((x, i) => {
        xs.push(x);
        if (!inside(x) || series.mean[i] === null) return;
        const sd = spec.bands && series.sd[i] !== null ? series.sd[i] : 0;
        ys.push(series.mean[i] - sd, series.mean[i] + sd);
      });
      if (spec.single) series.seeds.forEach((seed) => seed.x.forEach((x, i) => inside(x) && seed.y[i] !== null && ys.push(seed.y[i])));
    }
    if (spec.threshold) ys.push(spec.threshold.value);
    if (spec.margin) ys.push(-spec.margin, spec.margin);
    const [low, high] = ys.length ? [Math.min(...ys), Math.max(...ys)] : [0, 1];
    const room = 0.05 * (high - low) || 0.1;
    const first = xs.length ? Math.min(...xs, spec.from ?? Infinity) : 0, last = xs.length ? Math.max(...xs) : 1;
    return { x: zoom ?? [first, last > first ? last : first + 1], y: [low - room, high + room] };
  }

  function draw() {
    width = Math.max(280, place.clientWidth);
    const { x: [x0, x1], y: [y0, y1] } = domain();
    const inner = { width: width - CHART.left - CHART.right, height: CHART.height - CHART.top - CHART.bottom };
    const x = (value) => CHART.left + ((value - x0) / (x1 - x0)) * inner.width;
    const y = (value) => CHART.top + (1 - (value - y0) / (y1 - y0)) * inner.height;
    const bottom = CHART.top + inner.height;
    scale = { x, y, x0, x1, y0, y1, inner };
    const svg = drawn("svg", { width, height: CHART.height, viewBox: `0 0 ${width} ${CHART.height}`, tabindex: 0, role: "group", "aria-label": `${label}. Arrow keys read values epoch by epoch.` });
    const clip = `clip-${place.id}`;
    svg.append(drawn("clipPath", { id: clip }, drawn("rect", { x: CHART.left, y: CHART.top, width: inner.width, height: inner.height })));
    for (const tick of ticks(y0, y1, 5)) {
      svg.append(drawn("line", { x1: CHART.left, x2: width - CHART.right, y1: y(tick.value), y2: y(tick.value), class: "grid" }));
      svg.append(drawn("text", { x: CHART.left - 6, y: y(tick.value) + 4, "text-anchor": "end", "font-size": 11, class: "faint" }, tick.text));
    }
    for (const tick of ticks(x0, x1, Math.max(3, width / 90))) {
      svg.append(drawn("text", { x: x(tick.value), y: bottom + 16, "text-anchor": "middle", "font-size": 11, class: "faint" }, tick.text));
    }
    svg.append(drawn("text", { x: CHART.left + inner.width / 2, y: bottom + 33, "text-anchor": "middle", "font-size": 11.5, class: "faint" }, spec.xLabel));
    const body = drawn("g", { "clip-path": `url(#${clip})` });
    if (spec.margin) body.append(drawn("rect", { x: CHART.left, width: inner.width, y: y(spec.margin), height: y(-spec.margin) - y(spec.margin), class: "band" }));
    if (spec.zero) body.append(drawn("line", { x1: CHART.left, x2: width - CHART.right, y1: y(0), y2: y(0), class: "zero" }));
    for (const level of spec.levels ?? []) {
      body.append(drawn("line", { x1: CHART.left, x2: width - CHART.right, y1: y(level.value), y2: y(level.value), class: "axis", "stroke-dasharray": "1 3" }));
      body.append(drawn("text", { x: width - CHART.right - 4, y: y(level.value) - 4, "text-anchor": "end", "font-size": 10.5, class: "faint" }, level.label));
    }
    for (const series of spec.series) body.append(drawSeries(series, x, y));
    svg.append(body, drawn("path", { d: `M${CHART.left} ${CHART.top}V${bottom}H${width - CHART.right}`, class: "axis", fill: "none" }));
    cross = drawn("line", { y1: CHART.top, y2: bottom, class: "axis", visibility: "hidden" });
    svg.append(cross);
    if (spec.threshold) svg.append(drawThreshold(spec.threshold, x, y));
    const focused = frame.contains(document.activeElement) ? document.activeElement.getAttribute("role") : null;
    clear(frame).append(svg);
    listen(svg);
    if (focused) frame.querySelector(`[role="${focused}"]`)?.focus({ preventScroll: true });
  }

  function drawSeries(series, x, y) {
    const group = inked(drawn("g"), series.style);
    const path = (xs, ys) => {
      let pen = "M", d = "";
      xs.forEach((at, i) => {
        if (ys[i] === null) return void (pen = "M");
        d += `${pen}${x(at).toFixed(1)} ${y(ys[i]).toFixed(1)}`;
        pen = "L";
      });
      return d;
    };
    if (spec.single) {
      for (const seed of series.seeds) group.append(drawn("path", { d: path(seed.x, seed.y), fill: "none", stroke: "currentColor", "stroke-width": 1, opacity: 0.45 }));
    } else if (spec.bands) {
      const known = series.x.map((_, i) => i).filter((i) => series.mean[i] !== null && series.sd[i] !== null);
      if (known.length > 1) {
        const edge = (sign, order) => order.map((i) => `${x(series.x[i]).toFixed(1)} ${y(series.mean[i] + sign * series.sd[i]).toFixed(1)}`).join("L");
        group.append(drawn("path", { d: `M${edge(1, known)}L${edge(-1, [...known].reverse())}Z`, fill: "currentColor", opacity: 0.13 }));
      }
    }
    group.append(drawn("path", { d: path(series.x, series.mean), fill: "none", stroke: "currentColor", "stroke-width": 2, "stroke-dasharray": series.style.dash.map((part) => part * 1.6).join(" ") }));
    const every = Math.max(1, Math.round(series.x.length / 8));
    series.x.forEach((value, i) => i % every === 0 && series.mean[i] !== null && group.append(mark(series.style.mark, x(value), y(series.mean[i]), 3.6)));
    return group;
  }

  function drawThreshold(threshold, x, y) {
    const at = y(threshold.value);
    const set = (value) => threshold.set(Math.min(threshold.max, Math.max(threshold.min, Math.round(value / threshold.step) * threshold.step)));
    const keys = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1, PageUp: 5, PageDown: -5 };
    const handle = drawn("g", {
      class: "threshold", role: "slider", tabindex: 0, "aria-label": threshold.label, "aria-valuemin": threshold.min, "aria-valuemax": threshold.max,
      "aria-valuenow": threshold.value, "aria-orientation": "vertical",
      onkeydown: (event) => {
        if (!(event.key in keys)) return;
        event.preventDefault();
        event.stopPropagation();
        set(threshold.value + keys[event.key] * threshold.step);
      },
      onpointerdown: (event) => {
        event.preventDefault();
        event.stopPropagation();
        const box = frame.getBoundingClientRect();
        const move = (to) => {
          const inside = (to.clientY - box.top - CHART.top) / scale.inner.height;
          set(scale.y1 - inside * (scale.y1 - scale.y0));
        };
        const stop = () => {
          window.removeEventListener("pointermove", move);
          window.removeEventListener("pointerup", stop);
        };
        window.addEventListener("pointermove", move);
        window.addEventListener("pointerup", stop);
      },
    });
    handle.append(
      drawn("rect", { x: CHART.left, y: at - 9, width: width - CHART.left - CHART.right, height: 18, fill: "transparent" }),
      drawn("line", { x1: CHART.left, x2: width - CHART.right, y1: at, y2: at, class: "zero", "stroke-dasharray": "6 3" }),
      drawn("rect", { x: CHART.left + 4, y: at - 9, width: 58, height: 18, rx: 9, class: "grip" }),
      drawn("text", { x: CHART.left + 33, y: at + 4, "text-anchor": "middle", "font-size": 11.5, class: "on-grip" }, threshold.text),
    );
    return handle;
  }

  const stops = () => [...new Set(spec.series.flatMap((series) => series.x))].filter((value) => value >= scale.x0 && value <= scale.x1).sort((a, b) => a - b);

  function read(value) {
    at = value;
    cross.setAttribute("x1", scale.x(value));
    cross.setAttribute("x2", scale.x(value));
    cross.setAttribute("visibility", "visible");
    const found = spec.series.map((series) => {
      const i = series.x.indexOf(value);
      return i < 0 || series.mean[i] === null ? null : { series, mean: series.mean[i], sd: series.sd[i], n: series.n[i] };
    }).filter(Boolean).sort((one, other) => other.mean - one.mean);
    const words = (one) => `${number(one.mean, 3, spec.signed)}${one.sd === null ? "" : ` ± ${number(one.sd)}`} (n ${one.n})`;
    clear(bubble).append(element("b", {}, `epoch ${number(value, Number.isInteger(value) ? 0 : 2)}`));
    found.slice(0, 14).forEach((one) => bubble.append(element("div", {}, keyOf(one.series.style), `${one.series.name} ${words(one)}`)));
    if (found.length > 14) bubble.append(element("div", {}, `and ${found.length - 14} more`));
    bubble.hidden = false;
    const right = scale.x(value) > width * 0.55;
    bubble.style.left = right ? "" : `${scale.x(value) + 12}px`;
    bubble.style.right = right ? `${width - scale.x(value) + 12}px` : "";
    return `epoch ${value}: ${found.map((one) => `${one.series.name} ${words(one)}`).join("; ")}`;
  }

  function hide() {
    bubble.hidden = true;
    cross.setAttribute("visibility", "hidden");
  }

  function listen(svg) {
    const epochAt = (event) => scale.x0 + ((event.clientX - frame.getBoundingClientRect().left - CHART.left) / scale.inner.width) * (scale.x1 - scale.x0);
    const nearest = (value) => stops().reduce((best, one) => (Math.abs(one - value) < Math.abs(best - value) ? one : best), stops()[0]);
    svg.addEventListener("pointermove", (event) => stops().length && read(nearest(epochAt(event))));
    svg.addEventListener("pointerleave", hide);
    svg.addEventListener("dblclick", () => zoomTo(null));
    svg.addEventListener("pointerdown", (event) => {
      const from = epochAt(event);
      const shade = drawn("rect", { y: CHART.top, height: scale.inner.height, class: "band" });
      svg.append(shade);
      const move = (to) => {
        const [low, high] = [from, epochAt(to)].sort((a, b) => a - b);
        shade.setAttribute("x", scale.x(low));
        shade.setAttribute("width", Math.max(0, scale.x(high) - scale.x(low)));
      };
      const stop = (to) => {
        window.removeEventListener("pointermove", move);
        window.removeEventListener("pointerup", stop);
        shade.remove();
        const [low, high] = [from, epochAt(to)].sort((a, b) => a - b);
        if (scale.x(high) - scale.x(low) > 12) zoomTo([Math.max(scale.x0, low), Math.min(scale.x1, high)]);
      };
      window.addEventListener("pointermove", move);
      window.addEventListener("pointerup", stop);
    });
    svg.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step || !stops().length) return;
      event.preventDefault();
      const known = stops();
      const place = at === null ? -1 : known.indexOf(nearest(at));
      status.textContent = read(known[Math.min(known.length - 1, Math.max(0, place + step))]);
    });
    svg.addEventListener("blur", hide);
  }

  function zoomTo(range) {
    zoom = range && range[1] > range[0] ? range : null;
    draw();
    place.dispatchEvent(new CustomEvent("zoomed", { detail: zoom }));
  }

  new ResizeObserver(() => spec && place.clientWidth && place.clientWidth !== width && draw()).observe(place);
  return {
    draw(newSpec) {
      spec = newSpec;
      draw();
    },
    zoomBy(factor) {
      const middle = at !== null && at > scale.x0 && at < scale.x1 ? at : (scale.x0 + scale.x1) / 2;
      const half = ((scale.x1 - scale.x0) * factor) / 2;
      const now = zoom;
      zoom = null;
      const [first, last] = domain().x;
      zoom = now;
      const range = [Math.max(first, middle - half), Math.min(last, middle + half)];
      zoomTo(range[0] === first && range[1] === last ? null : range);
    },
    reset: () => zoomTo(null),
  };
}
