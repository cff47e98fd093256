// The photographs that were found, in groups of equal strength.

import * as api from "./api.js";
import { count, make, nearness } from "./elements.js";

const GROUPS = {
  strong: ["Strong matches", ""],
  weak: ["Weaker matches", "Nearer than chance, but not by much"],
  none: ["The nearest all the same", "No nearer than chance would bring"],
};

export const nameOf = (hit) => hit.captions?.[0] || hit.sentence || hit.paths?.[0] || "A photograph";

// How wide a photograph is for its height; very long and very high ones are cut on the page.
const shape = ({ width, height }) => (width && height ? Math.min(2.4, Math.max(0.7, width / height)) : 1);

// A small picture, which has its room before it is there.
function small(hit) {
  const { width = 320, height = 320 } = hit;
  const image = make("img", { src: api.thumbnail(hit.picture ?? hit.id), alt: nameOf(hit), loading: "lazy", decoding: "async", width, height });
  image.addEventListener("load", () => image.classList.add("there"));
  image.addEventListener("error", () => image.closest("li")?.classList.add("broken"));
  return make("span", { className: "picture" }, image);
}

export function tile(hit, bits, open) {
  const picture = small(hit);
  if (hit.alike?.length) picture.append(make("span", { className: "also" }, `+${hit.alike.length} alike`));
  const caption = hit.captions?.[0] || hit.paths?.[0]?.split("/").at(-1) || "";
  const words = make("span", { className: "words" }, make("span", { className: "said" }, caption));
  if (bits) words.append(nearness(hit.distance, bits));
  const button = make("button", { type: "button", className: "tile" }, picture, words);
  button.dataset.id = hit.id;
  button.addEventListener("click", () => open(hit.id));
  const item = make("li", {}, button);
  item.style.setProperty("--shape", shape(hit));
  return item;
}

function sentence(hit, bits, { open, ask }) {
  const picture = make("button", { type: "button", className: "tile", ariaLabel: "Show the photograph beside this sentence" }, small(hit));
  picture.dataset.id = hit.picture;
  picture.addEventListener("click", () => open(hit.picture));
  const button = make("button", { type: "button", className: "said", title: "Find photographs by this sentence" }, hit.sentence);
  button.addEventListener("click", () => ask(hit.sentence));
  return make("li", { className: "sentence" }, picture, button, make("span", { className: "where" }, hit.paths[0] ?? ""), nearness(hit.distance, bits));
}

// Adds hits to the groups that are there; the divider between strong and weak ones is the next group's heading.
export function addHits(groups, hits, bits, { open, ask }) {
  for (const hit of hits) {
    let list = groups.querySelector(`[data-strength="${hit.strength}"] ol`);
    if (!list) {
      const [title, about] = GROUPS[hit.strength];
      list = make("ol", { className: hit.sentence ? "sentences" : "grid" });
      const heading = make("h2", {}, make("span", {}, title), about ? make("small", {}, about) : "");
      const section = make("section", { className: "group" }, heading, list);
      section.dataset.strength = hit.strength;
      groups.append(section);
    }
    list.append(hit.sentence ? sentence(hit, bits, { open, ask }) : tile(hit, bits, open));
  }
}

export function placeholders(n = 12) {
  const list = make("ol", { className: "grid waiting", ariaHidden: "true" });
  for (let i = 0; i < n; i += 1) list.append(make("li", {}, make("span", { className: "tile" }, make("span", { className: "picture" }))));
  return list;
}

// Arrow keys move between photographs as the eye does.
export function move(key) {
  const tiles = [...document.querySelectorAll("#groups .tile[data-id]")];
  const now = tiles.indexOf(document.activeElement);
  if (now < 0) return false;
  const top = tiles[now].offsetTop;
  const across = tiles.filter((one) => one.parentElement.parentElement === tiles[now].parentElement.parentElement && one.offsetTop === top).length;
  const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -across, ArrowDown: across }[key];
  const target = tiles[Math.min(tiles.length - 1, Math.max(0, now + step))];
  target.focus();
  target.scrollIntoView({ block: "nearest" });
  return true;
}

export function certificate(answer, took) {
  const proof = answer.certificate;
  if (!proof) return null;
  const lines = [
    `${count(proof.rows_scanned, "code")} of ${answer.bits} bits ${proof.rows_scanned === 1 ? "was" : "were"} compared, none was guessed or left out.`,
    `Everything within ${proof.radius} bits was looked at` +
      (proof.ties_left_out ? `, but for ${count(proof.ties_left_out, "item")} exactly that far.` : "."),
    answer.reordered ? "Equal distances are ordered by how sure the query is of each bit." : "Equal distances are in the order of ids.",
    `Comparing took ${proof.milliseconds.toFixed(1)} ms, the whole answer ${answer.milliseconds.toFixed(0)} ms, the way here and back ${Math.max(0, took - answer.milliseconds).toFixed(0)} ms.`,
    `Version ${proof.version} of the index.`,
  ];
  return make(
    "details",
    { className: "badge" },
    make("summary", {}, proof.exact ? "Exact" : "Approximate"),
    make("div", { className: "proof" }, ...lines.map((line) => make("p", {}, line))),
  );
}
