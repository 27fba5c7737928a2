/* The learning curve: uPlot on what the server put into data-chart. */
"use strict";
(() => {
  const style = () => {
    const css = getComputedStyle(document.documentElement);
    return (name) => css.getPropertyValue(name).trim();
  };
  const draw = (place) => {
    if (place.dataset.drawn || !window.uPlot) return;
    place.dataset.drawn = "yes";
    const found = JSON.parse(place.dataset.chart), colour = style();
    const flat = (value) => found.labels.map(() => value);
    const strokes = [["--accent", 2.5], ["--chart-3", 1.5], ["--chart-2", 1.5]];
    const lines = found.lines.map(([label], n) => ({ label, stroke: colour(strokes[n][0]), width: strokes[n][1], spanGaps: true }));
    const levels = found.levels.map(([label], n) => ({ label, stroke: colour(n ? "--good" : "--soft"), width: 1, dash: n ? [2, 4] : [6, 5], points: { show: false } }));
    const data = [found.labels, ...found.lines.map(([, values]) => values), ...found.levels.map(([, value]) => flat(value))];
    lines.push(...levels);
    const shown = (u, value) => value === null || value === undefined ? "–" : Number(value.toPrecision(3)).toString();
    const axis = { stroke: colour("--soft"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line") } };
    const known = data.slice(1).flat().filter((v) => v !== null && v > 0);
    const wide = found.zero && known.length && Math.max(...known) > 30 * Math.min(...known);
    const options = {
      width: Math.max(place.clientWidth, 240), height: 300,
      scales: { x: { time: false }, y: wide ? { distr: 3 } : found.zero ? { range: (u, low, high) => [0, (high || 1) * 1.08] } : {} },
      series: [{ label: "labels", value: shown }, ...lines.map((line) => ({ ...line, value: shown }))],
      axes: [{ ...axis, label: "labels", labelSize: 22 }, { ...axis, size: 64, label: found.axis.slice(0, 60), labelSize: 22 }],
      legend: { live: true },
    };
    const chart = new window.uPlot(options, data, place);
    new ResizeObserver(() => chart.setSize({ width: Math.max(place.clientWidth, 240), height: 300 })).observe(place);
  };
  const all = () => document.querySelectorAll("[data-chart]").forEach(draw);
  document.body.addEventListener("htmx:afterSwap", all);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => document.querySelectorAll("[data-chart]").forEach((place) => { place.textContent = ""; delete place.dataset.drawn; draw(place); }));
  all();

  // Marks: the newest one, told by its event, lands in its place; arrow keys lead from mark to mark.
  const seen = new Map();
  const land = () => document.querySelectorAll("svg.picture[data-which]:not([data-landed])").forEach((picture) => {
    picture.dataset.landed = "yes";
    const marks = [...picture.querySelectorAll("a[data-event]")];
    const newest = Math.max(0, ...marks.map((mark) => Number(mark.dataset.event)));
    const before = seen.get(picture.dataset.which);
    seen.set(picture.dataset.which, newest);
    marks.forEach((mark) => {
      const event = Number(mark.dataset.event);
      if (before === undefined ? event === newest : event > before) mark.classList.add("landing");
    });
  });
  const order = ["ArrowLeft", "ArrowUp", "ArrowRight", "ArrowDown"];
  document.addEventListener("keydown", (event) => {
    const mark = event.target.closest && event.target.closest("svg.picture a");
    if (!mark || !order.includes(event.key)) return;
    event.preventDefault();
    const marks = [...mark.ownerSVGElement.querySelectorAll("a")].map((one) => [one.getBoundingClientRect().x, one]).sort((a, b) => a[0] - b[0]).map(([, one]) => one);
    const next = marks[(marks.indexOf(mark) + (order.indexOf(event.key) < 2 ? -1 : 1) + marks.length) % marks.length];
    mark.setAttribute("tabindex", "-1");
    next.removeAttribute("tabindex");
    next.focus();
  });
  // A picture that is the same as before stays: what is pointed at or focused is not lost.
  document.body.addEventListener("htmx:beforeSwap", (event) => {
    const { target, xhr } = event.detail;
    const [, digest] = (target.matches("[data-same]") && xhr.responseText.match(/data-digest="([0-9a-f]+)"/)) || [];
    if (digest && target.querySelector(`[data-digest="${digest}"]`)) event.detail.shouldSwap = false;
  });
  document.body.addEventListener("htmx:afterSwap", land);
  land();
})();
