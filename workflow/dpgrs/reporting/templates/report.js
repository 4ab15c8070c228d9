// Sorting and searching of tables that the page already holds, and many bars of figures, from their heights.
// Without this script tables read as they are, and figures lack these bars.
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

  function unpacked(text, Numbers) {
    return new Numbers(Uint8Array.from(atob(text), (one) => one.charCodeAt(0)).buffer);
  }

  // Heights are shares of the tallest, which is `reach` points high, from -32767 to 32767.
  function drawBars(path) {
    const heights = unpacked(path.dataset.bars, Int16Array);
    const places = path.dataset.places === "variants" ? unpacked(window.variantPlaces, Uint16Array) : null;
    const [start, end, low, reach] = path.dataset.box.split(" ").map(Number);
    const bars = [];
    heights.forEach((height, place) => {
      if (!height) return;
      const share = places ? places[place] / 65535 : (place + 0.5) / heights.length;
      const x = start + share * (end - start);
      bars.push("M" + x.toFixed(2) + " " + low + "v" + (-reach * height / 32767).toFixed(2));
    });
    path.setAttribute("d", bars.join(""));
  }

  document.querySelectorAll("path[data-bars]").forEach(drawBars);
  document.querySelectorAll("table[data-sortable]").forEach(makeSortable);
  document.querySelectorAll("input[data-searches]").forEach(makeSearchable);
})();
