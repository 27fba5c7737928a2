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
    const lines = [
      { label: "leave-one-out", stroke: colour("--accent"), width: 2.5, spanGaps: true },
      { label: "prequential", stroke: colour("--chart-3"), width: 1.5, spanGaps: true },
      { label: "expected", stroke: colour("--chart-2"), width: 1.5, spanGaps: true },
    ];
    const data = [found.labels, ...found.series];
    if (found.baseline !== null) { lines.push({ label: "mean only", stroke: colour("--soft"), width: 1, dash: [6, 5], points: { show: false } }); data.push(flat(found.baseline)); }
    if (found.goal !== null) { lines.push({ label: "goal", stroke: colour("--good"), width: 1, dash: [2, 4], points: { show: false } }); data.push(flat(found.goal)); }
    const shown = (u, value) => value === null || value === undefined ? "–" : Number(value.toPrecision(3)).toString();
    const axis = { stroke: colour("--soft"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line") } };
    const known = data.slice(1).flat().filter((v) => v !== null && v > 0);
    const wide = known.length && Math.max(...known) > 30 * Math.min(...known);
    const options = {
      width: Math.max(place.clientWidth, 240), height: 300,
      scales: { x: { time: false }, y: wide ? { distr: 3 } : { range: (u, low, high) => [0, (high || 1) * 1.08] } },
      series: [{ label: "labels", value: shown }, ...lines.map((line) => ({ ...line, value: shown }))],
      axes: [{ ...axis, label: "labels", labelSize: 22 }, { ...axis, size: 64, label: `error, in units of ${found.unit}`.slice(0, 60), labelSize: 22 }],
      legend: { live: true },
    };
    const chart = new window.uPlot(options, data, place);
    new ResizeObserver(() => chart.setSize({ width: Math.max(place.clientWidth, 240), height: 300 })).observe(place);
  };
  const all = () => document.querySelectorAll("[data-chart]").forEach(draw);
  document.body.addEventListener("htmx:afterSwap", all);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => document.querySelectorAll("[data-chart]").forEach((place) => { place.textContent = ""; delete place.dataset.drawn; draw(place); }));
  all();
})();
