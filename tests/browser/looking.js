// What tests measure in a page; put into each before its own scripts.
"use strict";

window.looking = (() => {
  const violations = [];
  document.addEventListener("securitypolicyviolation", (e) => violations.push(`${e.violatedDirective} ${e.blockedURI}`));

  const isShown = (each) => each.checkVisibility({ visibilityProperty: true });

  // -- contrast: WCAG 2.2, relative luminance

  function parts(text) {
    const [r, g, b, alpha = 1] = text.match(/[0-9.]+/g).map(Number);
    return [r, g, b, alpha];
  }

  function over(top, below) {
    return [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
  }

  function light(colour) {
    const linear = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    const [r, g, b] = colour.slice(0, 3).map((v) => linear(v / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  }

  function* upwards(element) {
    for (let at = element; at; at = at.parentElement) yield at;
  }

  function behind(element) {
    const layers = [...upwards(element)].map((at) => parts(getComputedStyle(at).backgroundColor)).reverse();
    return layers.reduce((below, layer) => over(layer, below), [255, 255, 255, 1]);
  }

  // Every piece of text: its contrast with what lies behind it.
  function contrasts() {
    const found = [];
    const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) {
      const text = walk.currentNode.data.trim(), element = walk.currentNode.parentElement;
      if (!text || !isShown(element) || element.closest("option")) continue;
      const opacity = [...upwards(element)].reduce((so_far, at) => so_far * Number(getComputedStyle(at).opacity), 1);
      const back = behind(element);
      const [r, g, b, alpha] = parts(getComputedStyle(element).color);
      const [low, high] = [light(over([r, g, b, alpha * opacity], back)), light(back)].sort((a, b) => a - b);
      found.push([(high + 0.05) / (low + 0.05), text.slice(0, 40), element.className]);
    }
    return found;
  }

  // -- names and keys

  function unlabelled() {
    const hasName = (each) =>
      (each.labels && each.labels[0] && each.labels[0].textContent.trim()) ||
      each.getAttribute("aria-label") ||
      each.textContent.trim();
    const fields = document.querySelectorAll("input:not([type=hidden]), select, textarea, button");
    return [...fields].filter((each) => !hasName(each)).map((each) => each.outerHTML.slice(0, 120));
  }

  let toReach = [];

  function reachable() {
    const all = document.querySelectorAll("a[href], button, input:not([type=hidden]), select, textarea, summary");
    toReach = [...all].filter(isShown);
    return toReach.map((each) => each.outerHTML.slice(0, 120));
  }

  function focused() {
    const at = document.activeElement, style = getComputedStyle(at), box = at.getBoundingClientRect();
    const hasRing = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1;
    const isInside = box.right > 0 && box.left < innerWidth && box.bottom > 0 && box.top < innerHeight;
    return { is_out: at === document.body, place: toReach.indexOf(at), is_seen: hasRing && isInside };
  }

  // How many colours each chart has.
  function drawn() {
    return [...document.querySelectorAll("[data-chart] canvas")].map((each) => {
      const data = each.getContext("2d").getImageData(0, 0, each.width, each.height).data;
      const colours = new Set();
      for (let i = 0; i < data.length; i += 4) if (data[i + 3]) colours.add(data.slice(i, i + 3).join());
      return colours.size;
    });
  }

  function refreshed() {
    return new Promise((done) => document.addEventListener("htmx:afterSettle", () => done(true), { once: true }));
  }

  return { violations, contrasts, unlabelled, reachable, focused, drawn, refreshed };
})();
