// What a term means and what a point is, on hover and on focus; Escape hides it.
function startTips(terms) {
  const tip = document.getElementById("tip");
  if (!tip) return;
  const wordsOf = (node) => node.dataset.tip ?? terms[node.dataset.term];
  let owner = null;

  const hide = () => {
    if (owner) owner.removeAttribute("aria-describedby");
    owner = null;
    tip.hidden = true;
  };
  const show = (node) => {
    const words = wordsOf(node);
    if (!words) return hide();
    if (owner && owner !== node) owner.removeAttribute("aria-describedby");
    owner = node;
    tip.textContent = words;
    tip.hidden = false;
    node.setAttribute("aria-describedby", "tip");
    const box = node.getBoundingClientRect();
    const own = tip.getBoundingClientRect();
    const left = Math.min(Math.max(8, box.left), document.documentElement.clientWidth - own.width - 8);
    const below = box.bottom + 6;
    tip.style.left = `${left}px`;
    tip.style.top = `${below + own.height > window.innerHeight ? Math.max(4, box.top - own.height - 6) : below}px`;
  };
  const target = (event) => event.target instanceof Element && event.target.closest("[data-tip], [data-term]");
  document.addEventListener("mouseover", (event) => {
    const node = target(event);
    if (node) show(node);
    else hide();
  });
  document.addEventListener("focusin", (event) => {
    const node = target(event);
    if (node) show(node);
    else hide();
  });
  document.addEventListener("focusout", hide);
  document.addEventListener("keydown", (event) => event.key === "Escape" && hide());
  window.addEventListener("scroll", () => owner && (owner === document.activeElement ? show(owner) : hide()), { passive: true });
}
