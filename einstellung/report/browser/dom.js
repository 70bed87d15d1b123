// Elements of the page. Text goes in as text, never as markup, so a name can be anything.
const parts = [];
const SVG = "http://www.w3.org/2000/svg";

function element(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

function drawn(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

// Our symbols as the page writes them: SFR_rel with a subscript.
const SUBSCRIPTS = /(SFR|CSR|Δ|pull)_(rel|S)\b/;

function symbols(text) {
  const found = [];
  let rest = String(text);
  for (let match = SUBSCRIPTS.exec(rest); match; match = SUBSCRIPTS.exec(rest)) {
    found.push(rest.slice(0, match.index), match[1], element("sub", {}, match[2]));
    rest = rest.slice(match.index + match[0].length);
  }
  return [...found, rest];
}

// The same in a drawing.
function drawnSymbols(text) {
  return symbols(text).map((part) => (typeof part === "string" ? part : drawn("tspan", { "baseline-shift": "sub", "font-size": "75%" }, part.textContent)));
}

// A verdict is plain text that spells out signs; the page sets them.
function typeset(text) {
  const spelled = text.replaceAll("Delta", "Δ").replaceAll(" <= ", " ≤ ").replaceAll(" >= ", " ≥ ").replaceAll("+-", "±").replaceAll(" -> ", " → ");
  return symbols(spelled.replace(/(?<![\w.])-(?=\d)/g, "−"));
}

// The colour of a method on either ground; the style sheet chooses.
function inked(node, style) {
  node.classList.add("ink");
  node.style.setProperty("--light", style.light);
  node.style.setProperty("--dark", style.dark);
  return node;
}

const MARKS = {
  circle: "M0-1A1 1 0 1 1 0 1A1 1 0 1 1 0-1Z",
  square: "M-.9-.9H.9V.9H-.9Z",
  up: "M0-1.1L1.1.9H-1.1Z",
  down: "M0 1.1L1.1-.9H-1.1Z",
  diamond: "M0-1.25L1.1 0L0 1.25L-1.1 0Z",
  plus: "M-.4-1.1H.4V-.4H1.1V.4H.4V1.1H-.4V.4H-1.1V-.4H-.4Z",
  cross: "M-.55-1.1L0-.55L.55-1.1L1.1-.55L.55 0L1.1.55L.55 1.1L0 .55L-.55 1.1L-1.1.55L-.55 0L-1.1-.55Z",
  star: "M0-1.4L.4-.5L1.35-.43L.63.2L.85 1.15L0 .63L-.85 1.15L-.63.2L-1.35-.43L-.4-.5Z",
};

function mark(shape, x, y, size, open = false) {
  const look = open ? { fill: "var(--paper)", stroke: "currentColor", "stroke-width": 1.2 / size } : { fill: "currentColor" };
  return drawn("path", { d: MARKS[shape], transform: `translate(${x} ${y}) scale(${size})`, ...look });
}

// A piece of a method's line with its mark, as in a legend.
function keyOf(style) {
  const line = drawn("line", { x1: 1, x2: 29, y1: 7, y2: 7, stroke: "currentColor", "stroke-width": 2, "stroke-dasharray": style.dash.join(" ") });
  return inked(drawn("svg", { viewBox: "0 0 30 14", "aria-hidden": "true" }, line, mark(style.mark, 15, 7, 4)), style);
}

function clear(node) {
  node.replaceChildren();
  return node;
}
