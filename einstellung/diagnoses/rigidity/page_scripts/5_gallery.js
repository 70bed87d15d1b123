// Individual test images and a run's predictions, with the cue and with it covered.
function startGallery(gallery) {
  const tools = document.getElementById("gallery-tools"), place = document.getElementById("gallery-images");
  const KINDS = { lost: "right with the cue, wrong without", kept: "right with both", found: "wrong with the cue, right without", neither: "wrong with both" };
  const nameOf = (label) => (label === null ? "not stored" : gallery.classes[label] ?? `class ${label}`);
  const kindOf = (image, patched, masked) => {
    if (patched === null || masked === null) return null;
    const [withCue, without] = [patched === image.label, masked === image.label];
    return withCue ? (without ? "kept" : "lost") : without ? "found" : "neither";
  };
  const select = (id, options) => element("select", { id, oninput: () => draw() }, ...options.map(([value, text]) => element("option", { value }, text)));
  const labels = [...new Set(gallery.images.map((image) => image.label))];
  const run = select("gallery-run", gallery.runs.map((one, at) => [at, `${one.method}, seed ${one.seed}`]));
  const kind = select("gallery-kind", [...Object.entries(KINDS), ["", "all"]]);
  const label = select("gallery-class", [["", "all"], ...labels.map((one) => [one, nameOf(one)])]);
  const count = element("span", { class: "soft", role: "status" });

  function draw() {
    const chosen = gallery.runs[Number(run.value)];
    const judged = gallery.images.map((image, at) => ({ image, patched: chosen.patched[at], masked: chosen.masked[at] }))
      .map((one) => ({ ...one, kind: kindOf(one.image, one.patched, one.masked) }));
    const shown = judged.filter((one) => (!kind.value || one.kind === kind.value) && (label.value === "" || one.image.label === Number(label.value)));
    count.textContent = `${shown.length} of ${judged.length} stored images`;
    clear(place).append(...shown.map(({ image, patched, masked }) => {
      const said = { patched, masked };
      const pictures = gallery.variants.map(([variant, words], at) => {
        const own = said[variant];
        const verdict = own === undefined ? "" : own === null ? "not stored" : `${own === image.label ? "✓" : "✗"} ${nameOf(own)}`;
        return element("div", {}, element("img", { src: image.src[at], alt: `image ${image.index}, ${nameOf(image.label)}, ${words}`, loading: "lazy" }), element("span", { class: "soft" }, words), element("span", { class: own === image.label ? "right" : own === undefined ? "" : "wrong" }, verdict));
      });
      return element("figure", { class: "single" }, element("div", { class: "variants" }, ...pictures), element("figcaption", {}, `${nameOf(image.label)} · image ${image.index}`));
    }));
    if (!shown.length) place.append(element("p", { class: "soft" }, "No stored image matches."));
  }
  clear(tools).append(element("label", {}, "Run ", run), element("label", {}, "Show ", kind), element("label", {}, "Class ", label), count);
  draw();
}
