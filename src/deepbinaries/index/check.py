"""`check_index`: the contract of an index as a check that anybody's own can be put through."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from deepbinaries.codes import Codes, concatenate
from deepbinaries.errors import Error, UsageError
from deepbinaries.index.base import Answer, Index

LENGTHS = (1, 7, 8, 63, 64, 65, 128, 1000, 1024)

# Orders of ids that go wrong easily: bytes are not letters, nor numbers, nor what a language makes of them.
HARD_IDS = (
    "b",
    "a",
    "B",
    "aa",
    "10",
    "9",
    "é",
    "e\u0301",
    "z",
    "Ω",
    "😀",
    "\ufffd",
    " a",
    "a ",
    "a_",
    "a-b",
    "ab",
    "'\"%;",
)


def check_index(make: Callable[[str, int], Index], *, lengths: Sequence[int] = LENGTHS, seed: int = 0) -> None:
    """Prove that an index keeps the contract; stop at the first broken promise.

    `make(name, bits)` opens the index of a name for writing, and makes it where there is none yet.
    """
    rng = np.random.default_rng(seed)
    for bits in lengths:
        with make(f"check-{bits}", bits) as index:
            _check_answers(index, bits, rng)
            items = _items(index)
        with make(f"check-{bits}", bits) as index:
            _promise(_items(index) == items, "an index that is opened again must hold what it held")
    with make("check-refusals", 8) as index:
        _check_refusals(index)


def _check_answers(index: Index, bits: int, rng: np.random.Generator) -> None:
    _promise(index.bits == bits and len(index) == 0, "a new index has the length asked for, and no items")
    model: dict[str, bytes] = {}
    _compare(index, model, bits, rng)
    ids = [*HARD_IDS, *(f"item-{number}" for number in range(60))]
    for part in np.array_split(rng.permutation(len(ids)), 3):  # in no order, in several calls
        chosen = [ids[place] for place in part]
        codes = _codes(len(chosen), bits, rng)
        index.add(chosen, codes)
        model.update(_by_id(chosen, codes))
        _compare(index, model, bits, rng)
    gone = [ids[place] for place in rng.permutation(len(ids))[:25]]
    _promise(index.remove([*gone, "never-there"]) == 25, "remove says how many items were there")
    _promise(index.remove(gone) == 0, "what was removed is not there a second time")
    for id_ in gone:
        del model[id_]
    _compare(index, model, bits, rng)
    again = [*gone[:10], *list(model)[:10]]
    codes = _codes(len(again), bits, rng)
    for _ in range(2):
        index.replace(again, codes)  # new and known ones together; and repeating it changes nothing
        model.update(_by_id(again, codes))
        _compare(index, model, bits, rng)


def _compare(index: Index, model: dict[str, bytes], bits: int, rng: np.random.Generator) -> None:
    """Compare what an index answers with what a full sort does."""
    order = sorted(model, key=str.encode)
    _promise(len(index) == len(model) and list(index.ids()) == order, "the index must know its items, in byte order")
    if model:
        stored = index.codes_of(order[::-1])
        _promise(_by_id(order[::-1], stored) == model, "codes_of must give the codes that were added")
    queries = concatenate([_codes(3, bits, rng), *([stored[:1]] if model else [])])
    _promise(len(index.search(queries[:0], k=3)) == 0, "no queries have no answers")
    for k in (1, 5, len(model) + 10):
        _check_nearest(index, model, queries, k)
    for radius in (0, bits // 3, bits):
        _check_range(index, model, queries, radius)
    some = [*order[::3], "never-there"]
    among = {id_: model[id_] for id_ in some if id_ in model}
    for hits, query in zip(index.search(queries, k=4, among=some), queries.packed, strict=True):
        _promise([(d, i) for i, d in hits] == _ranking(among, query)[:4], "`among` must restrict the search to its ids")


def _check_nearest(index: Index, model: dict[str, bytes], queries: Codes, k: int) -> None:
    answer, whole = index.search(queries, k=k), index.search(queries, k=k, with_ties=True)
    _check_certificate(answer, model)
    for q, query in enumerate(queries.packed):
        ranking = _ranking(model, query)
        edge = ranking[: len(answer[q])][-1][0] if model else 0
        shell = [pair for pair in ranking if pair[0] <= edge]
        _promise([(d, i) for i, d in answer[q]] == ranking[:k], "the nearest items must come in (distance, id) order")
        _promise([(d, i) for i, d in whole[q]] == shell, "`with_ties` must give all items at the last distance")
        left_out = answer.certificate.ties_left_out[q]
        _promise(left_out == len(shell) - len(answer[q]), "the certificate must count the ties that were left out")
        radius = answer.certificate.radius[q]
        _promise(radius == (edge if len(model) > k else index.bits), "the certificate must know how far it looked")


def _check_range(index: Index, model: dict[str, bytes], queries: Codes, radius: int) -> None:
    answer = index.range(queries, radius=radius)
    _check_certificate(answer, model)
    for q, query in enumerate(queries.packed):
        inside = [pair for pair in _ranking(model, query) if pair[0] <= radius]
        _promise(
            [(d, i) for i, d in answer[q]] == inside, "a range must give every item within, in (distance, id) order"
        )
        of_query = answer.certificate.radius[q], answer.certificate.ties_left_out[q]
        _promise(of_query == (radius, 0), "a range leaves nothing out")


def _check_certificate(answer: Answer, model: dict[str, bytes]) -> None:
    stated = answer.certificate
    _promise(stated.exact, "answers are exact unless something else was asked for")
    _promise(stated.rows_scanned >= len(model) and stated.milliseconds > 0, "a certificate counts rows and time")


def _check_refusals(index: Index) -> None:
    codes = Codes.from_bits(np.eye(8, dtype=int))
    index.add(["a", "b"], codes[:2])
    wrong: dict[str, Callable[[], Any]] = {
        "an id that is there": lambda: index.add(["c", "a"], codes[:2]),
        "an id that is given twice": lambda: index.add(["c", "c"], codes[:2]),
        "codes of another length": lambda: index.add(["c"], Codes.from_bits([[1]])),
        "more codes than ids": lambda: index.add(["c"], codes[:2]),
        "an empty id": lambda: index.add(["c", ""], codes[:2]),
        "an id with a NUL": lambda: index.add(["c", "a\0b"], codes[:2]),
        "an id that is no Unicode": lambda: index.replace(["c", "\ud800"], codes[:2]),
        "one text in place of several ids": lambda: index.add("cd", codes[:2]),
        "a query of another length": lambda: index.search(Codes.from_bits([[1]]), k=1),
        "k=0": lambda: index.search(codes, k=0),
        "a negative radius": lambda: index.range(codes, radius=-1),
        "the code of an id that is not there": lambda: index.codes_of(["a", "c"]),
    }
    for what, call in wrong.items():
        _refuses(call, f"{what} must raise one of our errors")
        _promise(list(index.ids()) == ["a", "b"], f"{what} must change nothing")
    _promise("a" in index and "c" not in index, "`in` must know what is there")


def _codes(n: int, bits: int, rng: np.random.Generator) -> Codes:
    """Codes of which many are equal and most are near each other, so that distances are tied."""
    centres = rng.integers(0, 2, (4, bits))
    chosen = centres[rng.integers(0, len(centres), n)]
    flipped = rng.random((n, bits)) < rng.choice([0, 1 / bits], (n, 1))
    return Codes.from_bits(chosen ^ flipped)


def _by_id(ids: Sequence[str], codes: Codes) -> dict[str, bytes]:
    return {id_: row.tobytes() for id_, row in zip(ids, codes.packed, strict=True)}


def _items(index: Index) -> dict[str, bytes]:
    ids = list(index.ids())
    return _by_id(ids, index.codes_of(ids))


def _ranking(model: dict[str, bytes], query: Any) -> list[tuple[int, str]]:
    """Every item with its distance, by a full sort."""
    as_number = int.from_bytes(query.tobytes())
    pairs = [((int.from_bytes(code) ^ as_number).bit_count(), id_) for id_, code in model.items()]
    return sorted(pairs, key=lambda pair: (pair[0], pair[1].encode()))


def _promise(kept: bool, broken: str) -> None:
    if not kept:
        raise UsageError("the index breaks its contract", next_step=broken)


def _refuses(call: Callable[[], Any], broken: str) -> None:
    try:
        call()
    except Error:
        return
    except Exception as error:
        raise UsageError(f"the index breaks its contract ({error!r})", next_step=broken) from error
    raise UsageError("the index breaks its contract", next_step=broken)
