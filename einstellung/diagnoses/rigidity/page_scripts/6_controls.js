// The settings of the score as controls; what they give is scored in the browser at once.
function startControls(page) {
  const { payload } = page.data, place = document.getElementById("settings");
  const study = page.study;
  const input = (attributes) => element("input", attributes);
  const change = (part) => page.change(part);
  const numeric = (id, attributes, read) => input({ type: "number", id, ...attributes, oninput: (event) => event.target.value !== "" && change(read(Number(event.target.value))) });

  const tauRange = input({ type: "range", id: "tau-range", min: 0.01, max: 1, step: 0.01, "aria-label": "τ, threshold of the delay", oninput: (event) => change({ tau: Number(event.target.value) }) });
  const tau = numeric("tau", { min: 0.01, max: 1, step: "any", "aria-label": "τ" }, (value) => ({ tau: value }));
  const window_ = numeric("window", { min: 1, step: 1 }, (value) => ({ window: value }));
  const choose = (id, options, key) => element("select", { id, oninput: (event) => change({ [key]: event.target.value }) }, ...options.map((option) => element("option", { value: option }, option)));
  const smoothing = choose("smoothing", ["trailing", "centred", "none"], "smoothing");
  const margins = Object.fromEntries(["AD", "PD", "SFR"].map((key) => [key, numeric(`margin-${key}`, { min: 0, step: key === "AD" ? 0.5 : 0.005, "aria-label": `margin of ${key}` }, (value) => ({ margins: { [key]: value } }))]));
  const baseline = choose("baseline", payload.methods, "baseline");
  const final = choose("final", ["auto", "last", "best-val"], "final");
  const boxes = (key, names) => {
    const found = names.map((name) => [name, input({ type: "checkbox", checked: true, value: name, oninput: () => change({ [key]: found.filter(([, box]) => box.checked).map(([own]) => own) }) })]);
    const all = (checked) => element("button", { type: "button", class: "plain", onclick: () => { found.forEach(([, box]) => (box.checked = checked)); change({ [key]: checked ? names : [] }); } }, checked ? "all" : "none");
    return { found, node: element("fieldset", { class: "boxes" }, element("legend", { class: "visually-hidden" }, key), ...found.map(([name, box]) => element("label", {}, box, name)), all(true), all(false)) };
  };
  const methods = boxes("methods", payload.methods), seeds = boxes("seeds", payload.seeds);
  const term = (name, text) => element("span", { class: "term", tabindex: 0, "data-term": name }, ...symbols(text));
  const back = element("button", { type: "button", class: "plain", id: "reset", onclick: () => page.reset() }, "Reset to the study's settings");
  const command = element("code", { id: "command" });
  const copy = element("button", { type: "button", class: "plain", onclick: () => navigator.clipboard?.writeText(command.textContent).then(() => (copy.textContent = "Copied")) }, "Copy");
  const status = element("span", { id: "settings-status", role: "status", class: "soft" });
  const problem = element("p", { id: "settings-problem", class: "problem", role: "alert", hidden: true });
  const methodsSummary = element("summary", {}), seedsSummary = element("summary", {});

  const panel = element("details", { id: "settings-panel" },
    element("summary", {}, element("h2", {}, "Settings"), status),
    element("div", { class: "controls" },
      element("span", { class: "control" }, term("tau", "τ"), " ", tauRange, " ", tau),
      element("label", { "data-term": "window" }, "window ", window_), element("label", { "data-term": "smoothing" }, "smoothing ", smoothing),
      element("span", { class: "control" }, term("margins", "margins"), ...Object.entries(margins).flatMap(([key, node]) => [" ", element("label", {}, key === "SFR" ? "SFR" : key, key === "SFR" ? element("sub", {}, "rel") : null, " ", node)])),
      element("label", { "data-term": "baseline" }, "baseline ", baseline), element("label", { "data-term": "final" }, "checkpoint ", final)),
    element("div", { class: "controls" }, element("details", { class: "more" }, methodsSummary, methods.node), element("details", { class: "more" }, seedsSummary, seeds.node)),
    problem,
    element("p", { class: "command" }, back, " ", command, " ", copy));
  place.append(panel);
  place.hidden = false;
  panel.open = innerWidth > 700;

  const sameSet = (one, all) => one.length === all.length;
  return (settings, card, error) => {
    const set = (node, value) => document.activeElement !== node && node.value !== String(value) && (node.value = value);
    set(tau, settings.tau);
    tauRange.value = settings.tau;
    set(window_, settings.window);
    smoothing.value = settings.smoothing;
    Object.entries(margins).forEach(([key, node]) => set(node, settings.margins[key]));
    baseline.value = settings.baseline ?? card.baseline;
    final.value = settings.final;
    methods.found.forEach(([name, box]) => (box.checked = settings.methods.includes(name)));
    seeds.found.forEach(([name, box]) => (box.checked = settings.seeds.includes(name)));
    methodsSummary.textContent = `Methods scored: ${settings.methods.length} of ${payload.methods.length}`;
    seedsSummary.textContent = `Seeds: ${settings.seeds.length} of ${payload.seeds.length}`;
    problem.hidden = !error;
    problem.textContent = error ?? "";
    const differs = page.differs();
    back.disabled = !differs && !error;
    command.textContent = page.command();
    copy.textContent = "Copy";
    const compared = Object.keys(card.methods).filter((method) => method !== card.baseline).length;
    status.textContent = `${differs ? "changed from the study's settings" : "the study's settings"}; Holm's correction over ${compared} method${compared === 1 ? "" : "s"}`;
    status.classList.toggle("changed", differs);
    if (!sameSet(settings.methods, study.methods)) status.textContent += ` of ${study.methods.length - 1}`;
  };
}
