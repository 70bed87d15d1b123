// Method cards, redrawn when the settings change.
function writeCards(card, words) {
  const pill = (text, tone) => element("span", { class: `pill ${tone ?? ""}` }, text);
  const term = (key, head) => element("span", { class: "term", tabindex: 0, "data-term": key }, ...symbols(head));

  function summaryOf(record) {
    const certain = record.certainty === "holds";
    const found = [record.pattern ? pill(`${record.pattern}: ${words.patterns[record.pattern]}`, certain ? record.pattern : "") : pill("no verdict")];
    if (record.saturated && record.pattern && record.pattern !== "saturated") found.push(pill("masked accuracies at the floor"));
    if (record.unlearned) found.push(pill("shortcut classes not learned, even with the cue"));
    if (record.high_rigidity) found.push(pill(`high rigidity, ${record.high_rigidity_certainty}`, record.high_rigidity_certainty === "holds" ? "red-flag" : ""));
    return found;
  }

  function bodyOf(method, record) {
    const found = [];
    const certainty = words.shownCertainty(record);
    if (certainty) found.push(element("p", { class: "certainty" }, element("b", {}, certainty), element("span", { class: "soft" }, ": ", ...symbols(words.certaintyWords(record)))));
    const rows = words.shown.card.map((key) => words.facetRow(card, method, key)).map((facet) =>
      element("tr", {}, element("th", { scope: "row" }, term(facet.key, facet.head)),
        element("td", { class: "value" }, facet.undefined ? element("span", { class: "undefined" }, facet.value) : facet.value, element("span", { class: "range" }, facet.range)),
        element("td", { class: "n" }, `n = ${facet.n}`)));
    found.push(element("table", { class: "facets" }, element("tbody", {}, ...rows)));
    if (record.conditions.length) {
      found.push(element("p", { class: "label" }, record.pattern === "ambiguous" ? "Conditions for a red flag" : "Conditions"));
      found.push(element("ul", { class: "conditions" }, ...record.conditions.map(words.conditionRow).map((condition) =>
        element("li", {}, ...symbols(condition.text), ": ", element("b", {}, condition.state), condition.sure ? element("span", { class: "soft" }, ` (${condition.sure})`) : null))));
    }
    if (record.verdict) found.push(element("p", { class: "label" }, "Verdict"), element("p", { class: "verdict" }, ...typeset(record.verdict)));
    if (record.error_rate) found.push(element("p", { class: "verdict soft" }, ...typeset(record.error_rate)));
    if (record.next_probe) found.push(element("p", { class: "probe" }, element("b", {}, "Next probe:"), " ", ...typeset(record.next_probe)));
    return found;
  }

  function baselineBody(method) {
    const items = words.shown.baseline.map((key) => words.facetRow(card, method, key)).map((facet) =>
      element("li", {}, element("b", {}, term(facet.key, facet.head)), facet.value, element("span", { class: "range" }, facet.undefined ? facet.range : `${facet.range}, n = ${facet.n}`)));
    return [element("ul", {}, ...items)];
  }

  for (const node of document.querySelectorAll("details.card[data-method]")) {
    const method = node.dataset.method, record = card.methods[method];
    node.hidden = !record;
    if (!record) continue;
    const isBaseline = method === card.baseline;
    const summary = node.querySelector("summary");
    summary.querySelectorAll(".pill").forEach((old) => old.remove());
    summary.append(...(isBaseline ? [pill("baseline")] : summaryOf(record)));
    node.classList.toggle("strip", isBaseline);
    node.ontoggle = () => node.open && clear(node.querySelector(".body")).append(...(isBaseline ? baselineBody(method) : bodyOf(method, record)));
    node.ontoggle();
  }
}
