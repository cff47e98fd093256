// One photograph, large: where the model looks at it, what is known of it, what to do with it.

import * as api from "./api.js";
import { byId, count, day, make, makeSvg, nearness } from "./elements.js";
import { nameOf } from "./grid.js";

const COLOURS = 8;
const WORDS = { strong: "a strong match", weak: "a weaker match", none: "no nearer than chance" };

let shown = null; // the id
let looking = false; // whether regions are drawn
let found = null; // the regions of the photograph that is shown
let waiting = null;

export const isOpen = () => byId("viewer").open;

export async function show(id, { hit, bits, ids, root }) {
  if (shown !== id) {
    shown = id;
    found = null;
    byId("boxes").replaceChildren();
    byId("large").src = api.picture(id);
  }
  describe(hit ?? { id }, bits, root);
  turnable(ids);
  if (!isOpen()) byId("viewer").showModal();
  if (looking) look();
  try {
    const known = await api.item(id);
    if (shown === id) describe({ ...hit, ...known }, bits, root);
  } catch (error) {
    if (shown === id) byId("caption").textContent = `${error.message} ${error.nextStep}`;
  }
}

export function hide() {
  shown = null;
  waiting?.abort();
  if (isOpen()) byId("viewer").close();
  byId("large").removeAttribute("src");
}

function turnable(ids) {
  const place = ids.indexOf(shown);
  byId("previous").disabled = place <= 0;
  byId("next").disabled = place < 0 || place === ids.length - 1;
}

function describe(hit, bits, root) {
  const name = nameOf(hit);
  byId("large").alt = name;
  byId("caption").textContent = hit.captions?.[0] ?? "";
  byId("nearness").replaceChildren(
    ...(bits && hit.distance !== undefined ? [nearness(hit.distance, bits, `${hit.distance} of ${bits} bits differ, ${WORDS[hit.strength]}`)] : []),
  );
  const facts = [];
  const fact = (term, ...texts) => facts.push(make("dt", {}, term), ...texts.map((text) => make("dd", {}, text)));
  if (hit.captions?.length > 1) fact("Also said", ...hit.captions.slice(1));
  if (hit.date) fact("Taken", `${day(hit.date)}${hit.date_from === "file" ? ", by the date of its file" : ""}`);
  if (hit.paths?.length) fact(hit.paths.length > 1 ? "Files" : "File", ...hit.paths);
  const weight = hit.n_bytes && (hit.n_bytes < 1e6 ? `${Math.ceil(hit.n_bytes / 1000)} kB` : `${(hit.n_bytes / 1e6).toFixed(1)} MB`);
  if (weight) fact("Size", `${hit.width} × ${hit.height} pixels, ${weight}`);
  byId("facts").replaceChildren(...facts);
  const path = hit.paths?.[0];
  byId("copy").dataset.path = path ? (root ? `${root.replace(/\/$/, "")}/${path}` : path) : "";
  byId("copy").disabled = !path;
  const alike = (hit.alike ?? []).slice(0, 12).map((id) => make("img", { src: api.thumbnail(id), alt: "A look-alike", loading: "lazy" }));
  byId("alike").replaceChildren(...(alike.length ? [make("h3", {}, count(hit.alike.length, "look-alike")), ...alike] : []));
}

export async function copyPath() {
  const path = byId("copy").dataset.path;
  if (!path) return;
  try {
    await navigator.clipboard.writeText(path);
  } catch {
    // Without https only the old way is there.
    const field = make("textarea", { value: path, className: "hidden" });
    byId("viewer").append(field);
    field.select();
    document.execCommand("copy");
    field.remove();
  }
  const words = byId("copy").firstElementChild;
  words.textContent = "Copied";
  setTimeout(() => { words.textContent = "Copy path"; }, 1500);
}

export function toggleLook() {
  looking = !looking;
  byId("look").setAttribute("aria-pressed", String(looking));
  byId("look").firstElementChild.textContent = looking ? "Hide regions" : "Show regions";
  if (looking) look();
  else draw();
}

async function look() {
  const id = shown;
  byId("how-many").hidden = false;
  if (!found) {
    byId("how-many-words").textContent = "Looking …";
    waiting?.abort();
    waiting = new AbortController();
    try {
      const answer = await api.regions(id, waiting.signal);
      if (shown !== id) return;
      found = answer;
    } catch (error) {
      if (error.name !== "AbortError" && shown === id) byId("how-many-words").textContent = `${error.message} ${error.nextStep}`;
      return;
    }
  }
  draw();
}

// Draws the regions in the order of their attraction, the most attractive first and on top.
export function draw() {
  const boxes = byId("boxes");
  const large = byId("large");
  boxes.replaceChildren();
  byId("how-many").hidden = !looking;
  if (!looking || !found || !large.naturalWidth) return;
  const [width, height] = [large.naturalWidth, large.naturalHeight];
  const regions = found.regions.slice(0, -1); // the last is the whole picture
  const slider = byId("n-regions");
  slider.max = Math.max(1, regions.length);
  const n = Math.min(Number(slider.value), regions.length);
  byId("how-many-words").textContent = regions.length
    ? `The ${n === 1 ? "region" : `${n} regions`} that attract${n === 1 ? "s" : ""} the model most, of ${regions.length}`
    : "This model looks at the whole picture alone";
  boxes.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const size = Math.max(width, height) / 36;
  const taken = new Set(); // places of numbers
  regions.slice(0, n).reverse().forEach(({ box: [x0, y0, x1, y1] }, place) => {
    const rank = n - place;
    const of = { x: x0 * width, y: y0 * height, width: (x1 - x0) * width, height: (y1 - y0) * height, rx: size / 4 };
    const colour = `box-${(rank - 1) % COLOURS}`;
    const at = { x: Math.min(of.x + size * 0.9, width - size), y: Math.min(of.y + size * 0.9, height - size) };
    while (taken.has(`${Math.round(at.x / size)} ${Math.round(at.y / size)}`)) at.x += size * 1.5;
    taken.add(`${Math.round(at.x / size)} ${Math.round(at.y / size)}`);
    boxes.append(
      makeSvg("rect", { ...of, class: "shade" }),
      makeSvg("rect", { ...of, class: colour }),
      makeSvg("circle", { cx: at.x, cy: at.y, r: size * 0.62, class: colour }),
      makeSvg("text", { x: at.x, y: at.y, "font-size": size * 0.78, dy: "0.35em" }, String(rank)),
    );
  });
}
