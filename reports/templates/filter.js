// Shows the claims that are asked for, as one types, and keeps what is asked for in the address.
const form = document.querySelector("form.filter"), body = document.querySelector("#verdicts ~ .scroll table.list tbody");
const all = [...body.rows], claims = all.filter(row => row.id), groups = all.filter(row => !row.id);
const text = new Map(claims.map(row => [row, row.textContent.toLowerCase()]));
const keys = { verdict: row => row.dataset.verdict + row.id, id: row => row.id };

function show() {
  const asked = Object.fromEntries(new FormData(form)), words = asked.words.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = row => ["paper", "verdict", "kind"].every(name => !asked[name] || row.dataset[name] === asked[name])
    && words.every(word => text.get(row).includes(word));
  const shown = claims.filter(fits), there = new Set(shown), key = keys[asked.order];
  body.replaceChildren(...(key ? shown.sort((a, b) => (key(a) < key(b) ? -1 : 1)) : grouped(there)));
  form.querySelector("output").textContent = `${shown.length} of ${claims.length} claims`;
  const kept = new URLSearchParams(Object.entries(asked).filter(([, value]) => value)).toString();
  if (kept || location.hash.startsWith("#?")) history.replaceState(null, "", kept ? "#?" + kept : location.pathname);
}

function grouped(there) {  // a paper's heading stays where one of its claims does
  const rows = all.filter(row => groups.includes(row) || there.has(row));
  return rows.filter((row, k) => row.id || (rows[k + 1] && rows[k + 1].id));
}

function read() {  // what the address asks for
  if (!location.hash.startsWith("#?")) return;
  for (const [name, value] of new URLSearchParams(location.hash.slice(2))) if (form.elements[name]) form.elements[name].value = value;
}

form.hidden = false;
form.addEventListener("input", show);
form.addEventListener("submit", event => event.preventDefault());
addEventListener("hashchange", () => { read(); show(); });
read();
show();
