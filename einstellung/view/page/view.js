// The page of `einstellung view`. Everything that comes from a study is shown as text; nothing is ever parsed as markup.

import { draw, format, styles, svg } from "./chart.js";

const LIST_PAUSE = 2000, LIVE_PAUSE = 800, QUIET_PAUSE = 5000;
const SYMBOLS = { running: "▶", finished: "✓", scored: "✓", failed: "✕", unreadable: "✕", stopped: "■", incomplete: "…", waiting: "·" };
const EARLY = "Looking early and often makes chance findings likelier: how sure a verdict is counts once the study is finished.";
const UNREPORTED = "From the timelines alone: the report adds what single images and probes say.";
const main = document.getElementById("main");
const chosen = new Set();
let turn = 0; // rises with every change of page: answers that come too late are dropped

function h(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

const isDark = () => matchMedia("(prefers-color-scheme: dark)").matches;
const bdi = (text) => h("bdi", {}, text);

async function ask(what, parameters = []) {
  const query = new URLSearchParams(parameters).toString();
  const answer = await fetch(`api/${what}${query ? `?${query}` : ""}`, { cache: "no-store" });
  connected(true);
  const value = await answer.json();
  if (!answer.ok) throw new Refused(value.error ?? answer.statusText);
  return value;
}

class Refused extends Error {}

function connected(yes) {
  const place = document.getElementById("connection");
  if (yes) {
    place.hidden = true;
  } else if (place.hidden) {
    place.textContent = `No connection to the server since ${new Date().toLocaleTimeString()}: it was stopped, or its run has ended. What you see is the last state it sent; “einstellung view FOLDER” shows the study again.`;
    place.hidden = false;
  }
}

/** Call `step` again and again while this page is shown; it returns the pause in milliseconds. */
async function repeat(step) {
  const mine = ++turn;
  const current = () => mine === turn;
  const page = [...main.childNodes];
  let refused = null;
  while (current()) {
    let pause = QUIET_PAUSE;
    if (!document.hidden) {
      try {
        pause = await step(current);
        if (refused !== null && current()) main.replaceChildren(...page);
        refused = null;
      } catch (error) {
        if (!current()) return;
        if (error instanceof Refused) {
          if (refused !== error.message) main.replaceChildren(h("h1", {}, "Nothing to show"), h("p", { class: "banner failed" }, error.message), h("p", {}, h("a", { href: "#/" }, "All studies")));
          refused = error.message;
        } else if (error instanceof TypeError) connected(false); // what fetch throws without a server
        else throw error;
        pause = LIST_PAUSE;
      }
    }
    await new Promise((resolve) => { setTimeout(resolve, document.hidden ? 500 : pause); });
  }
}

const shownNow = new WeakMap();

/** Fill a place, only where its data changed. What a reader opened, scrolled or focused stays as it is. */
function fill(place, data, make) {
  const now = JSON.stringify(data);
  if (shownNow.get(place) === now) return;
  shownNow.set(place, now);
  const opened = new Map([...place.querySelectorAll("details")].map((part, i) => [partName(part, i), part.open]));
  const scrolled = [...place.querySelectorAll(".scroll")].map((part) => [part.scrollLeft, part.scrollTop]);
  const focused = place.contains(document.activeElement) ? controlName(document.activeElement) : null;
  place.replaceChildren(...[make()].flat().filter(Boolean));
  [...place.querySelectorAll("details")].forEach((part, i) => { part.open = opened.get(partName(part, i)) ?? part.open; });
  [...place.querySelectorAll(".scroll")].forEach((part, i) => { [part.scrollLeft, part.scrollTop] = scrolled[i] ?? [0, 0]; });
  if (focused) [...place.querySelectorAll("a, button, input, select, summary, [tabindex]")].find((part) => controlName(part) === focused)?.focus({ preventScroll: true });
}

/** The names by which a part is found again after it was made anew; numbers in them may have changed. */
const partName = (part, i) => `${i} ${part.querySelector("summary").textContent.replace(/[0-9]+/g, "")}`;
const controlName = (part) => `${part.tagName} ${part.getAttribute("aria-label") ?? (part.closest("label") ?? part).textContent.replace(/[0-9]+/g, "")}`;

function duration(seconds) {
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min`;
  if (whole < 36000) return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
  if (whole < 172800) return `${Math.floor(whole / 3600)} h`;
  return `${Math.floor(whole / 86400)} days`;
}

const timeLeft = (seconds) => (seconds === null || seconds === undefined ? "estimating time left" : `about ${duration(seconds)} left`);
const percent = (share) => `${Math.floor(100 * share)} %`;

function statePill(state) {
  return h("span", { class: `state ${state}` }, `${SYMBOLS[state] ?? ""} ${state}`);
}

/** A table that scrolls by itself where the screen is narrow. */
function dataTable(label, head, rows, kind = "data") {
  const table = h("table", { class: kind }, h("thead", {}, h("tr", {}, head)), h("tbody", {}, rows));
  return h("div", { class: rows.length > 30 ? "scroll tall" : "scroll", tabindex: 0, role: "region", "aria-label": label }, table);
}

const column = (name, text, title) => h("th", { scope: "col", class: text ? "text" : null, title }, bdi(name));
const rowHead = (name) => h("th", { scope: "row", title: name }, bdi(name));

// ---------------------------------------------------------------- the list

function showList() {
  document.title = "Einstellung: studies";
  const search = h("input", { type: "search", placeholder: "Search by name, folder, state or verdict", "aria-label": "Search studies" });
  const compare = h("button", { class: "button", type: "button", disabled: true, onclick: () => { location.hash = `#/compare/${[...chosen].join(",")}`; } }, "Compare");
  const count = h("p", { class: "soft small", role: "status" });
  const list = h("ul", { class: "studies" });
  main.replaceChildren(h("h1", {}, "Studies"), h("div", { class: "tools" }, search, compare), count, list);
  let rows = [];
  const filter = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const item of list.children) {
      const hit = words.every((word) => item.dataset.text.includes(word));
      item.hidden = !hit;
      shown += hit;
    }
    const pending = rows.filter((row) => row.pending && row.verdict === undefined).length;
    count.textContent = rows.length ? `${shown} of ${rows.length} shown${pending ? `; reading ${pending} verdicts` : ""}` : "No studies in these folders yet.";
  };
  const choose = () => {
    compare.disabled = chosen.size < 2;
    compare.textContent = chosen.size < 2 ? "Compare (choose two or more)" : `Compare ${chosen.size} studies`;
  };
  search.addEventListener("input", filter);
  choose();
  repeat(async (current) => {
    const found = await ask("studies");
    if (!current()) return 0;
    rows = found.studies;
    for (const key of chosen) if (!rows.some((row) => row.key === key)) chosen.delete(key);
    fill(list, rows.map(({ age, ...rest }) => ({ ...rest, age: age === null || age === undefined ? age : duration(age) })), () => rows.map((row) => listItem(row, choose)));
    filter();
    return rows.some((row) => row.pending && row.verdict === undefined) ? 200 : LIST_PAUSE;
  });
}

function listItem(row, choose) {
  const text = [row.label, row.name, row.state, row.kind, row.verdict, row.why].filter(Boolean).join(" ").toLowerCase();
  const page = row.page ? h("a", { class: "open", href: row.page, "aria-label": `report of ${row.label}` }, "report") : h("span", { class: "open" });
  const age = h("span", { class: "age" }, row.age === null || row.age === undefined ? "" : `${duration(row.age)} ago`);
  if (row.kind === "damaged") {
    return h("li", { class: "damaged", "data-text": text }, h("span", { class: "name" }, bdi(row.label)), ": ", bdi(row.why));
  }
  if (row.kind !== "study") {
    return h("li", { class: "group", "data-text": text }, h("span", { class: "name" }, bdi(row.label), h("span", { class: "path" }, row.kind)), age, page);
  }
  const box = checkbox("", chosen.has(row.key), (on) => { chosen[on ? "add" : "delete"](row.key); choose(); }, { "aria-label": `compare ${row.label}` });
  const running = row.state === "running";
  const more = running && row.share !== null ? `${percent(row.share)}, ${timeLeft(row.seconds_left)}` : row.finished_runs;
  const verdict = row.verdict ? [row.provisional ? h("span", { class: "state provisional" }, row.state === "finished" ? "unreported" : "so far") : null, " ", bdi(row.verdict)] : h("span", { class: "soft" }, row.pending ? "…" : bdi(row.why ?? ""));
  return h("li", { "data-text": text },
    h("span", {}, box),
    h("span", { class: "name" }, h("a", { href: `#/study/${row.key}` }, bdi(row.name ?? row.label)), h("span", { class: "path" }, bdi(row.label))),
    h("span", {}, statePill(row.state), h("span", { class: "under" }, more + (row.failed_runs ? `, ${row.failed_runs} failed` : ""))),
    h("span", { class: "verdict", title: row.verdict ?? "" }, verdict), age, page);
}

// ---------------------------------------------------------------- one study

function showStudy(key) {
  const head = h("div"), progress = h("div"), verdicts = h("div"), runs = h("div"), curves = h("div");
  main.replaceChildren(head, progress, verdicts, curves, runs);
  const pick = { phase: null, splits: [], seeds: false, hidden: new Set() };
  let version = null;
  let drawn = null;
  const redraw = () => drawn && showCurves(curves, drawn, pick, reload);
  const reload = async () => {
    drawn = await ask("curves", [["study", key], ...(pick.phase ? [["phase", pick.phase]] : []), ...pick.splits.map((split) => ["split", split])]);
    redraw();
  };
  matchMedia("(prefers-color-scheme: dark)").onchange = redraw;
  repeat(async (current) => {
    const study = await ask("study", [["study", key]]);
    if (!current()) return 0;
    document.title = `${study.name ?? study.label}: Einstellung`;
    const { silent, age, ...stable } = study;
    fill(head, [study.label, study.name, study.state, study.page], () => [
      h("h1", {}, bdi(study.name ?? study.label)),
      h("p", { class: "soft small" }, bdi(study.label)),
      h("p", {}, statePill(study.state), " ", study.page ? h("a", { href: study.page }, study.state === "running" ? "Earlier report" : "Report") : h("span", { class: "soft small" }, "no report yet")),
    ]);
    fill(progress, [study.state, study.share, study.seconds_left && duration(study.seconds_left), study.jobs, study.state === "stopped" && duration(silent)], () => progressOf(study));
    fill(runs, stable.runs, () => gridOf(study));
    if (study.version !== version || (verdicts.dataset.running !== String(study.state === "running"))) {
      await reload(); // before the verdict, which takes longer
      const said = await ask("verdict", [["study", key]]);
      if (!current()) return 0;
      fill(verdicts, said, () => verdictsOf(said, study));
      verdicts.dataset.running = String(study.state === "running");
      version = study.version;
    }
    return study.state === "running" ? LIVE_PAUSE : QUIET_PAUSE;
  });
}

function progressOf(study) {
  if (study.state === "stopped") {
    return h("p", { class: "banner" }, `No sign of life for ${duration(study.silent)}: the process that ran this study has ended or hangs. The same command resumes it.`);
  }
  if (study.state !== "running") return null;
  const jobs = study.jobs.slice(0, 40).map((job) => h("div", { class: "job" }, h("span", {}, bdi(job.label)), h("progress", { max: 1, value: job.done, "aria-label": job.label }), h("span", { class: "soft" }, `${percent(job.done)}, ${job.where}`)));
  return h("section", { class: "panel", "aria-label": "Progress" },
    h("div", { class: "job" }, h("strong", {}, "the whole study"), h("progress", { max: 1, value: study.share, "aria-label": "the whole study" }), h("strong", {}, `${percent(study.share)}, ${timeLeft(study.seconds_left)}`)),
    jobs);
}

function verdictsOf(said, study) {
  const problems = said.problems.length ? listOf("banner", "", said.problems) : null;
  return [h("h2", {}, study.state === "running" ? "Verdict so far" : "Verdict"), problems, ...said.verdicts.map((verdict) => verdictOf(verdict, study.state === "finished" ? UNREPORTED : EARLY))];
}

function verdictOf(verdict, caution) {
  const { failed, made } = verdict.checks;
  const seeds = `${verdict.fewest_seeds} ${verdict.fewest_seeds === 1 ? "seed" : "seeds"}`;
  return h("section", { class: "panel" },
    verdict.stored ? null : h("p", { class: "small" }, h("span", { class: "state provisional" }, "provisional"), ` ${verdict.basis}. ${caution}`),
    h("p", { class: "lead" }, bdi(verdict.answer[0])),
    failed.length ? listOf("banner failed", "Failed checks", failed) : null,
    tableOf(verdict.table, `Facets by method, ${verdict.basis}`),
    verdict.answer.length > 1 ? h("details", {}, h("summary", {}, "More"), verdict.answer.slice(1).map((text) => h("p", {}, bdi(text)))) : null,
    h("p", { class: "soft small" }, `${made - failed.length} of ${made} checks passed; at least ${seeds} per method.`),
    verdict.warnings.length ? h("details", {}, h("summary", {}, `Worth knowing (${verdict.warnings.length})`), listOf("", "", verdict.warnings)) : null);
}

function tableOf(table, label) {
  const wordy = (place) => place < table.words || table.rows.some((row) => /^[a-z]/i.test(row[place]?.text ?? ""));
  const cell = ({ text, tone, why }, place) => {
    if (place === 0) return rowHead(text);
    return h("td", { class: [tone, wordy(place) && "text"].filter(Boolean).join(" ") || null, title: why }, bdi(text));
  };
  const places = table.head.map((_, place) => place); // words first: what is said stands before what it rests on
  const order = [0, ...places.filter((place) => place && wordy(place)), ...places.filter((place) => place && !wordy(place))];
  const head = order.map((place) => column(table.head[place].replace("\n", " "), wordy(place)));
  return dataTable(label, head, table.rows.map((row) => h("tr", {}, order.map((place) => cell(row[place], place)))));
}

function gridOf(study) {
  if (!study.runs.length) return null;
  const runs = new Map(study.runs.map((run) => [`${run.seed} ${run.method}`, run]));
  const counts = {};
  for (const run of study.runs) counts[run.state] = (counts[run.state] ?? 0) + 1;
  const counted = Object.entries(counts).map(([state, count]) => `${SYMBOLS[state]} ${count} ${state}`).join(", ");
  const reasons = study.runs.filter((run) => run.reason).slice(0, 50);
  const cell = (method, seed) => {
    const run = runs.get(`${seed} ${method}`);
    const title = `${method} seed ${seed}: ${run.state}${run.where ? `, ${run.where}` : ""}`;
    const mark = run.state === "running" ? percent(run.done ?? 0) : SYMBOLS[run.state];
    return h("td", {}, h("span", { class: `cell ${run.state}`, title }, mark, h("span", { class: "off" }, ` ${run.state}`)));
  };
  const head = [column("method", true), study.seeds.map((seed) => column(String(seed)))].flat();
  const rows = study.methods.map((method) => h("tr", {}, rowHead(method), study.seeds.map((seed) => cell(method, seed))));
  return [
    h("h2", {}, "Runs"),
    h("p", {}, counted),
    reasons.length ? listOf("banner failed", "", reasons.map((run) => `${run.method} seed ${run.seed}: ${run.reason}`)) : null,
    h("details", { open: study.runs.length <= 200 }, h("summary", {}, "Methods and seeds"), dataTable("State of every run", head, rows, "grid")),
  ];
}

function listOf(kind, title, texts) {
  return h("div", { class: kind }, title ? h("strong", {}, title) : null, h("ul", {}, texts.map((text) => h("li", {}, bdi(text)))));
}

function showCurves(place, data, pick, reload) {
  fill(place, [data, [...pick.hidden], pick.seeds, isDark()], () => {
    const problems = data.problems.length ? listOf("banner", "", data.problems) : null;
    if (!data.splits.length) return problems;
    const all = Object.values(data.curves).flat();
    const methods = [...new Set(all.map((curve) => curve.method))].sort();
    const look = styles(methods);
    const again = () => showCurves(place, data, pick, reload);
    const charts = data.chosen.map((split) => {
      const chart = h("div", { class: "chart" }, h("h3", {}, bdi(split)));
      draw(chart, split, data.curves[split], look, (method) => !pick.hidden.has(method), pick.seeds);
      return chart;
    });
    const singles = checkbox("single seeds", pick.seeds, (on) => { pick.seeds = on; again(); });
    return [
      h("h2", {}, "Accuracy by epoch"),
      problems,
      h("div", { class: "tools" }, phaseChoice(data, pick, reload), all.some((curve) => curve.seeds) ? singles : null,
        h("span", { class: "soft small" }, "Lines: mean over the seeds measured at an epoch; bands: lowest to highest seed.")),
      splitChoice(data, pick, reload),
      legendOf(methods, look, pick, again),
      h("div", { class: "charts" }, charts),
      h("details", {}, h("summary", {}, "Latest values as a table"), latestValues(data, methods)),
    ];
  });
}

function checkbox(name, checked, changed, attributes = {}) {
  const box = h("input", { type: "checkbox", onchange: (event) => changed(event.target.checked), ...attributes });
  box.checked = checked;
  return h("label", {}, box, ...[name].flat());
}

function phaseChoice(data, pick, reload) {
  const change = (event) => { pick.phase = event.target.value; pick.splits = []; reload(); };
  const options = data.phases.map((phase) => h("option", { value: phase, selected: phase === data.phase }, phase));
  return h("label", {}, "phase", h("select", { onchange: change }, options));
}

function splitChoice(data, pick, reload) {
  const boxes = data.splits.map((split) => checkbox(bdi(split), data.chosen.includes(split), (on) => {
    pick.splits = on ? [...data.chosen, split] : data.chosen.filter((one) => one !== split);
    reload();
  }));
  const title = `Splits (${data.chosen.length} of ${data.splits.length})`;
  return h("details", {}, h("summary", {}, title), h("fieldset", {}, h("legend", { class: "off" }, "Splits"), boxes));
}

function legendOf(methods, look, pick, again) {
  const all = h("button", { class: "link", type: "button", onclick: () => { pick.hidden.clear(); again(); } }, "show all");
  const none = h("button", { class: "link", type: "button", onclick: () => { methods.forEach((method) => pick.hidden.add(method)); again(); } }, "hide all");
  const list = h("ul", { class: "legend", "aria-label": "Methods", tabindex: 0 }, methods.map((method) => {
    const { colour, dash } = look.get(method);
    const line = svg("line", { x1: 0, x2: 30, y1: 5, y2: 5, stroke: colour, "stroke-width": 3, "stroke-dasharray": dash });
    const sample = svg("svg", { viewBox: "0 0 30 10", "aria-hidden": "true" }, line);
    return h("li", {}, checkbox([sample, bdi(method)], !pick.hidden.has(method), (on) => { pick.hidden[on ? "delete" : "add"](method); again(); }));
  }));
  return h("div", {}, list, methods.length > 6 ? [all, " ", none] : null);
}

function latestValues(data, methods) {
  const value = (method, split) => {
    const curve = data.curves[split].find((one) => one.method === method);
    return h("td", {}, curve ? `${format(curve.mean.at(-1))} at ${curve.epochs.at(-1)}, n ${curve.n.at(-1)}` : "–");
  };
  const rows = methods.map((method) => h("tr", {}, rowHead(method), data.chosen.map((split) => value(method, split))));
  return dataTable("Latest values", [column("method", true), ...data.chosen.map((split) => column(split))], rows);
}

// ---------------------------------------------------------------- side by side

function showComparison(keys) {
  document.title = "Einstellung: comparison";
  const place = h("div");
  main.replaceChildren(h("h1", {}, "Side by side"), place);
  let shown = null;
  let told = null;
  const render = () => {
    shown ??= new Set(told.shown);
    const letters = told.studies.map((_, i) => String.fromCharCode(65 + i));
    const facets = told.facets.filter((facet) => shown.has(facet.name));
    const boxes = told.facets.map((facet) => checkbox(bdi(facet.head), shown.has(facet.name), (on) => {
      shown[on ? "add" : "delete"](facet.name);
      render();
    }, { title: facet.meaning }));
    const head = [column("method", true), column("study", true), ...facets.map((facet) => column(facet.head, false, facet.meaning))];
    const rows = told.rows.flatMap((row) => letters.map((letter, i) => h("tr", {},
      i === 0 ? h("th", { scope: "rowgroup", rowspan: letters.length, title: row.method }, bdi(row.method)) : null,
      h("td", { class: "text" }, letter),
      facets.map((facet) => cellOf(row.facets[facet.name][i], letter)))));
    fill(place, [told, [...shown]], () => [
      h("ul", { class: "studies" }, told.studies.map((study, i) => comparedItem(study, letters[i]))),
      differing("Settings that differ", told.settings, letters),
      differing("Measured under different conditions", told.conditions, letters),
      h("fieldset", {}, h("legend", {}, "Facets"), boxes),
      h("div", { class: "panel" }, dataTable("Methods and facets of all studies", head, rows)),
      h("p", { class: "soft small" }, `${told.note} Bold: the interval excludes 0. p: paired t; w: Welch's t.`),
    ]);
  };
  repeat(async (current) => {
    const found = await ask("compare", keys.map((key) => ["study", key]));
    if (!current()) return 0;
    told = found;
    render();
    return QUIET_PAUSE;
  });
}

function comparedItem(study, letter) {
  const provisional = study.stored ? null : h("span", { class: "state provisional" }, "provisional");
  const name = h("span", { class: "name" }, `${letter}: `, h("a", { href: `#/study/${study.key}` }, bdi(study.label)), h("span", { class: "path" }, provisional, " ", bdi(study.answer)));
  return h("li", { class: "group" }, name);
}

function signed(value) {
  return `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(3)}`;
}

function cellOf(cell, letter) {
  if (cell.mean === null) return h("td", { class: "faint" }, "–");
  const text = `${cell.mean < 0 ? "−" : ""}${Math.abs(cell.mean).toFixed(3)}${cell.sd === null ? "" : ` ± ${cell.sd.toFixed(3)}`}`;
  const difference = cell.difference;
  let more = null;
  if (difference && difference.value !== null) {
    const clear = difference.ci95 && (difference.ci95[0] > 0 || difference.ci95[1] < 0);
    const mark = difference.interval.startsWith("paired") ? "p" : "w";
    const range = difference.ci95 ? ` [${signed(difference.ci95[0])}, ${signed(difference.ci95[1])}] ${mark}` : "";
    const n = difference.n[0] === difference.n[1] ? `n ${difference.n[0]}` : `n ${difference.n[0]}, ${difference.n[1]}`;
    more = h("span", { class: `difference${clear ? " clear" : ""}`, title: `${difference.interval}; ${n}` }, `${letter} − A ${signed(difference.value)}`, h("br"), range || difference.interval);
  }
  return h("td", { title: `n ${cell.n}` }, text, more);
}

function differing(title, rows, letters) {
  if (!rows.length) return null;
  const value = (text) => h("td", { class: "text" }, bdi(text ?? "–"));
  const table = dataTable(title, [column("setting", true), ...letters.map((letter) => column(letter, true))],
    rows.map((row) => h("tr", {}, rowHead(row.name), row.values.map(value))));
  return h("details", { class: "panel", open: rows.length <= 6 }, h("summary", {}, `${title} (${rows.length})`), table);
}

// ---------------------------------------------------------------- addresses

function route() {
  const [, what, rest] = location.hash.match(/^#\/(study|compare)\/(.+)$/) ?? [];
  if (location.hash === "#main") return;
  scrollTo(0, 0);
  if (what === "study") showStudy(rest);
  else if (what === "compare") showComparison(rest.split(","));
  else showList();
}

addEventListener("hashchange", route);
route();
