// Sections open on demand; a link or an address opens what it leads to; the table of contents says where the reader is.
function openTo(id) {
  const target = id && document.getElementById(id);
  for (let node = target; node; node = node.parentElement) if (node.tagName === "DETAILS") node.open = true;
  return target;
}

// Do something costly once, when the section it stands in is first opened or printed.
const waiting = new Map();

function whenOpen(id, act) {
  const section = document.getElementById(id);
  if (!section) return;
  waiting.set(section, act);
  section.addEventListener("toggle", () => section.open && wake(section));
  if (section.open) wake(section);
}

function wake(section) {
  const act = waiting.get(section);
  waiting.delete(section);
  if (act) act();
}

function startSections() {
  const links = [...document.querySelectorAll("nav.contents a")];
  document.addEventListener("click", (event) => {
    const link = event.target instanceof Element && event.target.closest('a[href^="#"]');
    if (link) openTo(decodeURIComponent(link.hash.slice(1)));
  });
  const follow = () => openTo(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView();
  window.addEventListener("hashchange", follow);
  if (location.hash) follow();

  const places = links.map((link) => document.getElementById(link.hash.slice(1)));
  const mark = () => {
    let here = 0;
    places.forEach((place, at) => place && place.getBoundingClientRect().top < 120 && (here = at));
    links.forEach((link, at) => {
      link.classList.toggle("here", at === here);
      if (at === here) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    });
  };
  window.addEventListener("scroll", mark, { passive: true });
  mark();

  let opened = [];
  window.addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    opened.forEach((details) => (details.open = true));
    [...waiting.keys()].forEach(wake);
  });
  window.addEventListener("afterprint", () => opened.forEach((details) => (details.open = false)));
}
