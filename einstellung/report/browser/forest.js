// The first screen: a forest plot of all methods, and the table that sorts and filters it.
const ROW = 24, HEAD = 24, FOOT = 40;
const DENSE = 12, MOST = 30; // rows from which intervals are drawn only, and that are in view at first

// Room for every mean, interval, reference and margin of a column.
function domainOf(column, rows) {
  const found = column.centre === null ? [] : [column.centre];
  if (column.margin) found.push(column.centre - 1.5 * column.margin, column.centre + 1.5 * column.margin);
  for (const row of rows) {
    const value = row.values[column.key];
    if (value && value.mean !== null) found.push(...[value.mean, value.low, value.high, value.reference].filter((one) => one !== null && one !== undefined));
  }
  const low = Math.min(...found), high = Math.max(...found);
  const room = 0.06 * (high - low) || 1;
  return found.length ? [low - room, high + room] : [-1, 1];
}

function describe(row, columns) {
  const lines = columns.map((column) => {
    const value = row.values[column.key];
    return value ? `${column.head}: ${value.text}${value.why || value.interval ? ` ${value.why ?? value.interval}` : ""}${value.note ? `, ${value.note}` : ""}` : null;
  });
  return [`${row.method}: ${row.verdict}${row.certainty ? `, ${row.certainty}` : ""}`, ...lines.filter(Boolean)].join("\n");
}

function drawPanel(column, rows, styles, left, top, width) {
  const [low, high] = domainOf(column, rows);
  const x = (value) => left + ((value - low) / (high - low)) * width;
  const bottom = top + HEAD + rows.length * ROW;
  const group = drawn("g");
  group.append(drawn("text", { x: left + width / 2, y: top + 14, "text-anchor": "middle", "font-size": 13, "font-weight": 600 }, ...drawnSymbols(column.head)));
  if (column.margin) {
    const from = x(column.centre - column.margin);
    group.append(drawn("rect", { x: from, y: top + HEAD, width: Math.max(1, x(column.centre + column.margin) - from), height: rows.length * ROW, class: "band" }));
  }
  for (const tick of ticks(low, high, Math.max(2, width / 52))) {
    group.append(drawn("line", { x1: x(tick.value), x2: x(tick.value), y1: top + HEAD, y2: bottom, class: "grid" }));
    group.append(drawn("text", { x: x(tick.value), y: bottom + 14, "text-anchor": "middle", "font-size": 11, class: "faint" }, tick.text));
  }
  if (column.centre !== null) group.append(drawn("line", { x1: x(column.centre), x2: x(column.centre), y1: top + HEAD, y2: bottom, class: "zero" }));
  if (column.below) group.append(drawn("text", { x: left + width / 2, y: bottom + 30, "text-anchor": "middle", "font-size": 10.5, class: "faint" }, `← ${column.below} | ${column.above} →`));
  rows.forEach((row, place) => {
    const y = top + HEAD + (place + 0.5) * ROW;
    const value = row.values[column.key];
    if (!value) return;
    if (value.mean === null) {
      if (value.why) group.append(drawn("text", { x: left + 4, y: y + 4, "font-size": 10.5, "font-style": "italic", class: "faint" }, "undefined"));
      return;
    }
    const own = inked(drawn("g"), styles[row.method]);
    if (value.low !== null) {
      own.append(drawn("path", { d: `M${x(value.low)} ${y - 4}v8M${x(value.high)} ${y - 4}v8M${x(value.low)} ${y}H${x(value.high)}`, stroke: "currentColor", "stroke-width": 2, fill: "none" }));
    }
    if (value.reference !== null && value.reference !== undefined) {
      own.append(drawn("path", { d: MARKS.star, transform: `translate(${x(value.reference)} ${y}) scale(4.4)`, fill: "var(--paper)", stroke: "var(--ink)", "stroke-width": 0.28 }));
    }
    own.append(mark(styles[row.method].mark, x(value.mean), y, 4.6));
    group.append(own);
  });
  return group;
}

function drawForest(place, columns, rows, styles) {
  const width = Math.max(300, place.clientWidth);
  const names = Math.min(150, Math.max(70, 7.2 * Math.max(...rows.map((row) => row.method.length), 0) + 34));
  const across = width < 700 ? 1 : columns.length;
  const gap = 22;
  const panel = (width - names - gap * across) / across;
  const height = (HEAD + FOOT + rows.length * ROW) * Math.ceil(columns.length / across);
  const svg = drawn("svg", { width, height, viewBox: `0 0 ${width} ${height}` });
  columns.forEach((column, index) => {
    const top = Math.floor(index / across) * (HEAD + FOOT + rows.length * ROW);
    const left = names + gap / 2 + (index % across) * (panel + gap);
    if (index % across === 0) {
      rows.forEach((row, at) => {
        const y = top + HEAD + (at + 0.5) * ROW;
        svg.append(drawn("rect", { x: 0, y: y - ROW / 2, width, height: ROW, fill: "transparent", "data-tip": describe(row, columns) }));
        const most = Math.floor((names - 34) / 6.6);
        const name = row.method.length > most ? `${row.method.slice(0, Math.max(3, most - 5))}…${row.method.slice(-4)}` : row.method;
        svg.append(inked(drawn("g", { "pointer-events": "none" }, mark(styles[row.method].mark, 9, y, 4.6)), styles[row.method]));
        svg.append(drawn("text", { x: 20, y: y + 4, "font-size": 12.5, "font-weight": row.is_baseline ? 400 : 600, "pointer-events": "none" }, name));
      });
    }
    const drawnPanel = drawPanel(column, rows, styles, left, top, panel);
    drawnPanel.setAttribute("pointer-events", "none");
    svg.append(drawnPanel);
  });
  clear(place).append(svg);
}

// A small interval for a cell of the table, on the column's own scale.
function spark(value, column, domain, style) {
  const width = 84, [low, high] = domain;
  const x = (at) => 3 + ((at - low) / (high - low)) * (width - 6);
  const svg = inked(drawn("svg", { width, height: 12, viewBox: `0 0 ${width} 12`, class: "spark", "aria-hidden": "true" }), style);
  if (column.margin) svg.append(drawn("rect", { x: x(column.centre - column.margin), y: 0, width: Math.max(1, x(column.centre + column.margin) - x(column.centre - column.margin)), height: 12, class: "band" }));
  if (column.centre !== null) svg.append(drawn("line", { x1: x(column.centre), x2: x(column.centre), y1: 0, y2: 12, class: "axis" }));
  if (value.low !== null) svg.append(drawn("line", { x1: x(value.low), x2: x(value.high), y1: 6, y2: 6, stroke: "currentColor", "stroke-width": 2 }));
  svg.append(mark(style.mark, x(value.mean), 6, 3));
  return svg;
}

function startForest(forest, terms) {
  const table = document.getElementById("methods-table");
  if (!forest || !table) return null;
  const place = document.getElementById("forest");
  const name = document.getElementById("filter-method"), verdict = document.getElementById("filter-verdict");
  const bodyRows = new Map([...table.tBodies[0].rows].map((row) => [row.dataset.method, row]));
  const keys = [...table.tHead.rows[0].cells].map((head) => head.dataset.key ?? null);
  const listeners = [];
  const all = document.getElementById("show-all");
  let rows = forest.rows, columns = forest.columns, most = MOST;

  const isShown = (row) => row.method.toLowerCase().includes(name.value.trim().toLowerCase()) && (!verdict.value || row.verdict === verdict.value);
  const byMethod = () => new Map(rows.map((row) => [row.method, row]));
  const matching = () => {
    const known = byMethod();
    return [...table.tBodies[0].rows].map((row) => known.get(row.dataset.method)).filter((row) => row && isShown(row));
  };
  const ordered = () => matching().slice(0, most);
  const draw = () => drawForest(place, columns.filter((column) => column.plotted), ordered().filter((row) => columns.some((column) => column.plotted && row.values[column.key])), forest.styles);
  const filter = () => {
    const found = matching(), shown = new Set(found.slice(0, most).map((row) => row.method));
    bodyRows.forEach((node, method) => (node.hidden = !shown.has(method)));
    document.getElementById("filter-count").textContent = shown.size === rows.length ? "" : `${shown.size} of ${rows.length} shown`;
    all.hidden = found.length <= most;
    all.textContent = `Show all ${found.length}`;
    draw();
    listeners.forEach((listener) => listener([...shown]));
  };
  const write = () => {
    const domains = new Map(columns.map((column) => [column.key, domainOf(column, rows)]));
    const columnOf = new Map(columns.map((column) => [column.key, column]));
    for (const row of rows) {
      const node = bodyRows.get(row.method), style = forest.styles[row.method];
      const [, verdictCell, certaintyCell] = node.cells;
      const explained = (word) => (terms[word] ? { "data-term": word, tabindex: 0 } : {});
      clear(verdictCell).append(element("span", { class: `pill ${row.tone}`, ...explained(row.verdict) }, row.verdict));
      clear(certaintyCell).append(element("span", explained(row.certainty), row.certainty));
      node.cells[node.cells.length - 1].textContent = row.seeds;
      [...node.cells].forEach((cell, at) => {
        const value = keys[at] && row.values[keys[at]];
        if (!keys[at]) return;
        clear(cell);
        if (!value) return;
        cell.append(element("span", { class: "value" }, value.text));
        if (value.mean !== null) cell.append(spark(value, columnOf.get(keys[at]), domains.get(keys[at]), style));
        const range = value.why ?? value.interval;
        if (rows.length > DENSE) cell.dataset.tip = `${row.method}, ${columnOf.get(keys[at]).head}: ${value.text}\n${range}`;
        else cell.append(element("span", { class: "range", title: value.why }, range));
      });
    }
    const chosen = verdict.value;
    const names = [...new Set(rows.map((row) => row.verdict))];
    verdict.replaceChildren(element("option", { value: "" }, "all"), ...names.map((one) => element("option", { value: one, selected: one === chosen }, one)));
    filter();
  };
  for (const node of document.querySelectorAll("[data-key-of]")) node.append(keyOf(forest.styles[node.dataset.keyOf]));
  table.classList.toggle("dense", rows.length > DENSE);
  all.addEventListener("click", () => {
    most = Infinity;
    filter();
  });
  sortable(table, filter);
  name.addEventListener("input", filter);
  verdict.addEventListener("input", filter);
  let width = 0;
  new ResizeObserver(() => {
    if (place.clientWidth !== width) {
      width = place.clientWidth;
      draw();
    }
  }).observe(place);
  window.addEventListener("beforeprint", () => drawForest(place, columns.filter((column) => column.plotted), ordered(), forest.styles));
  write();
  return {
    // Other numbers for the same methods; methods that are left out disappear.
    update(newRows, newColumns) {
      rows = newRows;
      columns = newColumns ?? columns;
      write();
    },
    // Called with the methods that are shown, whenever that changes.
    onShown(listener) {
      listeners.push(listener);
      listener(ordered().map((row) => row.method));
    },
  };
}
