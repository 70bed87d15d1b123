// The plane of gaps: one cue's gap against another's, a point per method, values on hover and focus; the table's filter applies.
parts.push((data, methodsView) => {
  const place = document.getElementById("plane-of-gaps");
  if (!data.plane || !place) return;
  const styles = data.forest.styles;

  function limits(values) {
    const low = Math.min(...values), high = Math.max(...values);
    const room = Math.max(1, 0.1 * (high - low));
    return [low - room, high + room];
  }

  // Names beside their points, as long as they hide no other name and no other point; the others appear on hover.
  function nameAll(svg, points, left, right) {
    const taken = points.map((point) => [point.x - 6, point.y - 6, point.x + 6, point.y + 6]);
    const free = (box) => box[0] > left && box[2] < right && taken.every((other) => box[2] < other[0] || box[0] > other[2] || box[3] < other[1] || box[1] > other[3]);
    for (const { name, x: at, y: up } of points) {
      const wide = 6.2 * name.length;
      for (const [dx, dy] of [[9, 4], [-9 - wide, 4], [-wide / 2, -10], [-wide / 2, 19]]) {
        const box = [at + dx, up + dy - 10, at + dx + wide, up + dy + 2];
        if (!free(box)) continue;
        taken.push(box);
        svg.append(drawn("text", { x: at + dx, y: up + dy, "font-size": 11, "pointer-events": "none" }, name));
        break;
      }
    }
  }

  function draw({ heads, cues, points }, shown, width) {
    const height = Math.min(560, Math.max(320, width * 0.6)), left = 58, right = 14, top = 14, bottom = 46;
    const kept = points.filter((point) => shown.has(point.method));
    const base = points.find((point) => point.method === data.baseline);
    if (!kept.length) return element("p", { class: "soft" }, "No method is shown.");
    const all = base ? [...kept, base] : kept;
    const [[x0, x1], [y0, y1]] = [0, 1].map((axis) => limits(all.map((point) => point.at[axis])));
    const x = (value) => left + ((value - x0) / (x1 - x0)) * (width - left - right);
    const y = (value) => top + (1 - (value - y0) / (y1 - y0)) * (height - top - bottom);
    const svg = drawn("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": `${heads[0]} against ${heads[1]}` });
    for (const tick of ticks(x0, x1, Math.max(3, width / 100))) svg.append(drawn("line", { x1: x(tick.value), x2: x(tick.value), y1: top, y2: height - bottom, class: "grid" }), drawn("text", { x: x(tick.value), y: height - bottom + 16, "text-anchor": "middle", "font-size": 11, class: "faint" }, tick.text));
    for (const tick of ticks(y0, y1, 5)) svg.append(drawn("line", { x1: left, x2: width - right, y1: y(tick.value), y2: y(tick.value), class: "grid" }), drawn("text", { x: left - 6, y: y(tick.value) + 4, "text-anchor": "end", "font-size": 11, class: "faint" }, tick.text));
    svg.append(drawn("text", { x: (left + width - right) / 2, y: height - 10, "text-anchor": "middle", "font-size": 12 }, `${heads[0]}, points`), drawn("text", { x: 14, y: (top + height - bottom) / 2, "text-anchor": "middle", "font-size": 12, transform: `rotate(-90 14 ${(top + height - bottom) / 2})` }, `${heads[1]}, points`));
    if (base) {
      const [bx, by] = [x(base.at[0]), y(base.at[1])];
      svg.append(drawn("rect", { x: bx, y: by, width: Math.max(0, width - right - bx), height: Math.max(0, height - bottom - by), class: "corner" }), drawn("rect", { x: left, y: top, width: Math.max(0, bx - left), height: Math.max(0, by - top), class: "corner" }));
      svg.append(drawn("path", { d: `M${bx} ${top}V${height - bottom}M${left} ${by}H${width - right}`, class: "zero", "stroke-dasharray": "5 3" }));
      const note = (at, up, anchor, text) => svg.append(drawn("text", { x: at, y: up, "text-anchor": anchor, "font-size": 10.5, "font-style": "italic", class: "faint" }, text));
      if (width > 560) {
        note(width - right - 4, height - bottom - 6, "end", `${heads[0]} smaller, ${heads[1]} larger`);
        note(left + 4, top + 12, "start", `${heads[1]} smaller, ${heads[0]} larger`);
      }
    }
    const inside = (value, low, high) => Math.min(high, Math.max(low, value));
    for (const point of kept) {
      const [px, py] = [x(point.at[0]), y(point.at[1])];
      const bars = point.bounds.map((bounds, axis) => bounds && (axis === 0 ? `M${inside(x(bounds[0]), left, width - right)} ${py}H${inside(x(bounds[1]), left, width - right)}` : `M${px} ${inside(y(bounds[0]), top, height - bottom)}V${inside(y(bounds[1]), top, height - bottom)}`)).filter(Boolean);
      const words = heads.map((head, axis) => `${head} ${number(point.at[axis], 1, true)}${point.bounds[axis] ? ` [${point.bounds[axis].map((end) => number(end, 1, true)).join(", ")}]` : ""}`);
      const verdict = document.querySelector(`#methods-table tr[data-method="${CSS.escape(point.method)}"] .pill`)?.textContent ?? "";
      const group = inked(drawn("g", { tabindex: 0, role: "img", "aria-label": `${point.method}: ${words.join(", ")}; ${verdict}`, "data-tip": `${point.method}: ${verdict}\n${words.join("\n")}`, class: "point" }), styles[point.method]);
      group.append(drawn("path", { d: bars.join(""), stroke: "currentColor", opacity: 0.4, fill: "none" }), drawn("circle", { cx: px, cy: py, r: 11, fill: "transparent" }), mark(styles[point.method].mark, px, py, 5.2));
      svg.append(group);
    }
    nameAll(svg, kept.map((point) => ({ name: point.method, x: x(point.at[0]), y: y(point.at[1]) })), left, width - right);
    return svg;
  }

  let methods = [];
  const show = () => place.clientWidth && clear(place).append(...data.plane.map((pair) => draw(pair, new Set(methods), place.clientWidth)));
  whenOpen("gaps-at-a-glance", () => {
    methodsView.onShown((found) => {
      methods = found;
      show();
    });
    new ResizeObserver(show).observe(place);
  });
});
