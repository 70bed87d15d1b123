// Card texts on the page: the same words and digits as in the tables and cards written by Python.
const createWords = ({ facets, patterns, certainties, splits, needs, relative, shown }) => {
  const RELATIONS = { "<=": "≤", ">=": "≥", "<": "<", ">": ">" };
  const FEWEST_SEEDS = 3;

  const write = (key, value) => (facets[key].in_epochs ? epochs(value, facets[key].signed) : number(value, 3, facets[key].signed));
  const meanSd = (key, { mean, sd }) => {
    if (mean === null || sd === null) return write(key, mean);
    return `${write(key, mean)} ± ${facets[key].in_epochs ? epochs(sd) : number(sd)}`;
  };
  const intervalOf = (key, { mean, ci95, n }) => {
    if (mean === null) return DASH;
    return ci95 ? `[${write(key, ci95[0])}, ${write(key, ci95[1])}]` : `n = ${n}: no interval`;
  };
  const listed = (names) => (names.length > 1 ? `${names.slice(0, -1).join(", ")} and ${names.at(-1)}` : names.join(""));
  const NONE = { mean: null, sd: null, n: 0, ci95: null };
  const facet = (record, key) => record[key] ?? NONE;
  const deciding = (record, key) => record[`${key}_paired`] ?? facet(record, key);
  const shownCertainty = (record) => (record.pattern === "ambiguous" && record.n_seeds >= FEWEST_SEEDS ? null : record.certainty);

  function describeCensored(censored, tau) {
    const seedsOf = new Map();
    for (const [seed, who] of Object.entries(censored)) seedsOf.set(who, [...(seedsOf.get(who) ?? []), seed]);
    const parts = [...seedsOf].map(([who, seeds]) => `${who === "both" ? "reached by neither" : `not reached by ${who}`} in seed${seeds.length > 1 ? "s" : ""} ${listed(seeds)}`);
    return `τ = ${number(tau, 2)} ${parts.join("; ")}`;
  }

  function whyUndefined(card, method, key) {
    const { baseline } = card, record = card.methods[method];
    if (key in record.why_undefined) return record.why_undefined[key];
    if (relative.includes(key)) {
      if (method === baseline) return "this is the baseline";
      if (!(baseline in card.methods)) return "no baseline in the timeline";
      if (key === "AD" && Object.keys(record.AD.censored).length) return describeCensored(record.AD.censored, card.tau);
      if (!Object.values(record.per_seed).some((seed) => seed.paired)) return `no seed in common with ${baseline}`;
    }
    if (key in needs) {
      const named = key === "delta_S" ? [baseline] : key === "delta" ? [method] : [method, baseline];
      for (const name of named) {
        const lacking = needs[key].filter((part) => facet(card.methods[name], part).mean === null).map((part) => splits[part]);
        if (lacking.length) return `${listed(lacking)} not measured${name === method ? "" : ` for ${name}`}`;
      }
      return "its components were not measured in the same seeds";
    }
    if (key === "T1_after_T1") return method === baseline ? "no phase T1 was trained" : "no T1_all rows in phase T1";
    return `${splits[key]} not measured`;
  }

  // A facet as a card of a method shows it.
  function facetRow(card, method, key) {
    const estimate = deciding(card.methods[method], key);
    const range = intervalOf(key, estimate);
    return {
      key,
      head: facets[key].head,
      value: meanSd(key, estimate),
      range: estimate.mean === null ? whyUndefined(card, method, key) : range.includes("no interval") ? "no interval" : `95 % ${range}`,
      n: estimate.n,
      undefined: estimate.mean === null,
    };
  }

  function conditionRow({ facet: key, relation, bound, value, met, sure }) {
    const bounded = relation === "|.| <" ? `within ±${number(bound)}` : `${RELATIONS[relation]} ${write(key, bound)}`;
    const sureness = sure === true ? "interval agrees" : sure === false ? "interval crosses the threshold" : "no interval";
    return { text: `${facets[key].head} ${write(key, value)} ${bounded}`, state: met === true ? "met" : met === false ? "not met" : "undefined", sure: met ? sureness : "" };
  }

  function certaintyWords(record) {
    const needed = [...new Set(record.conditions.map((condition) => condition.facet))].filter((key) => ["AD", "PD", "SFR_rel", "delta"].includes(key));
    const few = needed.map((key) => [facets[key].head, deciding(record, key).n]).filter(([, n]) => n > 0 && n < FEWEST_SEEDS);
    if (record.certainty === "too few seeds" && few.length) return `${few.map(([head, n]) => `${head} has n = ${n}`).join(", ")}; at least ${FEWEST_SEEDS} needed`;
    return record.certainty === null ? "" : certainties[record.certainty];
  }

  // The rows of the forest plot and of the table of methods.
  function forestRows(card, order, keys) {
    return order.filter((method) => method in card.methods).map((method) => {
      const record = card.methods[method], isBaseline = method === card.baseline;
      const values = keys.filter((key) => !isBaseline || key === "delta").map((key) => {
        const estimate = deciding(record, key);
        const undefinedMean = estimate.mean === null;
        return [key, {
          mean: estimate.mean,
          low: estimate.ci95 ? estimate.ci95[0] : null,
          high: estimate.ci95 ? estimate.ci95[1] : null,
          text: meanSd(key, estimate),
          interval: undefinedMean ? "" : intervalOf(key, estimate),
          why: undefinedMean ? whyUndefined(card, method, key) : null,
          reference: key === "delta" && !isBaseline ? deciding(record, "delta_S").mean : null,
          note: estimate.n > 0 && estimate.n < record.n_seeds ? `n ${estimate.n} of ${record.n_seeds}` : "",
        }];
      });
      return {
        method,
        verdict: record.pattern ?? (isBaseline ? "baseline" : DASH),
        tone: record.pattern !== null && record.certainty === "holds" ? record.pattern : "",
        certainty: shownCertainty(record) ?? "",
        values: Object.fromEntries(values),
        seeds: record.n_seeds,
        is_baseline: isBaseline,
      };
    });
  }

  return { write, facetRow, conditionRow, certaintyWords, forestRows, shownCertainty, describeCensored, patterns, shown };
};
