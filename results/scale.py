"""Which engine, how many machines, bytes, milliseconds and money for 10^5 to 10^10 codes: writes `scale.md`.

    python results/scale.py

Everything comes from what `benchmarks/` has recorded. What is larger than what was measured is multiplied, and marked.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
RECORDED = HERE.parent / "benchmarks" / "results"
PAGE = HERE / "scale.md"

BITS = 128
PRICE = 20  # of a rented machine with 2 cores and 8 GB for a month, in euros: assumed
OF_A_MACHINE = 62_500_000  # codes, where there are several
POWERS = range(5, 11)  # of ten
ON_ONE = 10**8  # codes at most that are searched in a folder

TEXT = """\
# From 10^5 to 10^10 codes

Written by `python results/scale.py` from [what was measured](../benchmarks/results/README.md) on 2 cores. Codes of
{bits} bits with their ids, exact search, the 10 nearest; in a folder by one thread. How to set up each engine:
[docs/scale.md](../docs/scale.md).

| codes | engine | machines | bytes | of each | one query, ms | 64 at once, ms a query | € a month | encoding, days | |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
{sizes}

- **Measured** are up to {largest} codes.
- **In proportion** means: what {largest} codes take, times the number of codes on a machine. Every machine is taken to
  be as fast as the measured one, and Ray to take {call} ms more, as long as a query to 10^6 codes took there in all.
  That ten times the codes take ten times as long was measured with 64 bits: {ten_million} ms for 10^7 codes,
  {hundred_million} ms for 10^8. Not measured: the network between machines, a network disk, more than one real machine.
- **Machines**: beyond 10^8 codes one for every {of_a_machine}. A scan is as fast as memory is read, so twice as many
  machines answer in half the time. Each needs its bytes in memory; with two replicas, twice as many.
- **Money**: {price} € a month are assumed for a machine with 2 cores and 8 GB. Put in your own price.
- **Encoding**: days of one such machine without a GPU for as many pictures, at the {rate} a second of the plain loop.

## The same {items} codes on each engine

| engine | codes copied a second | bytes a code | queries answered alike | one query, ms | 100 at once, ms a query |
| --- | --- | --- | --- | --- | --- |
{engines}

All on one machine and its disk, by the clock, with as many cores as each takes; Milvus is the embedded one. PostgreSQL
and Milvus look at every code as well: ten times the codes take ten times as long. Take them for where the data belong.

## Pictures a second

| by | pictures a second | seconds to start |
| --- | --- | --- |
{ways}

On 2 cores, of which the plain loop uses both. Ray is for more machines than one.
"""


class Measured(NamedTuple):
    """What was measured of the index in a folder, by one thread."""

    items: int
    single: float  # milliseconds of one query
    batch: float  # milliseconds of each of 64 queries that are asked together
    n_bytes: float  # of a code and its id


class Row(NamedTuple):
    """What so many codes need."""

    items: int
    machines: int
    n_bytes: float
    single: float  # milliseconds
    batch: float
    measured: bool


def recorded(name: str) -> Any:
    """The figures of a benchmark."""
    return json.loads((RECORDED / f"{name}.json").read_text(encoding="utf-8"))["figures"]


def measured() -> list[Measured]:
    """The sizes that were measured, the smallest first."""
    cells = [cell for cell in recorded("search")["cells"] if (cell["kind"], cell["bits"]) == ("uniform", BITS)]
    names = ("items", "index single, ms a query", "index batch, ms a query", "bytes an item")
    return sorted(Measured(*(cell[name] for name in names)) for cell in cells)


def planned(items: int, known: list[Measured], call: float) -> Row:
    """What so many codes need: as measured, or else in proportion to the largest size that was.

    `call` are the milliseconds for which a question to a cluster takes longer than one to a folder.
    """
    for one in known:
        if one.items == items:
            return Row(items, 1, items * one.n_bytes, one.single, one.batch, measured=True)
    largest = known[-1]
    machines = 1 if items <= ON_ONE else -(-items // OF_A_MACHINE)
    times = items / machines / largest.items
    single = largest.single * times + (call if machines > 1 else 0)
    return Row(items, machines, items * largest.n_bytes, single, largest.batch * times, measured=False)


def page() -> str:
    """The page."""
    engines, ways = recorded("scale_index"), recorded("scale_encoding")["ways"]
    known, call = measured(), engines["engines"]["ray"]["single, median ms"]
    rate = ways["plain loop"]["pictures a second"]
    scans = [cell for cell in recorded("multi_index")["cells"] if cell["kind"] == "uniform"]
    of_scans = {cell["items"]: short(cell["scan, ms a query"]["median"]) for cell in scans}
    return TEXT.format(
        bits=BITS,
        sizes="\n".join(planned_lines(known, call, rate)),
        largest=f"{known[-1].items:,}",
        rate=short(rate),
        call=short(call),
        ten_million=of_scans[10**7],
        hundred_million=of_scans[10**8],
        of_a_machine=f"{OF_A_MACHINE:,}",
        price=PRICE,
        items=f"{engines['items']:,}",
        engines="\n".join(engine_lines(engines["engines"])),
        ways="\n".join(way_lines(ways)),
    )


def planned_lines(known: list[Measured], call: float, rate: float) -> Iterator[str]:
    """What each number of codes needs; `rate` pictures become codes in a second."""
    for power in POWERS:
        row = planned(10**power, known, call)
        cells = (
            f"10^{power}",
            "folder" if row.machines == 1 else "Ray",
            str(row.machines),
            amount(row.n_bytes),
            amount(row.n_bytes / row.machines),
            short(row.single),
            short(row.batch),
            f"{PRICE * row.machines:,}",
            short(row.items / rate / 86_400),
            "measured" if row.measured else "in proportion",
        )
        yield f"| {' | '.join(cells)} |"


def engine_lines(engines: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """What it takes to copy codes to each engine, and to search them there."""
    for name, of in engines.items():
        alike = f"{of['equal distances'] or 0:,} of {of['queries']:,}" if "queries" in of else "-"
        copied = f"{of['codes a second']:,.0f}" if "codes a second" in of else "-"
        waits = (short(of[kind]) for kind in ("single, median ms", "100 at once, ms a query"))
        yield f"| {name} | {copied} | {of['bytes a code']:.0f} | {alike} | {' | '.join(waits)} |"


def way_lines(ways: Mapping[str, Mapping[str, float]]) -> Iterator[str]:
    """How many pictures a second are encoded in each way."""
    for name, of in ways.items():
        yield f"| {name} | {short(of['pictures a second'])} | {short(of['seconds to start'])} |"


def amount(n_bytes: float) -> str:
    """Bytes, to be read.

    >>> amount(4_890_000_000)
    '4.9 GB'
    """
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if n_bytes >= size:
            return f"{n_bytes / size:.1f} {unit}"
    return f"{n_bytes:.0f} bytes"


def short(number: float) -> str:
    """A number with two digits that mean something.

    >>> short(0.0873), short(5.5885), short(949.3)
    ('0.087', '5.6', '949')
    """
    return f"{number:,.0f}" if number >= 10 else f"{number:.2g}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
