// A margin as a control: Python scored the study at every stop of the slider, the page shows what it said there.
parts.push((data, methodsView) => {
  const place = document.getElementById("settings");
  if (!data.margin || !place) return;
  const { own, stops, command } = data.margin;
  const points = (margin) => `${number(100 * margin, Number.isInteger(Math.round(1e6 * margin) / 1e4) ? 0 : 1)} points`;
  const home = stops.findIndex((stop) => stop.margin === own);
  const range = element("input", { type: "range", id: "margin", min: 0, max: stops.length - 1, step: 1, value: home, oninput: () => apply() });
  const shown = element("output", { for: "margin", id: "margin-value" });
  const status = element("span", { id: "settings-status", role: "status", class: "soft" });
  const back = element("button", { type: "button", class: "plain", id: "reset", onclick: () => { range.value = home; apply(); } }, "Back to the study's settings");
  const line = element("code", { id: "command" });
  place.append(element("div", { class: "controls" }, element("label", {}, "margin of the verdict ", range), shown, back, line, status));
  place.hidden = false;

  const answer = document.getElementById("answer");
  const studyAnswer = [...answer.childNodes];
  const study = document.querySelectorAll("[data-study]");
  function apply() {
    const stop = stops[Number(range.value)], differs = stop.margin !== own;
    shown.textContent = points(stop.margin);
    range.setAttribute("aria-valuetext", points(stop.margin));
    back.disabled = !differs;
    status.textContent = differs ? `changed: the study's margin is ${points(own)}` : "as in the study";
    status.classList.toggle("changed", differs);
    line.textContent = command.replace("VALUE", () => stop.margin);
    methodsView.update(
      data.forest.rows.map((row) => {
        const [verdict, tone, certainty] = stop.rows[row.method];
        return { ...row, verdict, tone, certainty };
      }),
      data.forest.columns.map((column) => ({ ...column, margin: stop.columns[column.key] ?? null })),
    );
    for (const node of document.querySelectorAll("[data-sentence]")) clear(node).append(...typeset(stop.rows[node.dataset.sentence][3]));
    for (const node of document.querySelectorAll("[data-verdict]")) {
      const [verdict, tone] = stop.rows[node.dataset.verdict];
      node.className = `pill ${tone}`;
      node.textContent = verdict;
    }
    if (!differs) answer.replaceChildren(...studyAnswer);
    else {
      const [lead, ...rest] = stop.answer;
      answer.replaceChildren(element("p", { class: "lead" }, ...typeset(lead)), element("details", { class: "more" }, element("summary", {}, "More of the answer"), ...rest.map((paragraph) => element("p", {}, ...typeset(paragraph)))));
    }
    study.forEach((node) => node.classList.toggle("stale", differs));
  }
  apply();
});
