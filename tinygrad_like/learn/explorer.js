"use strict";
// The page draws a layout made by Python. A step is a box of the view: first all forward, then all backward.
const data = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);
const HALF = 19;
const stage = $("stage"), world = $("world"), panel = $("panel");
let view = 0, step = 0, chosen = -1, scale = 1, left = 0, top_ = 0, timer = null;
let room = { clientWidth: stage.clientWidth, clientHeight: stage.clientHeight };  // cached: to ask the browser forces a layout
let steps = [], drawn = new Map(), active = new Set();

// Boxes and their nodes --------------------------------------------------------------------------------------------

const kind = (box) => box[0];
const nodesOf = (box) => kind(box) === "group" ? data.views[box[1]].nodes : [box[1]];
const node = (n) => data.nodes[n];
const here = () => data.views[view];
const computed = (box) => kind(box) === "op" || kind(box) === "group";
const title = (box) => kind(box) === "group" ? "module " + data.views[box[1]].name : node(box[1]).op;
const opens = (box) => kind(box) === "group" ? box[1] : kind(box) === "op" ? node(box[1]).opens : -1;
const shape = (s) => !s ? "" : "(" + s.join(", ") + (s.length === 1 ? ",)" : ")");
function facts(box) {  // its last node, its steps in forward and backward, and its marks with the steps at which they appear
  if (box.facts) return box.facts;
  const nodes = nodesOf(box), latest = (what) => nodes.reduce((most, n) => Math.max(most, node(n)[what]), -1);
  const marks = nodes.flatMap((n) => [["f", node(n).f, node(n).out], ["b", node(n).b, node(n).g]])
    .map(([what, when, v]) => [what, when, v >= 0 ? data.values[v] : {}]).map(([what, when, v]) => [what, when, v.nan ? "NaN" : v.inf ? "inf" : v.zero ? "zero" : ""])
    .filter(([, , said]) => said);
  return box.facts = { last: nodes.reduce((a, b) => node(b).f > node(a).f ? b : a), f: latest("f"), b: latest("b"), marks };
}
function mark(box, at) {  // for values known at this step
  const there = facts(box).marks.filter(([what, when]) => when <= at[what]).map(([, , said]) => said);
  return ["NaN", "inf", "zero"].find((said) => there.includes(said)) || "";
}

function stepsOf(v) {
  const boxes = data.views[v].boxes.map((box, i) => ({ box, i }));
  const ops = boxes.filter((x) => computed(x.box));
  const forward = [...ops].sort((a, b) => facts(a.box).f - facts(b.box).f).map((x) => ({ i: x.i, backward: false }));
  const backward = [...ops, ...boxes.filter((x) => kind(x.box) === "leaf")].filter((x) => facts(x.box).b >= 0)
    .sort((a, b) => facts(a.box).b - facts(b.box).b).map((x) => ({ i: x.i, backward: true }));
  return [...forward, ...backward];
}

function now() { return steps[step] || { i: 0, backward: false }; }
function clock() {  // the progress of both walks, in steps of the whole graph
  const s = now(), box = here().boxes[s.i];
  return s.backward ? { f: Infinity, b: facts(box).b } : { f: facts(box).f, b: -1 };
}
function arrivals(n, b) {  // [number of terms of the cotangent that have arrived, number of all terms]
  const terms = node(n).terms || [];
  return [terms.filter((t) => b >= 0 && (t[0] < 0 || node(t[0]).b < b || (node(t[0]).b <= b && node(t[0]).b < node(n).b))).length,
    terms.length];
}

// Drawing: visible boxes are elements with text; arrows are painted on a canvas, thousands in a few milliseconds --------

const FAR = 0.6;  // below this zoom no text is legible, so boxes are painted too
const map = $("map"), pen = map.getContext("2d");
const SHARE = 2;  // milliseconds per frame for making boxes; the rest are painted until the next frame
const SLIDE = matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : 160;  // milliseconds; viewers lose their place if the view jumps
let colours = {}, queued = false, pointed = -1, zoomed = 0, rest = 0, told = -100, due = 0, slide = null, above = stage.getBoundingClientRect().top;

function theme(dark) {
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  const style = getComputedStyle(document.documentElement);
  for (const name of ["now", "soft", "line", "arrived", "op-line", "leaf-line", "group-line", "plus", "minus", "zero", "bad"])
    colours[name] = style.getPropertyValue("--" + name);
  colours.op = colours["op-line"];
  colours.leaf = colours["leaf-line"];
  colours.group = colours["group-line"];
  colours.from = colours.data = colours.soft;
}
function make(tag, attributes, parent) {
  const e = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const k in attributes) e.setAttribute(k, attributes[k]);
  parent.append(e);
  return e;
}
function draw(i) {
  const box = here().boxes[i], [, , x, y, w, label] = box;
  const g = make("g", { transform: `translate(${x} ${y})`, "data-box": i }, $("boxes"));
  make("rect", { x: -w / 2, y: -HALF, width: w, height: 2 * HALF, rx: ["leaf", "data"].includes(kind(box)) ? 3 : 9 }, g);
  make("text", { y: -3 }, g).textContent = label;
  make("text", { y: 12, class: "shape" }, g).textContent = shape(node(facts(box).last).shape);
  drawn.set(i, g);
  paint(i);
}
function paint(i, at = clock()) {
  const g = drawn.get(i);
  if (!g) return;
  const box = here().boxes[i], names = ["box", kind(box)];
  if (computed(box) && facts(box).f > at.f) names.push("later");
  if (at.b >= 0) {
    const [some, all] = arrivals(facts(box).last, at.b);
    if (some) names.push(some === all ? "arrived" : "part");
  }
  if (i === now().i) names.push("now");
  if (i === chosen && i !== now().i) names.push("chosen");
  const style = names.join(" "), said = mark(box, at);
  if (g.style_ !== style) g.setAttribute("class", g.style_ = style);
  if ((g.said || "") === said) return;
  if (g.said) g.lastChild.remove();
  if (g.said = said) make("text", { x: Math.max(box[4] / 2 - 22, 7), y: -HALF - 3, class: "mark" }, g).textContent = said;
}
function sight(edge = 120) {
  return [(-left - edge) / scale, (-top_ - edge) / scale, (room.clientWidth - left + edge) / scale,
    (room.clientHeight - top_ + edge) / scale];
}
function moved() {
  if (queued) return;
  queued = true;
  requestAnimationFrame(() => {
    queued = false;
    const [dx, dy] = behind();
    world.style.transform = `translate(${left + dx}px, ${top_ + dy}px) scale(${scale})`;
    cull();
    picture(dx, dy);
    if (slide) moved();
  });
}
function behind() {  // how far the picture lags while the view slides
  const rest = slide ? 1 - (performance.now() - slide.start) / SLIDE : 0;
  if (!(rest > 0)) slide = null;
  return slide ? [slide.x * rest ** 2, slide.y * rest ** 2] : [0, 0];
}
function cull() {
  const [x0, y0, x1, y1] = scale < FAR ? [1, 1, 0, 0] : sight(), boxes = here().boxes, start = performance.now();
  const outside = ([, , x, y, w]) => x + w / 2 <= x0 || x - w / 2 >= x1 || y + HALF <= y0 || y - HALF >= y1;
  for (const [i, g] of drawn) if (outside(boxes[i])) { g.remove(); drawn.delete(i); }
  if (scale < FAR) return;
  if (start < zoomed + 90) {  // text is redrawn only when the zoom rests
    clearTimeout(rest);
    rest = setTimeout(moved, 100);
    return;
  }
  if (!drawn.has(now().i) && !outside(boxes[now().i])) draw(now().i);
  for (const i of between(y0, y1)) {
    if (drawn.has(i) || outside(boxes[i])) continue;
    if (performance.now() - start > SHARE) { moved(); return; }
    draw(i);
  }
}
function between(y0, y1) {  // the boxes of the view between two heights, from the sorted list
  const v = here();
  v.sorted = v.sorted || v.boxes.map((_, i) => i).sort((a, b) => v.boxes[a][3] - v.boxes[b][3]);
  const first = (y) => {
    let low = 0, high = v.sorted.length;
    while (low < high) { const m = (low + high) >> 1; if (v.boxes[v.sorted[m]][3] < y) low = m + 1; else high = m; }
    return low;
  };
  return v.sorted.slice(first(y0 - HALF), first(y1 + HALF));
}
function trace(p) {  // draw a path through its points, from the bottom of a box to the top of the next
  pen.moveTo(p[2], p[3] + HALF);
  for (let k = 4; k < p.length; k += 2) {
    const y0 = p[k - 1] + HALF, y1 = p[k + 1] - HALF, m = (y0 + y1) / 2;
    pen.bezierCurveTo(p[k - 2], m, p[k], m, p[k], y1);
    if (k + 2 < p.length) pen.lineTo(p[k], y1 + 2 * HALF);
  }
}
function straight(p) {
  pen.moveTo(p[2], p[3]);
  for (let j = 4; j < p.length; j += 2) pen.lineTo(p[j], p[j + 1]);
}
function arrows(some, colour, width) {
  pen.strokeStyle = pen.fillStyle = colour;
  pen.lineWidth = width / scale;  // at most a pixel wide if there are many: wider lines take ten times as long to paint
  pen.beginPath();
  for (const k of some) (scale < FAR ? straight : trace)(here().paths[k]);
  pen.stroke();
  if (scale < FAR) return;
  pen.beginPath();
  for (const k of some) {  // every arrow comes from above
    const p = here().paths[k], x = p[p.length - 2], y = p[p.length - 1] - HALF;
    pen.moveTo(x - 4, y - 8);
    pen.lineTo(x, y);
    pen.lineTo(x + 4, y - 8);
  }
  pen.fill();
}
function picture(dx, dy) {  // the canvas: visible arrows, and the boxes that are not elements
  const dots = devicePixelRatio || 1, width = Math.round(room.clientWidth * dots), height = Math.round(room.clientHeight * dots);
  if (map.width !== width || map.height !== height) { map.width = width; map.height = height; }
  pen.setTransform(1, 0, 0, 1, 0, 0);
  pen.clearRect(0, 0, width, height);
  pen.setTransform(scale * dots, 0, 0, scale * dots, (left + dx) * dots, (top_ + dy) * dots);
  const [x0, y0, x1, y1] = sight(10 + Math.abs(dx) + Math.abs(dy)), v = here(), at = clock(), seen = [];
  v.spans.forEach(([a, b, c, d], k) => { if (c > x0 && a < x1 && d > y0 && b < y1) seen.push(k); });
  arrows(seen, colours.soft, 1);
  arrows(seen.filter((k) => active.has(k)), colours.now, 2.6);
  if (pointed >= 0) arrows([pointed], colours["op-line"], 2.6);
  between(y0, y1).forEach((i) => {
    const box = v.boxes[i], [, , x, y, w] = box;
    if (drawn.has(i) || x + w / 2 < x0 || x - w / 2 > x1) return;
    const [some, all] = at.b >= 0 ? arrivals(facts(box).last, at.b) : [0, 1];
    pen.fillStyle = some && some === all ? colours.arrived : computed(box) && facts(box).f > at.f ? colours.line : colours[kind(box)];
    pen.fillRect(x - w / 2, y - HALF, w, 2 * HALF);
  });
  if (drawn.has(now().i)) return;
  const [, , x, y, w] = v.boxes[now().i], least = 9 / scale;
  pen.fillStyle = colours.now;
  pen.fillRect(x - Math.max(w / 2, least), y - Math.max(HALF, least), Math.max(w, 2 * least), Math.max(2 * HALF, 2 * least));
}
function span(p) {
  const xs = p.filter((_, k) => k > 1 && k % 2 === 0), ys = p.filter((_, k) => k > 1 && k % 2 === 1);
  return [Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)];
}
function arrowAt(x, y) {  // the number of the arrow under a point of the stage, or -1
  const near = 6, wx = (x - left) / scale, wy = (y - top_) / scale;
  pen.setTransform(1, 0, 0, 1, 0, 0);
  pen.lineWidth = 2 * near / scale;
  return here().spans.findIndex(([a, b, c, d], k) => {
    if (wx < a - near || wx > c + near || wy < b || wy > d) return false;
    pen.beginPath();
    (scale < FAR ? straight : trace)(here().paths[k]);
    return pen.isPointInStroke(wx, wy);
  });
}

// Moving ---------------------------------------------------------------------------------------------------------------

function fit() {
  whole();
  if (scale < FAR) { scale = 0.8; centre(now().i); }
}
function whole() {  // show all, beside the legend if there is room
  const { clientWidth: width, clientHeight: height } = room, [w, h] = here().size, legend = $("legend");
  scale = Math.min(1.3, width / (w + 20), height / (h + 20));
  left = (width - w * scale) / 2;
  top_ = (height - h * scale) / 2;
  if (legend.open && top_ + h * scale > legend.offsetTop)
    left = Math.max(left, Math.min(legend.offsetLeft + legend.offsetWidth, width - w * scale - 10));
  moved();
}
function centre(i) {
  const { clientWidth: width, clientHeight: height } = room, [, , x, y] = here().boxes[i];
  left = width / 2 - x * scale;
  top_ = height / 2 - y * scale;
  moved();
}
function lacking(i) {  // how far the view must move to show a box with some room around it, and not below the legend
  const { clientWidth: width, clientHeight: height } = room, [, , x, y, w] = here().boxes[i], legend = $("legend");
  const shift = (at, size, edge, last) => Math.max(0, Math.min(edge, size / 2) - at) + Math.min(0, Math.max(size - last, size / 2) - at);
  const side = w / 2 * scale + 24, dx = shift(left + x * scale, width, side, side), ends = 84 * scale;
  const hidden = legend.open && left + dx + (x - w / 2) * scale < legend.offsetLeft + legend.offsetWidth ? legend.offsetHeight + 36 : 0;
  return [dx, shift(top_ + y * scale, height, ends, Math.max(ends, hidden))];
}
function nudge(i) {  // slide the view just enough to show a box
  const [x, y] = lacking(i), [dx, dy] = behind();
  if (!x && !y) return;
  left += x;
  top_ += y;
  slide = { x: dx - x, y: dy - y, start: performance.now() };
  moved();
}
function inSight(i) { return lacking(i).every((by) => Math.abs(by) < 1); }
function zoom(by, x, y) {
  const s = Math.min(4, Math.max(0.02, scale * by));
  left = x - (x - left) * s / scale;
  top_ = y - (y - top_) * s / scale;
  scale = s;
  zoomed = performance.now();
  moved();
}
function show(v, at) {
  if (steps.length) here().place = [left, top_, scale];
  view = v;
  here().spans = here().spans || here().paths.map(span);
  steps = stepsOf(v);
  chosen = -1;
  for (const e of drawn.values()) e.remove();
  drawn.clear();
  pointed = -1;
  $("slider").max = Math.max(0, steps.length - 1);
  step = Math.max(0, steps.findIndex(at || (() => true)));
  crumbs();
  slide = null;
  if (here().place) [left, top_, scale] = here().place;  // as it was left
  else fit();
  go(step);
}
function go(to) {
  step = Math.max(0, Math.min(steps.length - 1, to));
  chosen = -1;
  const { i, backward: back } = now(), at = clock();
  active = new Set(touching(i).filter((k) => back || here().paths[k][1] === i));
  nudge(i);
  if (scale >= FAR && !drawn.has(i)) draw(i);
  for (const k of drawn.keys()) paint(k, at);
  moved();
  $("slider").value = step;
  const backward = steps.findIndex((s) => s.backward), n = steps.length;
  const box = here().boxes[i];
  $("status").textContent = now().backward
    ? `backward ${step - backward + 1} of ${n - backward}: ${title(box)}` : `forward ${step + 1} of ${backward < 0 ? n : backward}: ${title(box)}`;
  $("slider").setAttribute("aria-valuetext", $("status").textContent);
  tell();
}
function touching(i) {  // the arrows of a box
  const v = here();
  if (!v.touching) {
    v.touching = v.boxes.map(() => []);
    v.paths.forEach((p, k) => { v.touching[p[0]].push(k); v.touching[p[1]].push(k); });
  }
  return v.touching[i];
}
function tell() {  // show a step in the panel; when steps follow each other quickly, only the last
  const wait = told + 25 - performance.now();
  clearTimeout(due);
  due = wait > 0 ? setTimeout(tell, wait) : 0;
  if (due) return;
  describe(now().i);
  told = performance.now();
}
function open(i) {
  const box = here().boxes[i], to = opens(box);
  if (to < 0) return;
  const back = now().backward;
  show(to, (s) => s.backward === back);
}
function out() {
  const from = view, up = here().parent;
  if (up < 0) return;
  const back = now().backward;
  show(up, (s) => s.backward === back && opens(data.views[up].boxes[s.i]) === from);
}
function crumbs() {
  const chain = [];
  for (let v = view; v >= 0; v = data.views[v].parent) chain.unshift(v);
  $("crumbs").replaceChildren(...chain.flatMap((v, k) => {
    const b = element("button", k === chain.length - 1 ? { type: "button", "aria-current": "page" } : { type: "button" }, data.views[v].name);
    b.onclick = () => show(v);
    return k ? [" / ", b] : [b];
  }));
}

// Finding, playing, keys, mouse -----------------------------------------------------------------------------------------

function find() {
  const text = $("search").value.trim().toLowerCase(), list = $("found");
  const hits = text ? data.nodes.map((it, n) => [n, it]).filter(([, it]) => it.view >= 0 && it.op.toLowerCase().includes(text)) : [];
  const modules = text ? data.views.map((v, k) => [k, v]).filter(([k, v]) => k && v.name.toLowerCase().includes(text)) : [];
  list.replaceChildren(...[...modules.slice(0, 10).map(([k, v]) => [`open ${v.name}`, () => show(k)]),
    ...hits.slice(0, 30).map(([n, it]) => [`${it.op} ${shape(it.shape)} ${where(n) ? "in " + where(n) : ""}`, () => goTo(n, now().backward)])]
    .map(([name, act]) => { const b = element("button", { type: "button" }, name); b.onclick = () => { list.hidden = true; act(); }; return element("li", {}, b); }));
  if (text && !list.children.length) list.append(element("li", {}, "nothing found"));
  list.hidden = !text;
}
function play(on) {
  clearInterval(timer);
  timer = on ? setInterval(() => step + 1 < steps.length ? go(step + 1) : play(false), 900) : null;
  $("play").textContent = on ? "Stop" : "Play";
  $("play").setAttribute("aria-pressed", String(Boolean(on)));
}
const KEYS = {
  ArrowRight: () => go(step + 1), ArrowDown: () => go(step + 1), ArrowLeft: () => go(step - 1), ArrowUp: () => go(step - 1),
  Home: () => go(0), End: () => go(steps.length - 1), " ": () => play(!timer), Enter: () => open(chosen >= 0 ? chosen : now().i),
  Backspace: out, "/": () => $("search").focus(), "0": whole, b: () => go(steps.findIndex((s) => s.backward)),
  "+": () => zoom(1.25, room.clientWidth / 2, room.clientHeight / 2), "=": () => KEYS["+"](), "-": () => zoom(0.8, room.clientWidth / 2, room.clientHeight / 2),
  "?": () => { $("keys").hidden = !$("keys").hidden; $("help").setAttribute("aria-expanded", String(!$("keys").hidden)); },
};
const PAN = { ArrowRight: [-60, 0], ArrowLeft: [60, 0], ArrowDown: [0, -60], ArrowUp: [0, 60] };
document.addEventListener("keydown", (e) => {
  if (e.ctrlKey || e.metaKey || e.altKey) return;
  const there = document.activeElement, own = there && ["BUTTON", "A"].includes(there.tagName) && ["Enter", " "].includes(e.key);
  if (there === $("search")) { if (e.key === "Escape") { $("search").value = ""; find(); there.blur(); } else if (e.key === "ArrowDown") { const b = $("found").querySelector("button"); if (b) b.focus(); e.preventDefault(); } return; }
  if (own) return;
  if (there && $("found").contains(there)) { const near = e.key === "ArrowDown" ? there.parentNode.nextSibling : e.key === "ArrowUp" ? there.parentNode.previousSibling : null; if (near) near.firstChild.focus(); if (e.key === "Escape") { $("found").hidden = true; $("search").focus(); } if (e.key.startsWith("Arrow")) e.preventDefault(); return; }
  const pan = e.shiftKey && PAN[e.key];
  if (pan) { left += pan[0]; top_ += pan[1]; moved(); e.preventDefault(); return; }
  const act = KEYS[e.key.length === 1 ? e.key.toLowerCase() : e.key];
  if (act) { e.preventDefault(); act(); }
});
$("search").oninput = find;
$("first").onclick = () => go(0);
$("back").onclick = () => go(step - 1);
$("next").onclick = () => go(step + 1);
$("last").onclick = () => go(steps.length - 1);
$("play").onclick = () => play(!timer);
$("started").onclick = () => $("intro").remove();
$("legend").onpointerdown = (e) => e.stopPropagation();
if (innerWidth < 760) $("legend").open = false;
$("help").onclick = () => KEYS["?"]();
$("slider").oninput = () => go(Number($("slider").value));
$("theme").onclick = () => { theme(document.documentElement.dataset.theme !== "dark"); moved(); describe(chosen >= 0 ? chosen : now().i); };
let drag = null;
const boxAt = (e) => { const g = e.target.closest && e.target.closest("[data-box]"); return g ? Number(g.dataset.box) : -1; };
stage.addEventListener("pointerdown", (e) => { drag = { x: e.clientX, y: e.clientY, left, top: top_, box: boxAt(e), far: false }; });
addEventListener("pointermove", (e) => {
  if (drag) {
    if (Math.hypot(e.clientX - drag.x, e.clientY - drag.y) > 4) { drag.far = true; stage.classList.add("dragged"); }
    if (drag.far) { left = drag.left + e.clientX - drag.x; top_ = drag.top + e.clientY - drag.y; moved(); }
    return;
  }
  const box = $("tooltip"), r = stage.getBoundingClientRect(), x = e.clientX - r.left, y = e.clientY - r.top;
  const k = stage.contains(e.target) && boxAt(e) < 0 ? arrowAt(x, y) : -1;
  if (k !== pointed) { pointed = k; moved(); }
  box.hidden = k < 0;
  if (k >= 0) {
    const [from, to] = here().paths[k].slice(0, 2).map((i) => here().boxes[i]);
    box.textContent = `${title(from)} to ${title(to)}: ${shape(node(facts(from).last).shape)}`;
    box.style.left = x + 14 + "px";
    box.style.top = y + 10 + "px";
  }
});
addEventListener("pointerup", () => {
  if (drag && !drag.far && drag.box >= 0) choose(drag.box);
  drag = null;
  stage.classList.remove("dragged");
});
stage.addEventListener("dblclick", (e) => { if (boxAt(e) >= 0) open(boxAt(e)); });
stage.addEventListener("wheel", (e) => {
  e.preventDefault();
  const r = stage.getBoundingClientRect();
  zoom(Math.exp(-e.deltaY * 0.0012), e.clientX - r.left, e.clientY - r.top);
}, { passive: false });
new ResizeObserver(() => {  // keep the view in place
  const at = stage.getBoundingClientRect().top;
  room = { clientWidth: stage.clientWidth, clientHeight: stage.clientHeight };
  top_ += above - at;
  above = at;
  moved();
}).observe(stage);
function choose(i) {
  const box = here().boxes[i];
  if (kind(box) === "from") { goTo(box[1], now().backward); return; }
  chosen = i;
  clearTimeout(due);
  const at = clock();
  for (const k of drawn.keys()) paint(k, at);
  describe(i);
}
theme(matchMedia("(prefers-color-scheme: dark)").matches);
show(0);
requestAnimationFrame(() => requestAnimationFrame(() => {  // after the first picture
  performance.mark("drawn");
  document.documentElement.dataset.ready = "yes";
}));
