// Sorting and searching of tables that the page already holds. Without this script they read as they are.
(function () {
  "use strict";

  function value(row, column) {
    const cell = row.cells[column];
    const number = cell.dataset.value;
    if (number === undefined) return cell.textContent.trim();
    return number === "" ? null : Number(number);
  }

  const collator = new Intl.Collator("en", { numeric: true });

  function compare(a, b) {
    return typeof a === "number" && typeof b === "number" ? a - b : collator.compare(a, b);
  }

  // Rows without a value stay last, whatever the direction; equal rows keep their order.
  function sort(table, column, direction) {
    const sign = direction === "descending" ? -1 : 1;
    const body = table.tBodies[0];
    const keyed = Array.from(body.rows, (row) => ({ row, key: value(row, column) }));
    keyed.sort((a, b) =>
      a.key === null || b.key === null ? (a.key === null) - (b.key === null) : sign * compare(a.key, b.key)
    );
    body.append(...keyed.map((item) => item.row));
  }

  function makeSortable(table) {
    const headings = Array.from(table.tHead.rows[0].cells);
    headings.forEach((heading, column) => {
      const button = heading.querySelector("button");
      if (!button) return;  // a column that does not sort
      button.addEventListener("click", () => {
        const now = heading.getAttribute("aria-sort");
        const opposite = now === "ascending" ? "descending" : "ascending";
        const direction = now === "none" ? button.dataset.first || "ascending" : opposite;
        headings.forEach((other) => other.setAttribute("aria-sort", "none"));
        heading.setAttribute("aria-sort", direction);
        sort(table, column, direction);
      });
    });
  }

  function makeSearchable(input) {
    const body = document.getElementById(input.dataset.searches).tBodies[0];
    const status = document.getElementById(input.id + "-status");
    const all = status.textContent;
    const texts = new Map(Array.from(body.rows, (row) => [row, row.cells[1].textContent.toLowerCase()]));
    input.addEventListener("input", () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      texts.forEach((text, row) => {
        row.hidden = !words.every((word) => text.includes(word));
        shown += !row.hidden;
      });
      status.textContent = words.length ? shown.toLocaleString("en") + " of " + all : all;
    });
  }

  document.querySelectorAll("table[data-sortable]").forEach(makeSortable);
  document.querySelectorAll("input[data-searches]").forEach(makeSearchable);
})();
