"""How far two spellings are apart, and which known one a mistyped word may mean."""

from collections.abc import Iterable


def edits(a: str, b: str) -> int:
    """The fewest insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`.

    No character is touched twice (the optimal string alignment), which is what typing errors are like.

    >>> edits("dgo", "dog"), edits("elefant", "elephant")
    (1, 2)
    """
    before: list[int] = []  # the row of a[: i - 2]; the first swap is possible from the second row on
    above = list(range(len(b) + 1))
    for i in range(1, len(a) + 1):
        row = [i]
        for j in range(1, len(b) + 1):
            cost = min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] != b[j - 1]))
            if i > 1 and j > 1 and a[i - 2] == b[j - 1] and a[i - 1] == b[j - 2]:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        before, above = above, row
    return above[-1]


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known spelling with the fewest edits, or None when more than a third of the letters would change.

    Among equally near ones the first wins, so give the most frequent first.

    >>> nearest("bycicle", ["circle", "bicycle"]), nearest("xylophone", ["circle", "bicycle"])
    ('bicycle', None)
    """
    limit = min(len(word) // 3, 3)
    best, letters = None, set(word)
    for candidate in known:
        if candidate == word:
            return candidate
        # An edit brings at most one letter and takes one away: most words are too far without being compared.
        near = abs(len(candidate) - len(word)) <= limit and len(letters.symmetric_difference(candidate)) <= 2 * limit
        if near and (distance := edits(word, candidate)) <= limit:
            # From here on only a strictly nearer spelling is looked for.
            best, limit = candidate, distance - 1
    return best
