// Shows the claims that are asked for, as one types, and keeps what is asked for in the address.
const form = document.querySelector("form.filter"), folded = document.querySelector("details.verdicts"), body = folded.querySelector("tbody");
const all = [...body.rows], claims = all.filter(row => row.id);
const text = new Map(claims.map(row => [row, row.textContent.toLowerCase()]));
const keys = { verdict: row => row.dataset.verdict + row.id, id: row => row.id };

const ROWS = 40;  // that appear at a time: what is in sight is painted before the rest is laid out

let sorted = "", asks = 0;

function appear(rows, ask) {
  if (ask !== asks) return;  // something else has been asked for since
  for (const row of rows.splice(0, ROWS)) row.hidden = false;
  if (rows.length) requestAnimationFrame(() => setTimeout(() => appear(rows, ask)));
}

function show() {
  const asked = Object.fromEntries(new FormData(form)), words = asked.words.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = row => ["paper", "verdict", "kind"].every(name => !asked[name] || row.dataset[name] === asked[name])
    && words.every(word => text.get(row).includes(word));
  if (Object.values(asked).some(Boolean)) folded.open = true;
  const key = keys[asked.order];
  if (asked.order !== sorted) body.replaceChildren(...(key ? [...claims].sort((a, b) => (key(a) < key(b) ? -1 : 1)) : all));
  sorted = asked.order;
  const fitting = new Set(claims.filter(fits)), showing = [];
  for (let k = body.rows.length - 1, filled = false; k >= 0; k--) {  // a paper's heading stays where one of its claims does
    const row = body.rows[k], shown = row.id ? fitting.has(row) : filled;
    if (shown && row.hidden) showing.unshift(row);
    else if (!shown && !row.hidden) row.hidden = true;  // rows that stay are not laid out anew
    filled = row.id ? filled || shown : false;
  }
  appear(showing, ++asks);
  form.querySelector("output").textContent = `${fitting.size} of ${claims.length} claims`;
  const kept = new URLSearchParams(Object.entries(asked).filter(([, value]) => value)).toString();
  if (kept || location.hash.startsWith("#?")) history.replaceState(null, "", kept ? "#?" + kept : location.pathname);
}

function read() {  // what the address asks for: some claims, or a place, which may be folded away
  const place = document.getElementById(location.hash.slice(1));
  for (let fold = place?.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  place?.scrollIntoView();
  if (!location.hash.startsWith("#?")) return;
  for (const [name, value] of new URLSearchParams(location.hash.slice(2))) if (form.elements[name]) form.elements[name].value = value;
}

form.hidden = false;
form.addEventListener("input", show);
form.addEventListener("submit", event => event.preventDefault());
addEventListener("hashchange", () => { read(); show(); });
read();
show();
