// A page reads its data once, then every part of it starts; parts of a diagnosis have put themselves into `parts`.
const data = JSON.parse(document.getElementById("data").textContent);
const terms = data.terms ?? {};
const methods = startForest(data.forest, terms);
startTables(terms);
startTips(terms);
startSections();
parts.forEach((part) => part(data, methods));
