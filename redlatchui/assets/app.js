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

const since = () => (performance.now() - came) / 1000;

const columns = [...document.querySelectorAll("main thead th")].map((th) => th.textContent);

// short shortens the IDs of Clients without a name.
const short = (who) => who.replace(/([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, "$1…");

// parts has the Client of a holder, and what comes after it: the owner or the thread.
function parts(holder) {
  const [, who, owner, reads] = /^(.*?)(?: \((.*)\))?(, reading)?$/.exec(holder);
  return [who, [owner, reads ? "reading" : ""].filter(Boolean).join(", ")];
}

// Row is one line of the table. Its elements stay the same while the lock is shown, so that a click, the focus of the
// keyboard and a selection are not lost when Redis has said something new.
class Row {
  constructor(name) {
    this.name = make("button", { className: "name", onclick: () => { location.hash = encodeURIComponent(name); } }, name);
    this.kind = make("small", { className: "kind" });
    this.holder = make("span", { className: "holder" });
    this.from = make("span");
    this.owner = make("small");
    this.held = make("td");
    this.fill = make("i");
    this.bar = make("span", { className: "bar" }, this.fill);
    this.lease = make("span");
    this.holds = make("td", { className: "n" });
    this.line = make("span");
    this.first = make("small");
    this.token = make("td", { className: "token" });
    this.free = make("button", { className: "free", onclick: () => ask(this.row) }, "Free…");
    this.tr = make("tr", {}, make("td", {}, this.name, this.kind), make("td", {}, this.holder, this.from, this.owner), this.held,
      make("td", { className: "lease" }, this.bar, this.lease), this.holds, make("td", {}, this.line, this.first), this.token, make("td", {}, this.free));
    [...this.tr.children].forEach((cell, at) => { cell.dataset.what = columns[at]; }); // for a narrow window, which has no head
    this.tr.dataset.name = name;
    this.longest = 0; // the longest lease that was seen, for the bar
  }

  show(row) {
    this.row = row;
    text(this.kind, row.kind === "plain" ? "" : row.kind);
    const [who, owner] = parts(row.holder || row.state);
    text(this.holder, short(who));
    this.holder.title = row.holder || "";
    this.holder.classList.toggle("dim", !row.holder);
    text(this.from, row.from || "");
    this.from.className = "from " + (row.from || "");
    const more = (row.others || []).length;
    text(this.owner, [owner, more ? `and ${more} more` : ""].filter(Boolean).join(", "));
    text(this.held, row.held_seconds == null ? "–" : lasting(row.held_seconds + since()));
    text(this.holds, row.count ? String(row.count) : "–");
    text(this.token, row.token ? String(row.token) : "–");
    this.free.hidden = !write || !row.field;
    this.showLease(row);
    const n = waiting(row);
    text(this.line, n ? String(n) : "–");
    this.line.className = n ? "queue" : "dim";
    const first = Math.max(0, ...(row.waiters || []).map((w) => (w.seconds == null ? 0 : w.seconds + since())));
    text(this.first, first > 0 ? `first for ${lasting(first)}` : "");
  }

  showLease(row) {
    const left = row.lease_seconds == null ? null : Math.max(0, row.lease_seconds - since());
    this.bar.hidden = left == null;
    text(this.lease, left != null ? lasting(left) : row.state === "free" ? "–" : "no end");
    if (left == null) return;
    this.longest = Math.max(this.longest, left, 0.001);
    const part = left / this.longest;
    this.fill.style.width = 100 * part + "%";
    this.fill.classList.toggle("low", part < 0.25);
  }
}

// text sets a text that has changed.
function text(element, value) {
  if (element.textContent !== value) element.textContent = value;
}

const waiting = (row) => (row.waiters || []).length + Math.max(0, row.redisson_waiters || 0);

const lines = new Map(); // a Row for each lock that is shown

// drawRows puts the rows into their order, and moves only those that have another place.
function drawRows(rows) {
  const names = new Set(rows.map((row) => row.name));
  for (const [name, line] of lines) {
    if (names.has(name)) continue;
    line.tr.remove();
    lines.delete(name);
  }
  const body = $("#rows");
  rows.forEach((row, at) => {
    if (!lines.has(row.name)) lines.set(row.name, new Row(row.name));
    const line = lines.get(row.name);
    line.show(row);
    if (body.children[at] !== line.tr) body.insertBefore(line.tr, body.children[at] || null);
  });
}

function sums() {
  const clients = word.clients || [];
  const add = (key) => clients.reduce((n, c) => n + (c[key] || 0), 0);
  const oldest = Math.max(-1, ...word.rows.map((r) => r.held_seconds ?? -1));
  const line = Math.max(0, ...word.rows.map(waiting));
  const all = [["Clients", clients.length], ["held", add("held")], ["waiting", add("waiting")], ["longest queue", line],
    ["oldest hold", oldest < 0 ? "–" : lasting(oldest + since())], ["losses", add("losses"), true], ["failed renewals", add("renew_failures"), true]];
  $("#sums").replaceChildren(...all.map(([what, n, bad]) => make("div", { className: bad && n > 0 ? "bad" : "" }, make("dt", {}, what), make("dd", {}, String(n)))));
}

function trouble(what) {
  document.body.classList.toggle("away", what !== "");
  $("#trouble").hidden = what === "";
  text($("#trouble"), what);
}

function draw() {
  if (!word) return;
  trouble(word.error ? "Redis: " + word.error : "");
  const rows = word.rows || (word.rows = []);
  drawRows(rows);
  $("#none").hidden = rows.length > 0;
  $("#more").hidden = !word.more;
  $("#more").textContent = word.more ? `${word.more} more are not shown.` : "";
  sums();
  if ($("#one").open) showOne();
}

async function post(path, value) {
  const answer = await fetch(root + path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(value) });
  if (!answer.ok) throw new Error(await answer.text());
  return answer.json();
}

// The page of one lock is this page with the lock's name behind "#", so it can be kept and passed on.
const chosen = () => {
  try {
    return decodeURIComponent(location.hash.slice(1));
  } catch {
    return ""; // typed by hand
  }
};

async function showOne() {
  const name = chosen();
  const dialog = $("#one");
  if (!name) return dialog.close();
  const answer = await fetch(root + "lock?name=" + encodeURIComponent(name));
  const said = answer.ok ? await answer.json() : { trouble: await answer.text() };
  if (chosen() !== name) return; // another one meanwhile
  text($("h2", dialog), name);
  $("#facts").hidden = !answer.ok;
  text($("#one-trouble"), said.trouble || "");
  if (answer.ok) describe(dialog, said.row, said.changes || []);
  const quoted = JSON.stringify(name);
  text($("pre", dialog), `TYPE ${quoted}\nHGETALL ${quoted}\nPTTL ${quoted}`);
  if (!dialog.open) dialog.showModal();
}

function describe(dialog, row, changes) {
  const facts = [["state", row.state], ["kind", row.kind], ["holder", row.holder], ["field", row.field], ["holds", row.count],
    ["held for", row.held_seconds == null ? null : lasting(row.held_seconds)], ["lease left", row.lease_seconds == null ? null : lasting(row.lease_seconds)],
    ["token", row.token], ["also", (row.others || []).join(", ")]];
  $("dl", dialog).replaceChildren(...facts.filter(([, v]) => v).flatMap(([k, v]) => [make("dt", {}, k), make("dd", {}, String(v))]));
  const inLine = (row.waiters || []).map((w) => make("li", {}, w.who, ...(w.seconds == null ? [] : [make("span", { className: "dim" }, ` for ${lasting(w.seconds)}`)])));
  if (row.redisson_waiters > 0) inLine.push(make("li", {}, `${row.redisson_waiters} of Redisson`));
  $("ol", dialog).replaceChildren(...inLine);
  $("#line").hidden = inLine.length === 0;
  $("tbody", dialog).replaceChildren(...changes.toReversed().map((c) =>
    make("tr", {}, make("td", { className: "dim" }, new Date(c.at).toLocaleTimeString("en-GB")), make("td", {}, c.state), make("td", {}, c.holder || ""), make("td", {}, c.queue ? `${c.queue} waiting` : ""))));
}

$("#one").addEventListener("close", () => {
  if (location.hash) history.replaceState(null, "", location.pathname + location.search);
});
addEventListener("hashchange", showOne);
if (chosen()) showOne();

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
  draw();
};
source.onerror = () => {
  trouble("The connection to the server of this page is broken. Trying again.");
};
