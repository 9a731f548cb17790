// Local times, charts, state that a refresh keeps (selection, focus, scroll position), and the CSRF token.
"use strict";

const PAD = (n) => String(n).padStart(2, "0");

function localTimes(root) {
  for (const each of root.querySelectorAll("time[data-ms]")) {
    const ms = Number(each.dataset.ms);
    if (!(ms >= 0)) { each.textContent = "—"; continue; }
    const at = new Date(ms);
    each.dateTime = at.toISOString();
    each.textContent = at.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });
    each.title = at.toISOString();
  }
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  for (const each of root.querySelectorAll("[data-zone]")) each.textContent = zone;
}

// A time is entered as local time and sent as UTC.
function sendAsUtc(form) {
  for (const typed of form.querySelectorAll("input[type=datetime-local]")) {
    if (!typed.value) continue;
    const sent = document.createElement("input");
    Object.assign(sent, { type: "hidden", name: typed.name, value: new Date(typed.value).toISOString() });
    typed.disabled = true;
    typed.after(sent);
  }
}

// -- charts ----------------------------------------------------------------------------------------------------------

function ink(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

// Axis labels: times, with the date below the first label of each day.
function clock(_, ticks, axis, space, step) {
  let day = "";
  return ticks.map((tick) => {
    const at = new Date(tick * 1000);
    const of = at.toLocaleDateString(undefined, { day: "numeric", month: "short" });
    const time = `${PAD(at.getHours())}:${PAD(at.getMinutes())}${step < 60 ? `:${PAD(at.getSeconds())}` : ""}`;
    const text = of === day ? time : `${step < 86400 ? `${time}\n` : ""}${of}`;
    day = of;
    return text;
  });
}

function axes(format) {
  const line = { stroke: ink("--soft"), grid: { stroke: ink("--line"), width: 1 }, ticks: { stroke: ink("--line") } };
  return [{ ...line, values: clock, space: 80 }, { ...line, size: 60, values: (_, ticks) => ticks.map(format) }];
}

const WHEN = { label: "", value: (_, s) => (s == null ? "" : new Date(s * 1000).toLocaleString()) };
const FROM_ZERO = { range: (_, low, high) => [0, Math.max(high * 1.1, 1)] };

const CHARTS = {
  rates(rows) {
    const data = [rows.map((r) => r.at_ms / 1000), rows.map((r) => r.records_per_s)];
    const line = { label: "records per second", stroke: ink("--link"), fill: ink("--link") + "22", width: 2, points: { show: false } };
    return { data, series: [WHEN, line], scales: { y: FROM_ZERO } };
  },
  histogram(rows) {
    const data = [rows.map((r) => (r.from_ms + r.to_ms) / 2000), rows.map((r) => r.records || null)];
    const bars = uPlot.paths.bars({ size: [0.9] });
    const line = { label: "records due", stroke: ink("--link"), fill: ink("--link") + "66", paths: bars, points: { show: false } };
    const x = { range: () => [rows[0].from_ms / 1000, rows[rows.length - 1].to_ms / 1000] };
    return { data, series: [WHEN, line], scales: { x, y: FROM_ZERO } };
  },
};

function charts(root) {
  for (const place of root.querySelectorAll("[data-chart]")) {
    if (place.firstChild) continue;
    const { data, ...given } = CHARTS[place.dataset.chart](JSON.parse(place.dataset.json));
    const short = Intl.NumberFormat(undefined, { notation: "compact" });
    const drawn = new uPlot({ width: place.clientWidth, height: 180, axes: axes((v) => short.format(v)), ...given }, data, place);
    new ResizeObserver(() => drawn.setSize({ width: place.clientWidth, height: 180 })).observe(place);
  }
}

function dress(root) {
  localTimes(root);
  charts(root);
}

// -- state that a refresh keeps: selected text, focus, scroll position of tables -------------------------------------------

let kept = [];

// The target of the refresh, and the elements that its response replaces out of band.
function parts(target) {
  return [target, ...document.querySelectorAll(target.getAttribute("hx-select-oob") || "#none")];
}

function keep(event) {
  const marked = getSelection(), replaced = parts(event.detail.target);
  if (!marked.isCollapsed && replaced.some((each) => each.contains(marked.anchorNode))) {
    event.detail.shouldSwap = false;
    return;
  }
  kept = replaced.map((part) => {
    const links = [...part.querySelectorAll("a[href], button, summary")];
    const scrolled = [...part.querySelectorAll(".scroll")].map((each) => each.scrollLeft);
    return { id: part.id, focus: document.activeElement.getAttribute("href"), place: links.indexOf(document.activeElement), scrolled };
  });
}

function giveBack() {
  for (const { id, focus, place, scrolled } of kept) {
    const part = document.getElementById(id);
    part.querySelectorAll(".scroll").forEach((each, n) => { each.scrollLeft = scrolled[n] || 0; });
    if (place < 0) continue;
    const links = [...part.querySelectorAll("a[href], button, summary")], same = links[place];
    const found = same && same.getAttribute("href") === focus ? same : links.find((each) => each.getAttribute("href") === focus);
    if (found) found.focus({ preventScroll: true });
  }
  kept = [];
}

// A failed refresh marks the page as stale and shows the reason.
let refreshedAt = new Date();

function stale(why) {
  const told = document.getElementById("stale");
  told.firstElementChild.textContent = `Last updated at ${refreshedAt.toLocaleTimeString()}. ${why} Retrying.`;
  told.hidden = false;
}

function fresh() {
  refreshedAt = new Date();
  document.getElementById("stale").hidden = true;
}

function reason(answer) {
  const told = new DOMParser().parseFromString(answer, "text/html").querySelectorAll("main .bad");
  return [...told].map((each) => each.textContent).find(Boolean) || "The broker did not answer.";
}

document.addEventListener("DOMContentLoaded", () => dress(document));
document.addEventListener("submit", (event) => sendAsUtc(event.target));
document.addEventListener("htmx:beforeSwap", (event) => { if (event.detail.shouldSwap) keep(event); });
document.addEventListener("htmx:afterSwap", () => { fresh(); dress(document); giveBack(); });
document.addEventListener("htmx:responseError", (event) => stale(reason(event.detail.xhr.responseText)));
document.addEventListener("htmx:sendError", () => stale("The broker is unreachable."));
document.addEventListener("htmx:configRequest", (event) => {
  event.detail.headers["X-CSRF-Token"] = document.body.dataset.csrf;
});
document.addEventListener("htmx:beforeRequest", (event) => {
  if (document.hidden) event.preventDefault();  // the tab is hidden
});
