"""How two things lie to each other, judged by their boxes."""

from collections.abc import Callable

from deepbinaries.datasets.scenes.composition import Thing


def is_left_of(a: Thing, b: Thing) -> bool:
    """The middle of each lies beside the other, and neither is much higher."""
    (a0, top, a1, bottom), (b0, ceiling, b1, floor) = a.box, b.box
    return a0 + a1 < 2 * b0 and 2 * a1 < b0 + b1 and min(bottom, floor) > max(top, ceiling)


def is_above(a: Thing, b: Thing) -> bool:
    """a flies higher than all of b, and half of the narrower one lies over or under the other."""
    (a0, _, a1, bottom), (b0, ceiling, b1, _) = a.box, b.box
    return a.flies and bottom <= ceiling and 2 * (min(a1, b1) - max(a0, b0)) > min(a1 - a0, b1 - b0)


def is_next_to(a: Thing, b: Thing) -> bool:
    """Both stand at nearly the same distance, side by side with little room between them."""
    (a0, _, a1, bottom), (b0, _, b1, floor) = a.box, b.box
    return not (a.flies or b.flies) and abs(bottom - floor) < 24 and -8 < max(a0, b0) - min(a1, b1) < 32


def is_in_front_of(a: Thing, b: Thing) -> bool:
    """Both stand, a is nearer and covers a part of b."""
    (a0, top, a1, bottom), (b0, ceiling, b1, floor) = a.box, b.box
    overlap = max(0, min(a1, b1) - max(a0, b0)) * max(0, min(bottom, floor) - max(top, ceiling))
    return not (a.flies or b.flies) and bottom > floor and 20 * overlap > (b1 - b0) * (floor - ceiling)


def turned(relation: Callable[[Thing, Thing], bool]) -> Callable[[Thing, Thing], bool]:
    """The same relation, seen from the other thing."""
    return lambda a, b: relation(b, a)


RELATIONS = {
    "left of": is_left_of,
    "right of": turned(is_left_of),
    "above": is_above,
    "below": turned(is_above),
    "next to": is_next_to,
    "in front of": is_in_front_of,
    "behind": turned(is_in_front_of),
}
