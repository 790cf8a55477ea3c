"use strict";
// Sorting, hovering, choosing. The page is whole without it: the selected equation is in place.
(() => {
  const status = document.getElementById("status");

  // --- choosing an equation ---------------------------------------------------------------------
  const first = new Map(); // what the page began with, kept while another equation is shown

  function show(key) {
    const output = key.split("-")[0];
    const template = document.querySelector(`template[data-equation="${key}"]`);
    const parts = template ? template.content.cloneNode(true) : null; // the selected one has none
    for (const slot of document.querySelectorAll(`[data-output="${output}"] [data-slot]`)) {
      const name = slot.dataset.slot;
      const place = `${output}-${name}`;
      if (!first.has(place)) first.set(place, [...slot.childNodes]);
      slot.replaceChildren(...(parts ? parts.querySelector(`[data-part="${name}"]`).childNodes : first.get(place)));
    }
    for (const row of document.querySelectorAll(`tr[data-show^="${output}-"]`)) {
      if (row.dataset.show === key) row.setAttribute("aria-current", "true");
      else row.removeAttribute("aria-current");
    }
    for (const point of document.querySelectorAll(`.point[data-show^="${output}-"]`)) {
      const chosen = point.dataset.show === key;
      point.setAttribute("aria-pressed", String(chosen));
      point.setAttribute("tabindex", chosen ? "0" : "-1");
    }
    status.textContent = `Showing equation ${key.split("-")[1]}.`;
  }

  document.addEventListener("click", (event) => {
    const target = event.target.closest("[data-show]");
    if (target) show(target.dataset.show);
  });

  // --- the Pareto plot: one stop for the tab key, arrows within ---------------------------------
  for (const chart of document.querySelectorAll(".chart")) {
    const tip = chart.querySelector(".tip");
    const points = [...chart.querySelectorAll(".point")];
    points.forEach((point, k) => {
      point.setAttribute("tabindex", point.getAttribute("aria-pressed") === "true" ? "0" : "-1");
      point.addEventListener("mouseenter", () => explain(chart, tip, point));
      point.addEventListener("focus", () => explain(chart, tip, point));
      point.addEventListener("mouseleave", () => { tip.hidden = true; });
      point.addEventListener("blur", () => { tip.hidden = true; });
      point.addEventListener("keydown", (event) => {
        const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
        if (event.key === "Enter" || event.key === " ") show(point.dataset.show);
        else if (event.key === "Escape") tip.hidden = true;
        else if (step) points[(k + step + points.length) % points.length].focus();
        else return;
        event.preventDefault();
      });
    });
  }

  function explain(chart, tip, point) {
    const row = document.querySelector(`tr[data-show="${point.dataset.show}"]`);
    const words = document.createElement("p");
    words.textContent = point.getAttribute("aria-label").split(": ").slice(0, 2).join(": ");
    const equation = [...row.querySelector(".math").childNodes].map((n) => n.cloneNode(true));
    tip.replaceChildren(...equation, words);
    tip.hidden = false;
    const box = chart.getBoundingClientRect();
    const mark = point.getBoundingClientRect();
    const left = mark.left + mark.width / 2 - box.left - tip.offsetWidth / 2;
    tip.style.left = `${Math.max(0, Math.min(left, box.width - tip.offsetWidth))}px`;
    const above = mark.top - box.top - tip.offsetHeight - 4;
    tip.style.top = `${above >= -40 ? above : mark.bottom - box.top + 4}px`;
  }

  // --- tables that sort --------------------------------------------------------------------------
  for (const table of document.querySelectorAll("table.sortable")) {
    const headings = [...table.tHead.rows[0].cells];
    headings.forEach((heading, column) => {
      const button = heading.querySelector("button");
      if (button) button.addEventListener("click", () => sort(table, headings, column));
    });
  }

  function sort(table, headings, column) {
    const up = headings[column].getAttribute("aria-sort") !== "ascending";
    headings.forEach((h) => h.removeAttribute("aria-sort"));
    headings[column].setAttribute("aria-sort", up ? "ascending" : "descending");
    const value = (row) => {
      const text = row.cells[column].dataset.value;
      const number = Number(text);
      return text === "" || Number.isNaN(number) ? Infinity : number; // unknown errors come last
    };
    const body = table.tBodies[0];
    const rows = [...body.rows].sort((a, b) => (value(a) - value(b) || 0) * (up ? 1 : -1));
    body.append(...rows);
    status.textContent = `Sorted by ${headings[column].textContent.trim()}, ${up ? "ascending" : "descending"}.`;
  }
})();
