// Elements are made of texts, never of markup: a caption that says <script> is shown as it stands.

export const byId = (id) => document.getElementById(id);

export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in element) element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
}

export function makeSvg(tag, properties = {}, text = "") {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(properties)) element.setAttribute(name, value);
  element.textContent = text;
  return element;
}

export const count = (n, one, several = `${one}s`) => `${n.toLocaleString()} ${n === 1 ? one : several}`;

export function milliseconds(time) {
  return time < 10 ? `${time.toFixed(1)} ms` : time < 1000 ? `${Math.round(time)} ms` : `${(time / 1000).toFixed(1)} s`;
}

export function duration(seconds) {
  if (seconds < 60) return `${Math.max(1, Math.round(seconds))} s`;
  return seconds < 3600 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

export function day(date) {
  const [year, month, dayOfMonth] = date.slice(0, 10).split("-").map(Number);
  if (!year) return "";
  return new Date(year, month - 1, dayOfMonth).toLocaleDateString(undefined, { year: "numeric", month: "long", day: "numeric" });
}

// How near an item is, as a bar: full for equal codes, empty for what chance gives, half of the bits.
export function nearness(distance, bits, words) {
  const bar = make("span", { className: "near", title: `${distance} of ${bits} bits differ` }, make("span"));
  bar.firstChild.style.setProperty("width", `${Math.max(0, 1 - (2 * distance) / bits) * 100}%`);
  return make("span", { className: "distance" }, bar, make("span", {}, words ?? count(distance, "bit")));
}
