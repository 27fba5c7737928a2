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
})();
