// What the pages need beyond HTML: local times, charts, and the proof that a request of htmx is ours.
"use strict";

function localTimes(root) {
  for (const each of root.querySelectorAll("time[data-ms]")) {
    const ms = Number(each.dataset.ms);
    if (!(ms >= 0)) { each.textContent = "—"; continue; }
    const at = new Date(ms);
    each.dateTime = at.toISOString();
    each.textContent = at.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });
    each.title = at.toISOString();
  }
}

function ink(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function axes(format) {
  const line = { stroke: ink("--soft"), grid: { stroke: ink("--line"), width: 1 }, ticks: { stroke: ink("--line") } };
  return [line, { ...line, size: 60, values: (_, ticks) => ticks.map(format) }];
}

const CHARTS = {
  rates(place, rows) {
    const data = [rows.map((r) => r.at_ms / 1000), rows.map((r) => r.records_per_s)];
    const series = [{}, { label: "records a second", stroke: ink("--link"), fill: ink("--link") + "22", width: 2 }];
    return { data, series, scales: { y: { range: (_, low, high) => [0, Math.max(high * 1.1, 1)] } } };
  },
  histogram(place, rows) {
    const data = [rows.map((r) => r.from_ms / 1000), rows.map((r) => r.records)];
    const bars = uPlot.paths.bars({ size: [0.9] });
    const series = [{}, { label: "records due", stroke: ink("--link"), fill: ink("--link") + "66", paths: bars, points: { show: false } }];
    return { data, series, scales: { y: { range: (_, low, high) => [0, Math.max(high * 1.1, 1)] } } };
  },
};

function charts(root) {
  for (const place of root.querySelectorAll("[data-chart]")) {
    if (place.firstChild) continue;
    const make = CHARTS[place.dataset.chart];
    const { data, ...given } = make(place, JSON.parse(place.dataset.json));
    const short = Intl.NumberFormat(undefined, { notation: "compact" });
    const options = { width: place.clientWidth, height: 180, axes: axes((v) => short.format(v)), ...given };
    const drawn = new uPlot(options, data, place);
    new ResizeObserver(() => drawn.setSize({ width: place.clientWidth, height: 180 })).observe(place);
  }
}

function dress(root) {
  localTimes(root);
  charts(root);
}

document.addEventListener("DOMContentLoaded", () => dress(document));
document.addEventListener("htmx:afterSwap", (event) => dress(document));
document.addEventListener("htmx:configRequest", (event) => {
  event.detail.headers["X-CSRF-Token"] = document.body.dataset.csrf;
});
document.addEventListener("htmx:beforeRequest", (event) => {
  if (document.hidden) event.preventDefault();  // nobody looks
});
