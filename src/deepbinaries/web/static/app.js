// The page: from the address to what is shown, and from what people do to the address.

import * as api from "./api.js";
import { byId, count, duration, make, milliseconds } from "./elements.js";
import { addHits, certificate, move, placeholders, tile } from "./grid.js";
import * as states from "./state.js";
import * as viewer from "./viewer.js";

const PAGE = 48; // photographs at a time
const EXAMPLES = ["a dog running on a beach", "people eating at a table", "a train in the snow"];

const pictures = new Map(); // that were dropped, by the name that the address gives them
let known = null; // the server's status
let answer = null; // the last one, with the hits of all pages so far
let drawn = null; // the state whose photographs are shown
let asking = null; // aborts the search that goes on

const handlers = {
  open: (id) => go({ ...states.read(), open: id }),
  ask: (text) => go({ ...cleared(), q: text, kind: "" }),
};

function cleared() {
  return { ...states.read(), q: "", like: "", picture: "", least: "", open: "" };
}

function go(state, options) {
  states.write(state, options);
  render();
}

// From the address to the page

async function render() {
  const state = states.read();
  if (!drawn || !states.sameSearch(state, drawn)) {
    drawn = state;
    fillIn(state);
    window.scrollTo(0, 0);
    if (states.asks(state)) await find(state, 0);
    else await welcome();
  }
  if (!states.sameSearch(state, drawn)) return; // something else was asked for meanwhile
  if (states.read().open) openViewer(states.read().open);
  else viewer.hide();
}

function fillIn(state) {
  document.body.classList.toggle("home", !states.asks(state));
  document.title = state.q ? `${state.q} – deepbinaries` : states.asks(state) ? "Like a picture – deepbinaries" : "deepbinaries";
  byId("q").value = state.q;
  for (const name of ["since", "until", "folder", "sort", "kind"]) byId(name).value = state[name];
  byId("unfold").checked = Boolean(state.unfold);
  const refined = ["since", "until", "folder", "sort", "kind", "unfold"].some((name) => state[name]);
  byId("refine").classList.toggle("on", refined);
  if (refined) unfoldFilters(true);
  byId("asked").hidden = !(state.like || state.picture);
  if (state.like) byId("asked-picture").src = api.thumbnail(state.like);
  else if (pictures.has(state.picture)) byId("asked-picture").src = URL.createObjectURL(pictures.get(state.picture));
  byId("asked-words").textContent = state.like ? "like this" : "like your picture";
}

async function find(state, offset) {
  asking?.abort();
  asking = new AbortController();
  const { signal } = asking;
  const began = performance.now();
  byId("more").hidden = byId("others").hidden = true;
  if (!offset) {
    byId("notes").replaceChildren();
    byId("summary").replaceChildren("Looking …");
    byId("groups").replaceChildren(placeholders());
  }
  try {
    if (state.picture && !pictures.has(state.picture)) {
      throw new api.Refusal("The picture you searched with is not here any more.", "Drop or choose it again.");
    }
    const found = await api.search(state, pictures.get(state.picture), offset, PAGE, signal);
    if (signal.aborted) return; // late answers to old questions are dropped
    answer = offset ? { ...found, hits: [...answer.hits, ...found.hits] } : found;
    if (!offset) byId("groups").replaceChildren();
    addHits(byId("groups"), found.hits, found.bits, handlers);
    if (!offset) tell(found, state, performance.now() - began);
    byId("more").hidden = !found.more;
    byId("others").hidden = Boolean(found.more || state.least || answer.hits.length >= found.searched);
  } catch (error) {
    if (error.name === "AbortError") return;
    explain(error, () => find(state, offset));
  }
}

function tell(found, state, took) {
  const n = found.hits.length;
  const what = state.kind === "sentences" ? ["caption", "captions"] : ["photograph", "photographs"];
  const matches = found.more ? `The first ${n} matches` : count(n, "match", "matches");
  const words = n && state.least ? `${capital(count(found.searched, ...what))} The nearest come first.` : n ? `${matches} among ${count(found.searched, ...what)}` : `Nothing matches among ${count(found.searched, ...what)}`;
  byId("summary").replaceChildren(
    make("span", { className: "found" }, words),
    certificate(found, took) ?? "",
    make("span", { className: "took" }, milliseconds(found.milliseconds)),
  );
  const notes = found.unknown.map((word) => unknown(word, state));
  notes.push(...found.notes.map((note) => make("p", {}, note)));
  if (!n) notes.unshift(nothing(found, state));
  byId("notes").replaceChildren(...notes);
  if (!n && found.nearest.length) addHits(byId("groups"), found.nearest, found.bits, handlers);
}

function nothing(found, state) {
  const filtered = state.since || state.until || state.folder;
  const tries = filtered ? "Ask for a longer time or another folder, " : "Say it in other words, ";
  const why = found.searched ? "Nothing here looks like that." : "There is nothing to search in.";
  return make("div", { className: "message" }, make("h2", {}, why), make("p", {}, `${tries}or drop a picture that looks like what you want.`));
}

function unknown({ word, nearest }, state) {
  const note = make("p", {}, make("b", {}, `“${word}”`), " is a word that the model does not know.");
  if (nearest) {
    const instead = make("button", { type: "button", className: "link" }, nearest);
    const words = state.q.split(/(\s+)/).map((one) => (one.toLowerCase().replace(/[^\p{L}\p{N}]/gu, "") === word ? nearest : one));
    instead.addEventListener("click", () => go({ ...states.read(), q: words.join("") }));
    note.append(" Did you mean ", instead, "?");
  }
  return note;
}

function explain(error, again) {
  byId("summary").replaceChildren();
  byId("groups").replaceChildren();
  const button = make("button", { type: "button" }, "Try again");
  button.addEventListener("click", again);
  byId("notes").replaceChildren(make("div", { className: "message", role: "alert" }, make("h2", {}, capital(error.message)), make("p", {}, capital(error.nextStep ?? "")), button));
}

const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) || !text ? "" : ".");

// Before anything is asked

async function welcome() {
  asking?.abort();
  answer = null;
  byId("more").hidden = byId("others").hidden = true;
  byId("summary").replaceChildren();
  await refresh();
  if (states.asks(states.read())) return;
  const groups = byId("groups");
  byId("notes").replaceChildren();
  groups.replaceChildren();
  if (!known) return;
  if (known.kind === "codes") groups.append(codesAlone());
  else if (!known.items) groups.append(emptyCollection());
  else {
    const examples = EXAMPLES.map((text) => {
      const example = make("button", { type: "button" }, text);
      example.addEventListener("click", () => go({ ...states.read(), q: text }));
      return example;
    });
    byId("notes").append(make("p", { className: "examples" }, ...examples));
    const list = make("ol", { className: "grid glance" }, ...known.sample.map((id) => tile({ id }, 0, handlers.open)));
    groups.append(make("h2", { className: "glance" }, `A glance at ${count(known.items, "photograph")}`), list);
  }
}

function emptyCollection() {
  if (known.indexing?.running) {
    return make("div", { className: "message" }, make("h2", {}, "The first photographs are being looked at."), make("p", {}, "They can be found as they come. This page follows."));
  }
  return make(
    "div",
    { className: "message" },
    make("h2", {}, "There are no photographs here yet."),
    make("p", {}, known.problem || known.indexing?.problem || "The index is empty."),
    make("p", {}, "Index a folder, and this page will find what is in it:"),
    make("pre", {}, "deepbinaries serve ~/Pictures --model MODEL"),
  );
}

function codesAlone() {
  return make(
    "div",
    { className: "message" },
    make("h2", {}, `${count(known.items, "code")} of ${known.bits} bits, without photographs.`),
    make("p", {}, "Programs ask this index for the nearest codes:"),
    make("pre", {}, `curl ${location.origin}/v1/search -H 'content-type: application/json' -d '{"code": "${"00".repeat(Math.ceil(known.bits / 8))}"}'`),
  );
}

// The server's status, again and again

async function refresh() {
  try {
    const before = known?.items;
    known = await api.status();
    showIndexing();
    byId("about").textContent = `deepbinaries ${known.version}`;
    return before !== known.items;
  } catch (error) {
    if (!states.asks(states.read())) explain(error, () => { drawn = null; render(); });
    return false;
  }
}

function showIndexing() {
  const run = known.indexing;
  const failed = known.failures ?? 0;
  byId("indexing").hidden = !(run?.running && run.total > run.done) && !run?.problem && !failed;
  byId("progress").hidden = !run?.running;
  if (run?.running && run.total) byId("progress").value = run.done / run.total;
  else byId("progress").removeAttribute("value");
  let words = run?.problem ? capital(run.problem) : "";
  if (run?.running) {
    words = run.total ? `Indexing: ${run.done.toLocaleString()} of ${run.total.toLocaleString()}` : "Looking through the folder";
    if (run.rate) words += ` · ${run.rate.toFixed(1)} a second`;
    if (run.seconds_left) words += ` · ${duration(run.seconds_left)} left`;
  }
  byId("indexing-words").textContent = words;
  byId("failures").hidden = !failed;
  byId("failures").textContent = failed ? `${count(failed, "file")} could not be read` : "";
}

async function follow() {
  const changed = document.hidden ? false : await refresh();
  if (changed && !states.asks(states.read()) && !viewer.isOpen()) await welcome();
  setTimeout(follow, known?.indexing?.running ? 2000 : 30000);
}

async function showFailures() {
  const rows = byId("failed-rows");
  byId("failed").showModal();
  try {
    const { failures, more } = await api.failures();
    const table = make("table", {}, make("thead", {}, make("tr", {}, ...["File", "Reason", "Since"].map((name) => make("th", { scope: "col" }, name)))));
    const body = make("tbody");
    for (const one of failures) body.append(make("tr", {}, make("td", {}, one.path), make("td", {}, one.reason), make("td", {}, one.since.slice(0, 10))));
    table.append(body);
    rows.replaceChildren(table, more ? make("p", {}, "Only the first thousand are shown; skipped.csv in the index has all.") : "");
  } catch (error) {
    rows.replaceChildren(make("p", {}, `${error.message} ${error.nextStep}`));
  }
}

// Asking

function askByPicture(file) {
  if (!file) return;
  if (file.type && !file.type.startsWith("image/")) return explain(new api.Refusal("That is no picture.", "Drop a JPEG, PNG, WebP or AVIF file."), render);
  if (file.size > api.MOST_BYTES) return explain(new api.Refusal(`That picture has ${Math.round(file.size / 1e6)} MB, which is too much.`, "Save it in a smaller size."), render);
  const name = `${Date.now().toString(36)}`;
  pictures.set(name, file);
  go({ ...cleared(), picture: name });
}

function openViewer(id) {
  const hits = answer ? [...answer.hits, ...(answer.hits.length ? [] : answer.nearest)] : [];
  const ids = answer ? [...new Set(hits.map((hit) => hit.picture))] : known?.sample ?? [];
  const hit = hits.find((one) => one.picture === id);
  viewer.show(id, { hit, bits: answer?.bits, ids, root: known?.photographs });
}

function turn(step) {
  const ids = [...new Set([...document.querySelectorAll("#groups .tile[data-id]")].map((one) => one.dataset.id))];
  const id = ids[ids.indexOf(states.read().open) + step];
  if (id) go({ ...states.read(), open: id }, { replace: true });
}

function closeViewer() {
  const id = states.read().open;
  if (!id) return;
  go({ ...states.read(), open: "" });
  document.querySelector(`#groups .tile[data-id="${CSS.escape(id)}"]`)?.focus();
}

const moreLikeThis = () => go({ ...cleared(), like: states.read().open, kind: "" });

function unfoldFilters(wanted) {
  byId("filters").hidden = !wanted;
  byId("refine").setAttribute("aria-expanded", String(wanted));
}

// What people do

byId("box").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = byId("q").value.trim();
  if (text) go({ ...cleared(), q: text });
  byId("q").blur();
});
byId("filters").addEventListener("submit", (event) => event.preventDefault());
byId("filters").addEventListener("change", () => {
  if (!byId("filters").reportValidity()) return;
  const chosen = Object.fromEntries(["since", "until", "folder", "sort", "kind"].map((name) => [name, byId(name).value.trim()]));
  go({ ...states.read(), ...chosen, unfold: byId("unfold").checked ? "true" : "", open: "" });
});
byId("refine").addEventListener("click", () => unfoldFilters(byId("filters").hidden));
for (const id of ["pick", "pick-too"]) byId(id).addEventListener("click", () => byId("file").click());
byId("file").addEventListener("change", () => { askByPicture(byId("file").files[0]); byId("file").value = ""; });
byId("asked-clear").addEventListener("click", () => { go(cleared()); byId("q").focus(); });
byId("more").addEventListener("click", () => find(drawn, answer.hits.length));
byId("others").addEventListener("click", () => go({ ...states.read(), least: "none" }));
byId("failures").addEventListener("click", showFailures);
byId("failed-close").addEventListener("click", () => byId("failed").close());
byId("previous").addEventListener("click", () => turn(-1));
byId("next").addEventListener("click", () => turn(1));
byId("close").addEventListener("click", closeViewer);
byId("viewer").addEventListener("cancel", (event) => { event.preventDefault(); closeViewer(); });
byId("viewer").addEventListener("click", (event) => { if (event.target === byId("viewer")) closeViewer(); });
byId("like").addEventListener("click", moreLikeThis);
byId("copy").addEventListener("click", viewer.copyPath);
byId("look").addEventListener("click", viewer.toggleLook);
byId("n-regions").addEventListener("input", viewer.draw);
byId("large").addEventListener("load", viewer.draw);
document.querySelector(".mark").addEventListener("click", (event) => { event.preventDefault(); go({ ...cleared(), since: "", until: "", folder: "", sort: "", kind: "", unfold: "" }); });

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const writing = event.target.matches("input:not([type=range]):not([type=checkbox]), select, textarea");
  if (viewer.isOpen()) {
    const act = { ArrowLeft: () => turn(-1), ArrowRight: () => turn(1), m: moreLikeThis, c: viewer.copyPath, r: viewer.toggleLook }[event.key];
    if (act && event.target.id !== "n-regions") { event.preventDefault(); act(); }
  } else if (!writing && event.key === "/") {
    event.preventDefault();
    byId("q").focus();
    byId("q").select();
  } else if (!writing && event.key.startsWith("Arrow") && move(event.key)) {
    event.preventDefault();
  }
});

let inside = 0; // elements that a dragged picture is over
const holdsFile = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
document.addEventListener("dragenter", (event) => { if (holdsFile(event)) { event.preventDefault(); inside += 1; byId("drop").hidden = false; } });
document.addEventListener("dragover", (event) => { if (holdsFile(event)) event.preventDefault(); });
document.addEventListener("dragleave", () => { inside = Math.max(0, inside - 1); byId("drop").hidden = !inside; });
document.addEventListener("drop", (event) => {
  inside = 0;
  byId("drop").hidden = true;
  if (!holdsFile(event)) return;
  event.preventDefault();
  askByPicture(event.dataTransfer.files[0]);
});
document.addEventListener("paste", (event) => {
  const file = [...(event.clipboardData?.files ?? [])].find((one) => one.type.startsWith("image/"));
  if (file) { event.preventDefault(); askByPicture(file); }
});
window.addEventListener("popstate", render);

// The next photographs come as the last ones are reached.
new IntersectionObserver(([seen]) => { if (seen.isIntersecting && !byId("more").hidden) byId("more").click(); }, { rootMargin: "600px" }).observe(byId("more"));

await render();
if (!known) await refresh();
setTimeout(follow, 2000);
