// The grid of delays: AD of every method at every threshold; a click on a threshold chooses it.
function startDelays(page) {
  const place = document.getElementById("delay-grid"), note = document.getElementById("delay-note");
  if (!place) return () => {};
  place.hidden = false;
  const STRONGEST = 0.75;

  return () => {
    const card = page.card(), shown = new Set(page.shown());
    const methods = Object.keys(card.methods).filter((method) => method !== card.baseline && shown.has(method));
    const taus = methods.length ? Object.keys(card.methods[methods[0]].AD_tau) : [];
    const largest = Math.max(1e-9, ...methods.flatMap((method) => taus.map((tau) => Math.abs(card.methods[method].AD_tau[tau].mean ?? 0))));
    const chosen = (tau) => Math.abs(Number(tau) - card.tau) < 1e-9;
    const head = element("tr", {}, element("th", { scope: "col" }, "method"), ...taus.map((tau) =>
      element("th", { scope: "col", class: chosen(tau) ? "chosen" : null }, element("button", { type: "button", "aria-pressed": String(chosen(tau)), "data-tip": `Score at τ = ${tau}`, onclick: () => page.change({ tau: Number(tau) }) }, `τ ${tau}`))));
    const rows = methods.map((method) => {
      const record = card.methods[method];
      const cells = taus.map((tau) => {
        const delay = record.AD_tau[tau];
        const censored = Object.keys(delay.censored).length;
        const tip = delay.mean === null ? `${method} at τ ${tau}: no seed in which both cross${censored ? `\n${page.words.describeCensored(delay.censored, Number(tau))}` : ""}`
          : `${method} at τ ${tau}: ${epochs(delay.mean, true)}${delay.sd === null ? "" : ` ± ${epochs(delay.sd)}`} effective epochs, n = ${delay.n}${censored ? `\n${page.words.describeCensored(delay.censored, Number(tau))}` : ""}`;
        const cell = element("td", { class: chosen(tau) ? "chosen" : null, "data-tip": tip, tabindex: 0 }, delay.mean === null ? DASH : epochs(delay.mean, true), delay.n > 0 && delay.n < record.n_seeds ? element("sub", {}, ` n ${delay.n}`) : null);
        if (delay.mean === null) cell.classList.add("hatched");
        else {
          cell.style.setProperty("--share", `${Math.round((100 * STRONGEST * Math.abs(delay.mean)) / largest)}%`);
          cell.classList.add(delay.mean < 0 ? "earlier" : "later");
        }
        return cell;
      });
      return element("tr", {}, element("th", { scope: "row" }, method), ...cells);
    });
    clear(place).append(element("table", { class: "data grid" }, element("thead", {}, head), element("tbody", {}, ...rows)));
    note.textContent = `AD in effective epochs, mean over the seeds in which both ${card.baseline} and the method cross. Blue and minus: earlier; orange and plus: later; hatched: no such seed. A small n: not all seeds are included. Click a threshold to score at it.`;
  };
}
