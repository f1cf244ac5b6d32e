"use strict";
// The panel: texts and numbers ------------------------------------------------------------------------------------------

function element(tag, attributes, ...content) {
  const e = document.createElement(tag);
  for (const k in attributes || {}) e.setAttribute(k, attributes[k]);
  e.append(...content.filter((c) => c !== null && c !== undefined));
  return e;
}
function link(n) {
  const b = element("button", { type: "button", class: "link" }, node(n).op);
  b.onclick = () => goTo(n, now().backward);
  return b;
}
function heat(v) {
  const c = element("canvas", { role: "img", "aria-label": `heat map of ${v.rows} by ${v.columns} cells, from ${-v.top} to ${v.top}` });
  const size = Math.max(1, Math.floor(Math.min(290 / v.columns, 170 / v.rows, 16)));
  c.width = v.columns;  // a pixel is a cell, which the style enlarges
  c.height = v.rows;
  c.style.width = v.columns * size + "px";
  const [plus, minus, zero, bad] = ["plus", "minus", "zero", "bad"].map((name) => colours[name].match(/\d+/g).map(Number));
  const levels = atob(v.map), image = new ImageData(v.columns, v.rows);
  for (let k = 0; k < levels.length; k++) {
    const level = (levels.charCodeAt(k) << 24) >> 24, part = Math.abs(level) / 127, full = level === -128 ? bad : level < 0 ? minus : plus;
    image.data.set([0, 1, 2].map((j) => level === -128 ? full[j] : zero[j] + part * (full[j] - zero[j])), 4 * k);
    image.data[4 * k + 3] = 255;
  }
  c.getContext("2d").putImageData(image, 0, 0);
  return c;
}
function value(n, why) {
  if (n < 0) return element("p", { class: "value soft" }, why || "not kept: the graph saves only what rules name");
  const v = data.values[n], told = element("div", { class: "value" });
  const facts = [`${v.dtype} ${shape(v.shape)}`];
  if (v.mean !== undefined) facts.push(`mean ${v.mean}`, `std ${v.std}`, `min ${v.min}`, `max ${v.max}`);
  if (v.zeros > 0.01 && !v.zero) facts.push(`${Math.round(v.zeros * 100)} % zeros`);
  told.append(element("p", { class: "soft" }, facts.join(", ")));
  if (v.nan || v.inf) told.append(element("p", { class: "bad" }, `${v.nan || 0} NaN, ${v.inf || 0} infinite`));
  if (v.zero) told.append(element("p", { class: "bad" }, "all zeros"));
  if (v.values) told.append(numbers(v));
  if (v.map) {
    told.append(heat(v));
    const [a, b] = v.block, cells = a * b > 1 ? ` Each cell is the mean of ${a} by ${b} elements.` : "";
    told.append(element("p", { class: "soft" }, `Blue is negative, orange positive, up to ${v.top} in size.${cells}`));
  }
  return told;
}
function numbers(v) {
  const last = v.shape.length ? v.shape[v.shape.length - 1] : 1, columns = v.shape.length > 1 && last < 9 ? last : Math.min(4, last);
  const table = element("table");
  for (let k = 0; k < v.values.length; k += columns)
    table.append(element("tr", {}, ...v.values.slice(k, k + columns).map((x) => element("td", {}, String(x)))));
  return table;
}
function math(name, written) {
  const e = element("div", { class: "math", role: "group", "aria-label": name });
  e.innerHTML = written;
  return e;
}
function where(n) { let v = node(n).view, names = []; for (; v > 0; v = data.views[v].parent) names.unshift(data.views[v].name); return names.join(" / "); }

function describe(i) {
  const box = here().boxes[i], at = clock();
  panel.replaceChildren();
  panel.scrollTop = 0;
  if (kind(box) === "group") return describeGroup(box, at);
  const n = box[1], it = node(n);
  panel.append(element("h2", {}, it.op));
  const facts = [it.data ? "data, which need no gradient" : it.passed ? "an input of the opened op, computed before it" : it.leaf ? "a leaf: backward leaves its gradient in .grad" : "an op", it.module ? `of module ${it.module}` : "", where(n) && `in ${where(n)}`, it.line && `called at ${it.line.split("/").pop()}`].filter(Boolean);
  panel.append(element("p", { class: "soft" }, facts.join(", ")));
  if (opens(box) >= 0) panel.append(opener(i, "Open the ops that define it"));
  if (!it.leaf && data.formulas[it.op]) panel.append(math("formula", data.formulas[it.op]));
  if (it.data) { panel.append(element("h3", {}, "Value"), value(it.out)); return; }
  const parts = [() => it.leaf ? panel.append(element("h3", {}, "Value"), value(it.out)) : forwardPart(it, at), () => backwardPart(n, it, at)];
  for (const part of now().backward ? parts.reverse() : parts) part();
}
function opener(i, text) {
  const b = element("button", { type: "button" }, `${text} (Enter)`);
  b.onclick = () => open(i);
  return b;
}
function forwardPart(it, at) {
  panel.append(element("h3", {}, "Forward"));
  for (const [name, from, v] of it.in)
    panel.append(element("p", {}, `${name} `, from >= 0 ? "from " : "(needs no gradient)", from >= 0 ? link(from) : null, from >= 0 && node(from).data ? " (needs no gradient)" : null), value(v));
  for (const [k, v] of Object.entries(it.options || {})) panel.append(element("p", { class: "soft" }, `option ${k} = ${v}`));
  if (it.f > at.f) panel.append(element("p", { class: "soft" }, "out: not computed yet"));
  else if (it.outputs) panel.append(element("p", {}, "out: several, each a box below"));
  else panel.append(element("p", {}, "out"), value(it.out));
  panel.append(element("h3", {}, "Saved for backward"));
  if (!it.saved.length) panel.append(element("p", {}, "nothing: no rule names anything but g"));
  panel.append(element("dl", {}, ...it.saved.flatMap(([name, what, why]) => [element("dt", {}, name), element("dd", {}, `${what}; ${why}`)])));
}
function backwardPart(n, it, at) {
  panel.append(element("h3", {}, it.leaf && !it.passed ? ".grad, the sum of what arrives" : "The cotangent g that arrives"));
  const terms = it.terms || [];
  if (!terms.length) panel.append(element("p", {}, "None: no gradient flows here."));
  const [some, all] = arrivals(n, at.b);
  if (some < all) panel.append(element("p", { class: "soft" }, at.b < 0 ? "Has not arrived yet: backward has not begun."
    : some ? `${some} of ${all} contributions have arrived.` : "Has not arrived yet."));
  if (it.outputs) panel.append(element("p", {}, "One for each of its outputs that is used:"));
  else if (all > 1) panel.append(element("p", {}, `The sum of ${all} contributions, as the value is used ${all} times:`));
  for (const [from, which, v] of terms) {
    const there = at.b >= 0 && (from < 0 || node(from).b < at.b || (node(from).b <= at.b && node(from).b < it.b));
    panel.append(element("p", {}, from < 0 ? "where backward begins" : "from ", from < 0 ? null : link(from),
      from < 0 ? null : `, which takes this as ${(node(from).in[which] || [which])[0].replace(/^input$/, "the input")}`, there ? null : " (not yet)"));
    if (there && (all > 1 || it.outputs)) panel.append(value(v));
  }
  if (all && some === all && !it.outputs) panel.append(value(it.g));
  if (it.leaf) return;
  panel.append(element("h3", {}, "The rule's results"));
  const said = (it.rule || []).flatMap((r) => data.rules[r].math || []);
  if (said.length) panel.append(math("the rule", said.join("")));
  if (at.b < it.b) panel.append(element("p", { class: "soft" }, "Not yet: the rule runs when all of g has arrived."));
  else (it.given || []).forEach((pair, k) => {
    const [name, from] = it.in[k] || [`input ${k}`, -1];
    if (!pair) { panel.append(element("p", { class: "soft" }, `${name}: not wanted`)); return; }
    panel.append(element("p", {}, `for ${name}`, from >= 0 ? ", to " : "", from >= 0 ? link(from) : null));
    const raw = data.values[pair[0]], fitted = data.values[pair[1]];
    if (raw && fitted && raw.shape.join() !== fitted.shape.join())
      panel.append(element("p", {}, `The rule returns ${shape(raw.shape)}; to undo broadcasting, the engine sums it to ${shape(fitted.shape)}.`), value(pair[0]));
    panel.append(value(pair[1]));
  });
  for (const r of it.rule || []) {
    const rule = data.rules[r];
    panel.append(element("p", { class: "soft" }, `${rule.of === "the definition" ? "In the code: derivatives come from the definition, " : `In the code: the rule of ${rule.of}, `}${rule.where}`), element("pre", {}, rule.text));
  }
}
function describeGroup(box, at) {
  const v = data.views[box[1]], end = node(facts(box).last);
  panel.append(element("h2", {}, v.name), element("p", { class: "soft" }, `a module, ${v.nodes.length} ops`), opener(here().boxes.indexOf(box), "Open it"));
  panel.append(element("h3", {}, "Its output"));
  panel.append(end.f > at.f ? element("p", { class: "soft" }, "not computed yet") : value(end.out));
  panel.append(element("h3", {}, "The cotangent of its output"));
  panel.append(at.b >= end.b ? value(end.g) : element("p", { class: "soft" }, "Has not arrived yet."));
  panel.append(element("h3", {}, "Its ops"), element("p", {}, ...v.nodes.flatMap((n, k) => k ? [", ", link(n)] : [link(n)])));
}
function goTo(n, backward) {
  const v = node(n).view, fits = (s) => data.views[v].boxes[s.i][1] === n && ["op", "leaf"].includes(kind(data.views[v].boxes[s.i]));
  if (v < 0) return;
  if (v !== view) show(v, (s) => fits(s) && s.backward === backward);
  const i = steps.findIndex((s) => fits(s) && s.backward === backward);
  go(i >= 0 ? i : Math.max(0, steps.findIndex(fits)));
}
