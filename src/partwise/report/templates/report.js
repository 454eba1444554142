// Works on what is on the page; nothing is loaded or sent. Text is set as text, never as markup.
"use strict";
const save = (name, text) => {
  const link = document.createElement("a");
  link.href = "data:text/plain;charset=utf-8," + encodeURIComponent(text);
  link.download = name;
  link.click();
};
const button = (text, act) => {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = text;
  made.addEventListener("click", act);
  return made;
};
const quoted = text => /[",\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
const number = text => { const found = parseFloat(text.replaceAll(",", "")); return Number.isNaN(found) ? null : found; };

for (const table of document.querySelectorAll("table.listing")) {
  const body = table.tBodies[0];
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const text = head.textContent;
    let turned = 1;
    const sort = button(text, () => {
      const rows = [...body.rows].map(row => [row.cells[column].textContent, row]);
      const values = rows.every(([cell]) => number(cell) !== null);
      rows.sort(([a], [b]) => turned * (values ? number(a) - number(b) : a.localeCompare(b)));
      turned = -turned;
      body.append(...rows.map(([, row]) => row));
    });
    sort.title = "Sort by " + text;
    head.replaceChildren(sort);
  });
  const lines = () => [...table.rows].map(row => [...row.cells].map(cell => quoted(cell.textContent)).join(","));
  const title = table.closest("section").querySelector("h2").textContent.trim().toLowerCase().replaceAll(" ", "-");
  table.parentElement.after(button("Save as CSV", () => save(title + ".csv", lines().join("\n") + "\n")));
}

const cards = document.querySelector(".cards");
if (cards) {
  const all = [...cards.querySelectorAll(".card")];
  const name = card => card.querySelector("h3").textContent.trim();
  const bar = document.createElement("p");
  bar.className = "tools";
  const search = document.createElement("input");
  search.type = "search";
  search.placeholder = "Search";
  search.setAttribute("aria-label", "Search in the cards");
  search.addEventListener("input", () => {
    const wanted = search.value.toLowerCase();
    all.forEach(card => { card.hidden = !card.textContent.toLowerCase().includes(wanted); });
  });
  const share = card => parseFloat(card.dataset.share);
  const orders = { "order of the model": () => [...all], "largest first": () => [...all].sort((a, b) => share(b) - share(a)),
    "by name": () => [...all].sort((a, b) => name(a).localeCompare(name(b), undefined, { numeric: true })) };
  const select = document.createElement("select");
  select.setAttribute("aria-label", "Order of the cards");
  Object.keys(orders).forEach(text => select.add(new Option(text)));
  select.addEventListener("change", () => cards.append(...orders[select.value]()));
  const fold = button("Fold", () => {
    const folded = cards.classList.toggle("closed");
    fold.textContent = folded ? "Unfold" : "Fold";
    fold.setAttribute("aria-expanded", String(!folded));
  });
  if (all.length > 8 && matchMedia("(max-width: 640px)").matches) fold.click();
  const names = button("Save names", () => save("names.txt", all.map(name).join("\n") + "\n"));
  names.title = "A file for --names";
  bar.append(search, select, fold, names);
  cards.before(bar);
  all.forEach(card => {
    const head = card.querySelector("h3");
    head.contentEditable = "plaintext-only";
    head.spellcheck = false;
    head.title = "Click to rename";
    head.addEventListener("keydown", event => { if (event.key === "Enter") { event.preventDefault(); head.blur(); } });
    head.addEventListener("blur", () => {
      if (!head.textContent.trim()) head.textContent = card.dataset.name;
      const now = head.textContent.trim();
      document.querySelectorAll(`a[href="#${card.id}"]`).forEach(link => {
        if (link.textContent.trim() === card.dataset.name) link.textContent = now;
      });
      card.dataset.name = now;
    });
  });
}
