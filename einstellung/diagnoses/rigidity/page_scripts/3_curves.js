// Curves over phase 2, smoothed as the settings say, paired by seed where two models are compared.
function startCurves(page) {
  const { payload, curves, words: { over, after } } = page.data;
  const TITLES = {
    SC_patch: "Accuracy with the cue", SC_mask: "Accuracy with the cue covered", delta: "Δ: reliance on the cue", PD: "PD: deficit relative to the baseline",
    SFR_rel: "SFR_rel: reliance beyond the baseline's", NSC: "Accuracy on the other classes", T1: `Accuracy on ${after}`, SC_clean: "Accuracy without the cue",
    SC_elsewhere: "Accuracy with the cue elsewhere", NSC_patched: "Accuracy on the other classes with the cue added",
  };
  const NEEDS = { delta: ["SC_patch", "SC_mask"], PD: ["SC_patch"], SFR_rel: ["SC_patch", "SC_mask"] };
  const has = (key) => key === "SC_patch" ? payload.runs.some((run) => run.curve) : key in curves;
  const offered = Object.keys(TITLES).filter((key) => (NEEDS[key] ?? [key]).every(has));
  const tools = document.getElementById("curves-tools"), caption = document.getElementById("curves-caption");
  const select = element("select", { id: "curve-of", oninput: () => draw() }, ...offered.map((key) => element("option", { value: key }, TITLES[key].replace("SFR_rel", "SFRrel"))));
  const box = (label, checked) => element("input", { type: "checkbox", id: label, checked, oninput: () => draw() });
  const bands = box("curve-bands", true), single = box("curve-seeds", false);
  const button = (text, act) => element("button", { type: "button", class: "plain", onclick: act }, text);
  const chart = createChart(document.getElementById("curves-chart"), { label: `Curves over ${over}` });
  const legend = element("div", { class: "legend" });
  clear(tools).append(
    element("label", {}, "Curve ", select), element("label", {}, bands, "bands"), element("label", {}, single, "individual seeds"),
    button("Zoom in", () => chart.zoomBy(0.5)), button("Zoom out", () => chart.zoomBy(2)), button("Whole phase", () => chart.reset()),
  );
  caption.before(legend);

  // One run's curve as epoch -> value, without epoch 0.
  function curveOf(place, key) {
    const stored = key === "SC_patch" ? payload.runs[place].curve : curves[key][place];
    if (!stored) return null;
    const { window, smoothing } = page.settings();
    const smoothed = page.smooth(stored[0], stored[1], window, smoothing);
    return new Map(stored[0].map((epoch, i) => [epoch, smoothed[i]]).filter(([, value]) => !Number.isNaN(value)));
  }
  const minus = (one, other) => one && other && new Map([...one].filter(([epoch]) => other.has(epoch)).map(([epoch, value]) => [epoch, value - other.get(epoch)]));
  const memory = new Map();
  const cached = (place, key) => {
    const name = `${place} ${key}`;
    if (!memory.has(name)) memory.set(name, key === "delta" ? minus(curveOf(place, "SC_patch"), curveOf(place, "SC_mask")) : curveOf(place, key));
    return memory.get(name);
  };

  function valuesOf(place, key, baselineOf) {
    if (key !== "PD" && key !== "SFR_rel") return cached(place, key);
    const base = baselineOf.get(payload.runs[place].seed);
    if (base === undefined) return null;
    return key === "PD" ? minus(cached(base, "SC_patch"), cached(place, "SC_patch")) : minus(cached(place, "delta"), cached(base, "delta"));
  }

  // Mean and standard deviation at the epochs where the most seeds were measured.
  function bandOf(seeds) {
    const counts = new Map();
    seeds.forEach((seed) => seed.values.forEach((_, epoch) => counts.set(epoch, (counts.get(epoch) ?? 0) + 1)));
    const most = Math.max(0, ...counts.values());
    const x = [...counts].filter(([, n]) => n === most).map(([epoch]) => epoch).sort((a, b) => a - b);
    const all = x.map((epoch) => seeds.filter((seed) => seed.values.has(epoch)).map((seed) => seed.values.get(epoch)));
    const mean = all.map((values) => values.reduce((sum, value) => sum + value, 0) / values.length);
    const sd = all.map((values, i) => (most > 1 ? Math.sqrt(values.reduce((sum, value) => sum + (value - mean[i]) ** 2, 0) / (most - 1)) : null));
    return { x, mean, sd, n: x.map(() => most) };
  }

  function seriesOf(card, key, shown, compared) {
    memory.clear();
    const baselineOf = new Map(payload.runs.map((run, place) => [run, place]).filter(([run]) => run.method === card.baseline).map(([run, place]) => [run.seed, place]));
    return Object.keys(card.methods).filter((method) => shown.has(method) && !(compared && method === card.baseline)).map((method) => {
      const seeds = payload.runs.map((run, place) => ({ run, place }))
        .filter(({ run }) => run.method === method && run.seed in card.methods[method].per_seed)
        .map(({ run, place }) => ({ seed: run.seed, values: valuesOf(place, key, baselineOf) })).filter((seed) => seed.values && seed.values.size);
      const lines = seeds.map(({ values }) => ({ x: [...values.keys()], y: [...values.values()] }));
      return { name: method, style: page.data.forest.styles[method], seeds: lines, ...bandOf(seeds) };
    }).filter((one) => one.x.length);
  }

  let drawnFrom = "", series = [];
  function draw() {
    const card = page.card(), key = select.value, shown = new Set(page.shown());
    const settings = page.settings();
    const compared = key === "PD" || key === "SFR_rel";
    const from = JSON.stringify([key, [...shown], card.baseline, settings.window, settings.smoothing, settings.methods, settings.seeds]);
    if (from !== drawnFrom) series = seriesOf(card, key, shown, compared);
    drawnFrom = from;
    const signed = compared || key === "delta";
    const margin = key === "PD" ? settings.margins.PD : key === "SFR_rel" ? settings.margins.SFR : null;
    chart.draw({
      series, signed, zero: signed, margin, bands: bands.checked, single: single.checked, from: 0,
      levels: signed ? [] : page.data.levels.filter((level) => key === "SC_patch"),
      xLabel: `effective epoch of ${over}`,
      threshold: key === "SC_patch" ? { value: settings.tau, text: `τ ${number(settings.tau, 2)}`, label: "Threshold τ", min: 0.01, max: 1, step: 0.01, set: (value) => page.change({ tau: Number(value.toFixed(4)) }) } : null,
    });
    clear(legend).append(...series.map((one) => element("span", {}, element("span", { class: "key" }, keyOf(one.style)), one.name)));
    const smoothed = settings.smoothing === "none" || settings.window === 1 ? "not smoothed" : `smoothed by a ${settings.smoothing} mean over ${settings.window} epochs`;
    clear(caption).append(element("b", {}, ...symbols(TITLES[key])), `, ${smoothed}. Lines: mean over seeds${single.checked ? "; thin: individual seeds" : bands.checked ? "; bands: one standard deviation" : ""}. ${key === "SC_patch" ? "Drag the line τ, or move it by arrow keys. " : ""}Drag across to zoom.${margin ? " Grey: within the margin." : ""}`);
  }
  draw();
  return draw;
}
