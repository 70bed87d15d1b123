// The page of the rigidity index: one state, the settings; everything that shows numbers follows from the card they give.
parts.push((data, methodsView) => {
  if (!data.payload) return;
  const scorer = createScorer(data.payload);
  window.einstellung = { score: (settings) => scorer.score(settings ?? {}), asInStudy: scorer.asInStudy };
  const { payload } = data;
  const own = payload.settings;
  const study = {
    tau: own.tau, window: own.window, smoothing: own.smoothing, margins: { AD: own.margins.AD, PD: own.margins.PD, SFR: own.margins.SFR_rel },
    baseline: own.baseline, final: own.final, methods: payload.methods, seeds: payload.seeds,
  };
  const words = createWords(data.words);
  const order = data.forest.rows.map((row) => row.method);
  let settings = study, card = payload.card, error = null, shown = order;

  // Only what differs is handed over, as one would type it.
  function given(of) {
    const found = {};
    for (const key of ["tau", "window", "smoothing", "baseline", "final"]) if (of[key] !== study[key]) found[key] = of[key];
    const margins = Object.fromEntries(Object.entries(of.margins).filter(([key, value]) => value !== study.margins[key]));
    if (Object.keys(margins).length) found.margins = margins;
    for (const key of ["methods", "seeds"]) if (of[key].length !== study[key].length) found[key] = of[key];
    return found;
  }

  const quoted = (text) => (/^[\w.,/=:@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
  function command() {
    const options = [...data.command];
    const { margins } = settings;
    const put = (name, value) => options.push(`--${name} ${quoted(String(value))}`);
    const changed = given(settings), fromDefault = (key, value) => settings[key] !== value;
    if (fromDefault("tau", data.defaults.tau)) put("tau", settings.tau);
    if (fromDefault("window", data.defaults.window)) put("window", settings.window);
    if (fromDefault("smoothing", data.defaults.smoothing)) put("smoothing", settings.smoothing);
    if (fromDefault("final", data.defaults.final)) put("final", settings.final);
    if (settings.baseline !== null) put("baseline", settings.baseline);
    if (["AD", "PD", "SFR"].some((key) => margins[key] !== data.defaults.margins[key])) put("margins", `${margins.AD},${margins.PD},${margins.SFR}`);
    if (changed.methods) put("methods", settings.methods.join(","));
    if (changed.seeds) put("seeds", settings.seeds.join(","));
    return options.join(" ");
  }

  const page = {
    data, words, study, command, smooth: scorer.smooth,
    settings: () => settings,
    card: () => card,
    shown: () => shown,
    differs: () => Object.keys(given(settings)).length > 0,
    reset: () => apply(study),
    change: (part) => apply({ ...settings, ...part, margins: { ...settings.margins, ...part.margins } }),
  };

  const answerText = document.getElementById("answer");
  const studyAnswer = [...answerText.childNodes];
  function writeAnswer(differs) {
    if (!differs) return void answerText.replaceChildren(...studyAnswer);
    const [lead, ...rest] = scorer.answer(card);
    const more = element("details", { class: "more" }, element("summary", {}, "More details"), ...rest.map((paragraph) => element("p", {}, ...typeset(paragraph))));
    more.open = answerText.querySelector("details")?.open ?? false;
    answerText.replaceChildren(element("p", { class: "lead" }, ...typeset(lead)), ...(rest.length ? [more] : []));
  }

  const asInStudy = document.querySelectorAll("[data-study]");
  function apply(wanted) {
    settings = wanted;
    const changed = given(settings);
    const differs = Object.keys(changed).length > 0;
    try {
      card = differs ? scorer.score(changed) : payload.card;
      error = null;
    } catch (problem) {
      error = problem.message;
    }
    showControls(settings, card, error);
    if (error) return;
    writeAnswer(differs);
    const keys = data.forest.columns.map((column) => column.key);
    // The view tells its listeners which methods are shown, and with that everything else is drawn.
    const limits = { AD: card.margins.AD, PD: card.margins.PD, SFR_rel: card.margins.SFR_rel };
    methodsView.update(words.forestRows(card, order, keys), data.forest.columns.map((column) => ({ ...column, margin: limits[column.key] ?? null })));
    asInStudy.forEach((node) => node.classList.toggle("stale", differs));
  }

  // What stands in a closed section is drawn when it is opened, and follows from then on.
  const refresh = [];
  const lazily = (id, start) => whenOpen(id, () => {
    const draw = start();
    draw();
    refresh.push(draw);
  });
  const showControls = startControls(page);
  showControls(settings, card, null);
  lazily("cards", () => () => writeCards(card, words));
  if (document.getElementById("curves")) lazily("curves", () => startCurves(page));
  lazily("delays", () => startDelays(page));
  if (data.gallery) whenOpen("gallery", () => startGallery(data.gallery));
  methodsView.onShown((methods) => {
    shown = methods;
    refresh.forEach((draw) => draw());
  });
});
