"use strict";
// node harness.js REQUESTS ANSWERS PAGE_SCRIPT SCRIPT...: answers one request per line. Studies are scored by the script as it
// stands in a page; single functions are called in the scripts as they are written.
const fs = require("fs");
const readline = require("readline");
const vm = require("vm");

const [requests, answers, pageScript, ...scripts] = process.argv.slice(2);
const page = vm.createContext({});
const before = Object.keys(page);
vm.runInContext(fs.readFileSync(pageScript, "utf8"), page);
const added = Object.keys(page).filter((name) => !before.includes(name));
if (added.join() !== "createScorer") throw new Error(`the script defines ${added}`);
for (const script of scripts) vm.runInThisContext(fs.readFileSync(script, "utf8"), { filename: script });

function attempt(scorer, settings) {
  try {
    const card = scorer.score(settings);
    return { card, answer: scorer.answer(card) };
  } catch (error) {
    return { error: error.message };
  }
}

function respond(request) {
  if (request.payload) {
    const scorer = page.createScorer(request.payload);
    const { defaults, asInStudy } = scorer;
    return {
      defaults,
      asInStudy,
      scores: request.settings.map((settings) => attempt(scorer, settings)),
      ofDefaults: attempt(scorer, defaults),
    };
  }
  return request.arguments.map((values) => globalThis[request.call](...values));
}

(async () => {
  const out = fs.openSync(answers, "w");
  for await (const line of readline.createInterface({ input: fs.createReadStream(requests) })) {
    fs.writeSync(out, `${JSON.stringify(respond(JSON.parse(line)))}\n`);
  }
})();
