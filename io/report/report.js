"use strict";

// Sorts a table by a column: first click, opposite order, original order.
function keyOf(cell, isNumber) {
  const text = cell.textContent.trim();
  if (!isNumber) return text;
  if (text === "equal") return Infinity;
  const value = parseFloat(text.replace(/[,<\s]/g, ""));
  return isNaN(value) ? -Infinity : value;
}

for (const table of document.querySelectorAll("table")) {
  const body = table.tBodies[0];
  const original = [...body.rows];
  for (const button of table.querySelectorAll("th button")) {
    const heading = button.parentNode;
    const isNumber = heading.classList.contains("n");
    const orders = isNumber ? ["descending", "ascending"]
                            : ["ascending", "descending"];
    button.addEventListener("click", () => {
      const order = orders[orders.indexOf(heading.ariaSort) + 1];
      for (const other of heading.parentNode.cells) other.ariaSort = null;
      if (!order) return body.append(...original);
      heading.ariaSort = order;
      const key = row => keyOf(row.cells[heading.cellIndex], isNumber);
      const sign = order === "ascending" ? 1 : -1;
      body.append(...[...original].sort((a, b) => {
        const x = key(a), y = key(b);
        if (x === y) return 0;
        return sign * (isNumber ? (x < y ? -1 : 1)
                                : x.localeCompare(y, "en", {numeric: true}));
      }));
    });
  }
}

// Zooms the graph.
for (const button of document.querySelectorAll("[data-zoom]")) {
  button.addEventListener("click", () => {
    const frame = document.querySelector(".graph");
    const svg = frame.querySelector("svg");
    const natural = svg.viewBox.baseVal.width;
    const before = svg.clientWidth;
    const widths = {
      in: before * 1.25, out: before / 1.25,
      fit: frame.clientWidth, actual: natural,
    };
    const width = Math.min(8 * natural, Math.max(64, widths[button.dataset.zoom]));
    svg.style.width = width + "px";
    frame.scrollTop *= width / before;
  });
}

// Prints the contents of closed details.
addEventListener("beforeprint", () => {
  for (const each of document.querySelectorAll("details:not([open])")) {
    each.open = true;
    addEventListener("afterprint", () => { each.open = false; }, {once: true});
  }
});
