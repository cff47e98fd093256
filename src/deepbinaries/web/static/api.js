// Asking the server. Whatever goes wrong comes as one kind of error, with words for people.

export const MOST_BYTES = 32 * 2 ** 20;

export class Refusal extends Error {
  constructor(problem, nextStep, status = 0) {
    super(problem);
    this.nextStep = nextStep;
    this.status = status;
  }
}

async function ask(address, options = {}) {
  let response;
  try {
    response = await fetch(address, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refusal("The server does not answer.", "Is it still running? Start it again and try once more.");
  }
  if (response.ok) return response.json();
  let said = {};
  try {
    said = (await response.json()).error ?? {};
  } catch {
    // an answer without words
  }
  throw new Refusal(said.problem ?? `The server answers ${response.status}.`, said.next_step ?? "Try again.", response.status);
}

const options = (state, offset, k) => {
  const chosen = new URLSearchParams({ k, offset });
  for (const name of ["since", "until", "folder", "sort", "kind", "least"]) if (state[name]) chosen.set(name, state[name]);
  if (state.unfold) chosen.set("unfold", "true");
  return chosen;
};

export function search(state, picture, offset, k, signal) {
  const chosen = options(state, offset, k);
  if (state.picture) {
    const type = picture.type.startsWith("image/") ? picture.type : "application/octet-stream";
    return ask(`/v1/search?${chosen}`, { method: "POST", body: picture, headers: { "content-type": type }, signal });
  }
  chosen.set(state.like ? "like" : "q", state.like || state.q);
  return ask(`/v1/search?${chosen}`, { signal });
}

const one = (id) => `/v1/items/${encodeURIComponent(id)}`;

export const status = () => ask("/v1/status");
export const failures = () => ask("/v1/failures");
export const item = (id) => ask(one(id));
export const regions = (id, signal) => ask(`${one(id)}/regions`, { signal });
export const thumbnail = (id) => `${one(id)}/thumbnail`;
export const picture = (id) => `${one(id)}/picture`;
