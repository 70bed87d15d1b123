// Tables that sort by a click on a head. Numbers before text, what is undefined last in either direction.
function valueOf(cell) {
  const own = cell.querySelector(".value") ?? cell;
  const text = own.textContent.trim().replaceAll("−", "-").replaceAll(",", "");
  const found = /^[+-]?(\d+\.?\d*|\.\d+)/.exec(text);
  if (found) return Number(found[0]);
  return text.startsWith(DASH) || text === "" ? null : text.toLowerCase();
}

function compare(one, other) {
  if (typeof one === "number" && typeof other === "number") return one - other;
  if (typeof one !== typeof other) return typeof one === "number" ? -1 : 1;
  return one < other ? -1 : one > other ? 1 : 0;
}

function sortable(table, afterwards = () => {}) {
  const heads = [...table.tHead.rows[0].cells];
  const sort = (column) => {
    const head = heads[column];
    const descending = head.getAttribute("aria-sort") === "ascending";
    heads.forEach((other) => other.hasAttribute("aria-sort") && other.setAttribute("aria-sort", "none"));
    head.setAttribute("aria-sort", descending ? "descending" : "ascending");
    const rows = [...table.tBodies[0].rows].map((row) => [valueOf(row.cells[column]), row]);
    const known = rows.filter(([value]) => value !== null);
    known.sort(([one], [other]) => (descending ? -1 : 1) * compare(one, other));
    table.tBodies[0].append(...[...known, ...rows.filter(([value]) => value === null)].map(([, row]) => row));
    afterwards();
  };
  heads.forEach((head, column) => {
    const button = element("button", { type: "button", onclick: () => sort(column) });
    button.append(...head.childNodes);
    head.append(button);
    head.setAttribute("aria-sort", "none");
  });
}

function startTables(terms) {
  for (const table of document.querySelectorAll("table.data")) {
    if (table.tBodies[0].rows.length < 2) continue;
    for (const head of table.tHead.rows[0].cells) if (terms[head.textContent]) head.dataset.term = head.textContent;
    sortable(table);
  }
}
