"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const by = (id) => document.getElementById(id);
  const view = by("view"), svg = view.querySelector("svg"), world = by("world"), panel = by("panel"), search = by("search");
  const nodes = data.boxes, shapes = [], wires = [];
  let scale = 1, x = 0, y = 0, selected = -1, hits = [], at = -1, family = null, waiting = false;

  // Elements by number; tall drawings in bands, of which only those in sight are shown.
  const BAND = 2400, bands = [];
  const reads = nodes.map(() => []), readers = nodes.map(() => []);
  (() => {
    const all = [...world.children];
    const long = document.createElementNS(svg.namespaceURI, "g");
    for (const e of all) {
      let top, bottom;
      if (e.dataset.n !== undefined) {
        const n = +e.dataset.n; shapes[n] = e; top = nodes[n].y; bottom = top + nodes[n].h;
      } else if (e.dataset.s !== undefined) {
        const s = +e.dataset.s, t = +e.dataset.t;
        wires.push({ e, s, t }); reads[t].push(s); readers[s].push(t);
        top = nodes[s].y; bottom = nodes[t].y + nodes[t].h;
      } else { top = 0; bottom = Infinity; }
      const k = Math.floor(top / BAND);
      if (k !== Math.floor(bottom / BAND)) { long.append(e); continue; }
      (bands[k] ||= document.createElementNS(svg.namespaceURI, "g")).append(e);
    }
    world.append(long, ...bands.filter(Boolean));
  })();

  const size = () => view.getBoundingClientRect();
  const draw = () => {
    waiting = false;
    world.setAttribute("transform", `translate(${x} ${y}) scale(${scale})`);
    svg.classList.toggle("far", scale < 0.3);
    const height = size().height;
    bands.forEach((band, k) => {
      const top = k * BAND * scale + y, seen = top < height && top + BAND * scale > 0;
      band.style.display = seen ? "" : "none";
    });
    Object.assign(view.dataset, { scale: scale.toFixed(4), x: x.toFixed(1), y: y.toFixed(1), selected });
  };
  const redraw = () => { if (!waiting) { waiting = true; requestAnimationFrame(draw); } };
  const zoom = (factor, cx, cy) => {
    const box = size();
    cx ??= box.width / 2; cy ??= box.height / 2;
    const next = Math.min(4, Math.max(0.01, scale * factor));
    x = cx - (cx - x) * next / scale; y = cy - (cy - y) * next / scale; scale = next;
    redraw();
  };
  const fit = () => {
    const box = size();
    scale = Math.min(1.5, box.width / data.width, box.height / data.height);
    x = (box.width - data.width * scale) / 2; y = (box.height - data.height * scale) / 2;
    redraw();
  };
  const begin = () => {  // as wide as fits, from the top, but never too small to read
    const box = size();
    scale = Math.min(1.15, Math.max(0.5, box.width / data.width));
    const first = nodes[0];
    x = data.width * scale < box.width ? (box.width - data.width * scale) / 2 : box.width / 2 - (first ? first.x + first.w / 2 : 0) * scale;
    y = 0;
    redraw();
  };
  const show = (n) => {
    const box = size(), node = nodes[n];
    if (scale < 0.45) scale = 0.9;
    const h = Math.min(node.h, box.height / scale * 0.8);
    x = box.width / 2 - (node.x + node.w / 2) * scale; y = box.height / 2 - (node.y + h / 2) * scale;
    redraw();
  };

  // The panel. All text of the model goes in as text.
  const make = (tag, kind, ...inside) => {
    const e = document.createElement(tag);
    if (kind) e.className = kind;
    e.append(...inside.filter((i) => i !== null && i !== undefined && i !== ""));
    return e;
  };
  const link = (n, note) => {
    const b = make("button", "", (note ? note + " " : "") + nodes[n].t + (nodes[n].n ? " · " + nodes[n].n : ""));
    b.addEventListener("click", () => { select(n); show(n); });
    return b;
  };
  const table = (pairs) => make("dl", "", ...pairs.flatMap(([k, v]) => [make("dt", "", k), make("dd", "", v)]));
  const statistics = (w) => {
    const box = make("div", "", make("div", "stats", ...w.facts.map(([k, v]) => make("div", "", make("span", "", k + " "), v))));
    if (w.bars.length) {
      const chart = document.createElementNS(svg.namespaceURI, "svg"), most = Math.max(...w.bars);
      chart.setAttribute("class", "bars"); chart.setAttribute("viewBox", `0 0 ${w.bars.length * 10} 34`);
      chart.setAttribute("preserveAspectRatio", "none"); chart.setAttribute("role", "img");
      chart.setAttribute("aria-label", "how often values occur, from the least to the largest");
      w.bars.forEach((count, i) => {
        const r = document.createElementNS(svg.namespaceURI, "rect"), h = count ? Math.max(1, 34 * count / most) : 0;
        for (const [k, v] of [["x", i * 10], ["y", 34 - h], ["width", 9], ["height", h]]) r.setAttribute(k, v);
        chart.append(r);
      });
      box.append(chart);
    }
    return box;
  };
  const port = (p, links) => make("div", "port", p.role ? make("b", "", p.role + " ") : "", make("code", "", p.value || "(no name)"),
    p.kind ? make("p", "", p.kind) : "", p.weight !== undefined ? statistics(data.weights[p.weight]) : "",
    links.length ? make("div", "links", ...links) : "");
  const detail = (n) => {
    const node = nodes[n], parts = [make("h2", "", node.t), node.n ? make("p", "", make("code", "", node.n)) : ""];
    if (node.v) parts.push(make("p", "", `${node.v} · ${node.f}`));
    if (node.s) parts.push(make("p", "", "time " + node.s + (node.with.length ? ", run as one with " + node.with.join(", ") : "")));
    if (node.p.length) parts.push(make("h3", "", "Made of"), make("p", "", node.p.join(", ")));
    if (node.a.length) parts.push(make("h3", "", "Attributes"), table(node.a));
    const from = (value) => reads[n].filter((s) => nodes[s].o.some((p) => p.value === value));
    const to = (value) => readers[n].filter((t) => nodes[t].i.some((p) => p.value === value));
    const unique = (found) => [...new Set(found)];
    if (node.i.length) parts.push(make("h3", "", "Inputs"), ...node.i.map((p) => port(p, unique(from(p.value)).map((s) => link(s, "from")))));
    if (node.o.length) parts.push(make("h3", "", "Outputs"), ...node.o.map((p) => port(p, unique(to(p.value)).map((t) => link(t, "to")))));
    panel.replaceChildren(...parts.filter(Boolean));
    panel.scrollTop = 0;
  };
  const overview = () => {
    const counts = new Map(), parts = [make("h2", "", data.name), ...data.facts.map((f) => make("p", "", f))];
    for (const node of nodes) if (node.k === "node") counts.set(node.t, (counts.get(node.t) || 0) + 1);
    const first = (node, n) => !nodes.slice(0, n).some((o) => o.sec === node.sec && o.with.includes(node.n));
    const slow = nodes.map((node, n) => [node.sec, n]).filter(([s]) => s > 0).sort((a, b) => b[0] - a[0]).slice(0, 36)
      .filter(([, n]) => first(nodes[n], n)).slice(0, 12);
    if (slow.length) parts.push(make("h3", "", "Slowest nodes"), make("div", "rows", ...slow.flatMap(([, n]) => [link(n), make("span", "", nodes[n].s)])));
    parts.push(make("h3", "", "Operators"), make("div", "rows", ...[...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).flatMap(([name, count]) => {
      const b = make("button", "", name);
      b.addEventListener("click", () => { search.value = name; look(true); });
      return [b, make("span", "", String(count))];
    })));
    panel.replaceChildren(...parts);
  };
  const select = (n) => {
    if (selected >= 0) shapes[selected].classList.remove("sel");
    selected = n;
    for (const w of wires) { w.e.classList.toggle("in", n >= 0 && w.t === n); w.e.classList.toggle("out", n >= 0 && w.s === n); }
    if (n >= 0) {
      shapes[n].classList.add("sel"); detail(n);
      by("said").textContent = `${nodes[n].t} ${nodes[n].n} ${nodes[n].o.map((p) => p.kind).join(" ")}`;
    } else overview();
    redraw();
  };

  // Search: operator first, then names of nodes and tensors.
  const words = nodes.map((n) => [n.t.toLowerCase(), [n.n, ...n.p, ...n.i.map((p) => p.value), ...n.o.map((p) => p.value)].join("\n").toLowerCase()]);
  const look = (jump) => {
    const text = search.value.trim().toLowerCase();
    hits.forEach((n) => shapes[n].classList.remove("hit"));
    hits = text ? nodes.map((_, n) => n).filter((n) => words[n][0].includes(text) || words[n][1].includes(text)) : [];
    const rank = (n) => (words[n][0] === text || nodes[n].n.toLowerCase() === text ? 0 : words[n][0].includes(text) ? 1 : 2);
    hits.sort((a, b) => rank(a) - rank(b) || a - b);
    hits.forEach((n) => shapes[n].classList.add("hit"));
    at = hits.length ? 0 : -1;
    if (jump && hits.length) { select(hits[0]); show(hits[0]); }
    tell();
  };
  const tell = () => { by("found").textContent = search.value.trim() ? (hits.length ? `${at + 1} of ${hits.length}` : "nothing") : ""; };
  const step = (by_) => {
    if (!hits.length) return;
    at = (at + by_ + hits.length) % hits.length;
    select(hits[at]); show(hits[at]); tell();
  };
  search.addEventListener("input", () => look(true));
  search.addEventListener("keydown", (e) => {
    if (e.key === "Enter") { e.preventDefault(); step(e.shiftKey ? -1 : 1); }
    if (e.key === "Escape") { search.value = ""; look(false); view.focus(); }
  });

  // Pointers: one drags, two pinch; what hardly moved is a click.
  const held = new Map();
  let moved = 0, apart = 0;
  view.addEventListener("pointerdown", (e) => {
    if (e.button) return;
    held.set(e.pointerId, e); moved = held.size > 1 ? 99 : 0; view.classList.add("held");
    if (held.size === 2) { const [a, b] = held.values(); apart = Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY); }
  });
  addEventListener("pointermove", (e) => {
    const last = held.get(e.pointerId);
    if (!last) return;
    held.set(e.pointerId, e);
    const dx = e.clientX - last.clientX, dy = e.clientY - last.clientY;
    moved += Math.abs(dx) + Math.abs(dy);
    if (held.size === 1) { if (moved > 4) { x += dx; y += dy; redraw(); } return; }
    const [a, b] = held.values(), box = size(), now = Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY);
    x += dx / 2; y += dy / 2;
    if (apart && now) zoom(now / apart, (a.clientX + b.clientX) / 2 - box.left, (a.clientY + b.clientY) / 2 - box.top);
    apart = now;
  });
  const release = (e) => { held.delete(e.pointerId); if (!held.size) view.classList.remove("held"); };
  addEventListener("pointerup", release);
  addEventListener("pointercancel", release);
  view.addEventListener("click", (e) => {
    if (moved > 4) return;
    const node = e.target.closest(".n");
    select(node ? +node.dataset.n : -1);
    view.focus({ preventScroll: true });
  });
  view.addEventListener("wheel", (e) => {
    e.preventDefault();
    const box = size(), lines = e.deltaMode === 1 ? 16 : e.deltaMode === 2 ? 400 : 1;
    if (e.shiftKey) { x -= (e.deltaX || e.deltaY) * lines; redraw(); return; }
    zoom(Math.exp(-Math.max(-400, Math.min(400, e.deltaY * lines)) * (e.ctrlKey ? 0.008 : 0.0016)), e.clientX - box.left, e.clientY - box.top);
  }, { passive: false });

  // Keys.
  const nearest = (good) => {
    const box = size(), cx = (box.width / 2 - x) / scale, cy = (box.height / 2 - y) / scale;
    const far = (n) => Math.hypot(nodes[n].x + nodes[n].w / 2 - cx, nodes[n].y + nodes[n].h / 2 - cy);
    return nodes.map((_, n) => n).filter(good).reduce((a, b) => (a < 0 || far(b) < far(a) ? b : a), -1);
  };
  const beside = (side) => {
    const here = nodes[selected], middle = here.y + here.h / 2;
    const row = nodes.map((_, n) => n).filter((n) => n !== selected && nodes[n].y <= middle && nodes[n].y + nodes[n].h >= middle && (nodes[n].x - here.x) * side > 0);
    return row.reduce((a, b) => (a < 0 || Math.abs(nodes[b].x - here.x) < Math.abs(nodes[a].x - here.x) ? b : a), -1);
  };
  const go = (n) => { if (n !== undefined && n >= 0) { select(n); show(n); } };
  const arrows = { ArrowUp: [0, 1], ArrowDown: [0, -1], ArrowLeft: [1, 0], ArrowRight: [-1, 0] };
  view.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const arrow = arrows[e.key];
    if (arrow && (selected < 0 || e.shiftKey)) { x += arrow[0] * 80; y += arrow[1] * 80; redraw(); }
    else if (arrow) go(e.key === "ArrowUp" ? reads[selected][0] : e.key === "ArrowDown" ? readers[selected][0] : beside(e.key === "ArrowLeft" ? -1 : 1));
    else if (e.key === "+" || e.key === "=") zoom(1.25);
    else if (e.key === "-") zoom(0.8);
    else if (e.key === "0" || e.key === "f") fit();
    else if (e.key === "Home") begin();
    else if (e.key === "Enter" || e.key === " ") go(nearest(() => true));
    else if (e.key === "Escape") select(-1);
    else return;
    e.preventDefault();
  });
  addEventListener("keydown", (e) => {
    if (e.key === "/" && document.activeElement !== search) { e.preventDefault(); search.focus(); search.select(); }
  });
  by("in").addEventListener("click", () => zoom(1.25));
  by("out").addEventListener("click", () => zoom(0.8));
  by("fit").addEventListener("click", fit);
  by("theme").addEventListener("click", () => {
    const root = document.documentElement, dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });
  for (const b of document.querySelectorAll("footer button[data-family]")) b.addEventListener("click", () => {
    family = family === b.dataset.family ? null : b.dataset.family;
    for (const o of document.querySelectorAll("footer button[data-family]")) o.setAttribute("aria-pressed", String(o.dataset.family === family));
    shapes.forEach((e, n) => e.classList.toggle("dim", family !== null && nodes[n].f !== family));
  });
  new ResizeObserver(redraw).observe(view);
  overview(); begin(); draw();
})();
