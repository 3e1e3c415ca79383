"use strict";

const root = document.documentElement.dataset.root;
const write = document.documentElement.dataset.write === "true";
const $ = (selector, from = document) => from.querySelector(selector);

// make makes an element. Texts from Redis are set as text, and never as HTML.
function make(tag, props = {}, ...children) {
  const e = Object.assign(document.createElement(tag), props);
  e.append(...children);
  return e;
}

function lasting(seconds) {
  if (seconds == null) return "–";
  if (seconds < 60) return seconds.toFixed(seconds < 10 ? 1 : 0) + " s";
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.floor(seconds % 60)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

let word = null; // the last that the server has said
let came = 0; // when, in ms of this machine
const longest = new Map(); // the longest lease that was seen of each lock, for the bar

const since = () => (performance.now() - came) / 1000;

function leaseLeft(row) {
  return row.lease_seconds == null ? null : Math.max(0, row.lease_seconds - since());
}

function bar(row) {
  const left = leaseLeft(row);
  if (left == null) return make("span", { className: "dim" }, row.state === "free" ? "–" : "no end");
  const all = Math.max(longest.get(row.name) || 0, left, 0.001);
  longest.set(row.name, all);
  const fill = make("i", { className: left < all / 4 ? "low" : "" });
  fill.style.width = (100 * left) / all + "%";
  return make("span", {}, make("span", { className: "bar" }, fill), lasting(left));
}

function queue(row) {
  const n = (row.waiters || []).length + Math.max(0, row.redisson_waiters || 0);
  if (n === 0) return make("span", { className: "dim" }, "–");
  const first = Math.max(0, ...(row.waiters || []).map((w) => (w.seconds == null ? 0 : w.seconds + since())));
  return make("span", {}, make("span", { className: "queue" }, String(n)), first > 0 ? `, first ${lasting(first)}` : "");
}

function rowOf(row) {
  const name = make("button", { className: "name", onclick: () => showOne(row.name) }, row.name);
  const cells = [
    make("td", {}, name, ...(row.kind === "plain" ? [] : [make("span", { className: "kind" }, row.kind)])),
    make("td", {}, row.holder || make("span", { className: "dim" }, row.state), ...(row.from ? [make("span", { className: "from " + row.from }, row.from)] : []),
      ...(row.others && row.others.length ? [make("span", { className: "dim" }, ` and ${row.others.length} more`)] : [])),
    make("td", {}, row.held_seconds == null ? "–" : lasting(row.held_seconds + since())),
    make("td", {}, bar(row)),
    make("td", { className: "n" }, row.count ? String(row.count) : "–"),
    make("td", {}, queue(row)),
    make("td", {}, row.token ? String(row.token) : "–"),
    make("td", {}, ...(write && row.field ? [make("button", { onclick: () => ask(row) }, "Free")] : [])),
  ];
  const tr = make("tr", {}, ...cells);
  tr.dataset.name = row.name;
  return tr;
}

function sums() {
  const clients = word.clients || [];
  const add = (key) => clients.reduce((n, c) => n + (c[key] || 0), 0);
  const oldest = Math.max(-1, ...word.rows.map((r) => r.held_seconds ?? -1));
  const line = Math.max(0, ...word.rows.map((r) => (r.waiters || []).length + Math.max(0, r.redisson_waiters || 0)));
  const all = [["Clients", clients.length], ["held", add("held")], ["waiting", add("waiting")], ["longest queue", line],
    ["oldest hold", oldest < 0 ? "–" : lasting(oldest + since())], ["losses", add("losses"), true], ["failed renewals", add("renew_failures"), true]];
  $("#sums").replaceChildren(...all.map(([what, n, bad]) => make("div", { className: bad && n > 0 ? "bad" : "" }, make("dt", {}, what), make("dd", {}, String(n)))));
}

function draw() {
  if (!word) return;
  $("#trouble").hidden = !word.error;
  $("#trouble").textContent = word.error ? "Redis: " + word.error : "";
  const rows = word.rows || (word.rows = []);
  $("#rows").replaceChildren(...rows.map(rowOf));
  $("#none").hidden = rows.length > 0;
  $("#more").hidden = !word.more;
  $("#more").textContent = word.more ? `${word.more} more are not shown.` : "";
  sums();
}

async function post(path, value) {
  const answer = await fetch(root + path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(value) });
  if (!answer.ok) throw new Error(await answer.text());
  return answer.json();
}

async function showOne(name) {
  const dialog = $("#one");
  const answer = await fetch(root + "lock?name=" + encodeURIComponent(name));
  $("h2", dialog).textContent = name;
  if (!answer.ok) {
    $("dl", dialog).replaceChildren(make("dd", {}, await answer.text()));
  } else {
    const { row, changes } = await answer.json();
    const facts = [["state", row.state], ["kind", row.kind], ["holder", row.holder], ["field", row.field], ["holds", row.count], ["held for", row.held_seconds == null ? null : lasting(row.held_seconds)],
      ["lease left", row.lease_seconds == null ? null : lasting(row.lease_seconds)], ["token", row.token], ["also", (row.others || []).join(", ")]];
    $("dl", dialog).replaceChildren(...facts.filter(([, v]) => v).flatMap(([k, v]) => [make("dt", {}, k), make("dd", {}, String(v))]));
    $("ol", dialog).replaceChildren(...(row.waiters || []).map((w) => make("li", {}, w.who + (w.seconds == null ? "" : ", " + lasting(w.seconds)))));
    $("tbody", dialog).replaceChildren(...(changes || []).toReversed().map((c) =>
      make("tr", {}, make("td", { className: "dim" }, new Date(c.at).toLocaleTimeString()), make("td", {}, c.state), make("td", {}, c.holder || ""), make("td", {}, c.queue ? `${c.queue} waiting` : ""))));
    const quoted = JSON.stringify(name);
    $("pre", dialog).textContent = `HGETALL ${quoted}\nPTTL ${quoted}`;
  }
  if (!dialog.open) dialog.showModal();
}

function ask(row) {
  const dialog = $("#ask");
  $("p", dialog).textContent = `${row.name} is held by ${row.holder}.`;
  $("output", dialog).textContent = "";
  const typed = $("input", dialog);
  const yes = $("button.danger", dialog);
  typed.value = "";
  yes.disabled = true;
  typed.oninput = () => { yes.disabled = typed.value !== row.name; };
  $("form", dialog).onsubmit = async (event) => {
    if (event.submitter !== yes) return;
    event.preventDefault();
    try {
      const { freed } = await post("force", { name: row.name, typed: typed.value, field: row.field });
      $("output", dialog).textContent = freed ? "It is free." : "It was not that holder's any more, and nothing was changed.";
      yes.disabled = true;
      if (freed) dialog.close();
    } catch (error) {
      $("output", dialog).textContent = error.message;
    }
  };
  dialog.showModal();
}

$("#search").onsubmit = async (event) => {
  event.preventDefault();
  const said = $("#search output");
  said.textContent = "looking…";
  try {
    const { found, more } = await post("search", { pattern: $("#search input").value });
    said.textContent = more ? `the first ${found}` : `${found} found`;
  } catch (error) {
    said.textContent = error.message;
  }
};

const source = new EventSource(root + "events");
source.onmessage = (event) => {
  const next = JSON.parse(event.data);
  if (next.error && word) next.rows = next.rows && next.rows.length ? next.rows : word.rows; // what there was
  word = next;
  came = performance.now();
  if (!down) draw();
};

// While a button is pressed it must stay the same element: otherwise there is no click.
let down = false;
document.addEventListener("pointerdown", () => { down = true; });
document.addEventListener("pointerup", () => { setTimeout(() => { down = false; }); });
source.onerror = () => {
  $("#trouble").hidden = false;
  $("#trouble").textContent = "The connection to the server of this page is broken. Trying again.";
};
