// On the page of searches: the claims that answer the question, before the pages that have its words.
document.addEventListener("DOMContentLoaded", () => {
  const question = new URLSearchParams(location.search).get("q") ?? "", found = answers(INDEX, question).slice(0, 5);
  if (!found.length) return;
  const section = document.createElement("section"), list = document.createElement("ul"), more = document.createElement("p");
  section.id = "claims";
  section.innerHTML = "<h2>Claims</h2>";
  for (const [id] of found) {
    const item = document.createElement("li"), link = document.createElement("a");
    link.href = `report/claims/${id}.html`;
    link.textContent = id;
    item.append(link, ` ${SAID[id]}`);
    list.append(item);
  }
  more.innerHTML = `<a href="report/report.html?words=${encodeURIComponent(question)}">All claims that have to do with it</a>`;
  section.append(list, more);
  document.getElementById("search-results").before(section);
});
