// Shows the claims that are asked for, as one types, and keeps what is asked for in the address.
const form = document.querySelector("form.filter"), folded = document.querySelector("details.verdicts"), body = folded.querySelector("tbody");
const all = [...body.rows], claims = all.filter(row => row.id), rowOf = new Map(claims.map(row => [row.dataset.id, row]));
const keys = { verdict: row => row.dataset.verdict + row.id, id: row => row.id };

const ROWS = 40;  // that appear at a time: what is in sight is painted before the rest is laid out
const LEAST = 0.25;  // of the best answer's score: entries with less have little to do with a question

let laid = all, asks = 0;

function appear(rows, ask) {
  if (ask !== asks) return;  // something else has been asked for since
  for (const row of rows.splice(0, ROWS)) row.hidden = false;
  if (rows.length) requestAnimationFrame(() => setTimeout(() => appear(rows, ask)));
}

function answering(question) {  // rows, the best first
  const found = answers(INDEX, question).filter(([id]) => rowOf.has(id));
  return found.filter(([, score]) => score >= LEAST * found[0][1]).map(([id]) => rowOf.get(id));
}

function show() {
  const asked = Object.fromEntries(new FormData(form)), found = asked.words.trim() ? answering(asked.words) : null;
  const fits = row => ["paper", "verdict", "kind"].every(name => !asked[name] || row.dataset[name] === asked[name]);
  if (Object.values(asked).some(Boolean)) folded.open = true;
  const key = keys[asked.order];
  const order = key ? [...claims].sort((a, b) => (key(a) < key(b) ? -1 : 1)) : found ? [...new Set([...found, ...claims])] : all;
  if (order !== laid) body.replaceChildren(...order);
  laid = order;
  const fitting = new Set((found ?? claims).filter(fits)), showing = [];
  for (let k = body.rows.length - 1, filled = false; k >= 0; k--) {  // a paper's heading stays where one of its claims does
    const row = body.rows[k], shown = row.id ? fitting.has(row) : filled;
    if (shown && row.hidden) showing.unshift(row);
    else if (!shown && !row.hidden) row.hidden = true;  // rows that stay are not laid out anew
    filled = row.id ? filled || shown : false;
  }
  appear(showing, ++asks);
  form.querySelector("output").textContent = `${fitting.size} of ${claims.length} claims${found && !key ? ", the best answer first" : ""}`;
  const kept = new URLSearchParams(Object.entries(asked).filter(([, value]) => value)).toString();
  if (kept || location.hash.startsWith("#?")) history.replaceState(null, "", location.pathname + (kept && "#?" + kept));
}

function read() {  // what the address asks for: some claims, or a place, which may be folded away or not be asked for
  const place = document.getElementById(location.hash.slice(1));
  for (let fold = place?.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  if (place?.hidden) {
    form.reset();
    for (const row of all) row.hidden = false;  // at once: what appears above it later would push it away
  }
  const given = location.hash.startsWith("#?") ? location.hash.slice(2) : location.hash ? "" : location.search.slice(1);
  for (const [name, value] of new URLSearchParams(given)) if (form.elements[name]) form.elements[name].value = value;
  show();
  (place ?? (given && form))?.scrollIntoView?.();
}

form.hidden = false;
form.addEventListener("input", show);
form.addEventListener("submit", event => event.preventDefault());
addEventListener("hashchange", read);
read();
