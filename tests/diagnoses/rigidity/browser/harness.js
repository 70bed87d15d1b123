"use strict";
// node harness.js REQUESTS ANSWERS SCRIPT...: loads the scripts as a page would, answers one request per line.
const fs = require("fs");
const readline = require("readline");
const vm = require("vm");

const [requests, answers, ...scripts] = process.argv.slice(2);
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
    const scorer = createScorer(request.payload);
    const { defaults, asInStudy } = scorer;
    return { defaults, asInStudy, scores: request.settings.map((settings) => attempt(scorer, settings)) };
  }
  const [part, name] = request.call;
  return request.arguments.map((values) => globalThis.einstellungRigidity[part][name](...values));
}

(async () => {
  const out = fs.openSync(answers, "w");
  for await (const line of readline.createInterface({ input: fs.createReadStream(requests) })) {
    fs.writeSync(out, `${JSON.stringify(respond(JSON.parse(line)))}\n`);
  }
})();
