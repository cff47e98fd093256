// What is shown is in the address, so that back, forward and a copied link work.

const NAMES = ["q", "like", "picture", "since", "until", "folder", "sort", "kind", "unfold", "least", "open"];

export function read() {
  const parameters = new URLSearchParams(location.search);
  return Object.fromEntries(NAMES.map((name) => [name, parameters.get(name) ?? ""]));
}

export function address(state) {
  const parameters = new URLSearchParams(NAMES.filter((name) => state[name]).map((name) => [name, state[name]]));
  const text = parameters.toString();
  return text ? `/?${text}` : "/";
}

export function write(state, { replace = false } = {}) {
  const change = replace ? history.replaceState : history.pushState;
  change.call(history, null, "", address(state));
}

// Whether two states show the same photographs; which of them is open does not matter.
export const sameSearch = (one, other) => NAMES.every((name) => name === "open" || one[name] === other[name]);
export const asks = (state) => Boolean(state.q || state.like || state.picture);
