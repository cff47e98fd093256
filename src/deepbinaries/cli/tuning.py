"""`deepbinaries train --tune`: settings chosen on the validation part, as the paper's cross-validation does."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deepbinaries.cli.learning import apart, has_patience, learn
from deepbinaries.cli.output import complain

if TYPE_CHECKING:
    from deepbinaries.features import Prepared


def tune(
    grid: list[dict[str, Any]],
    make: Callable[[dict[str, Any]], Any],
    prepared: "Prepared",
    workplace: Callable[[Any], Path],
    *,
    tensorboard: Path | None = None,
) -> dict[str, Any]:
    """The table of what each combination of settings earns, and the best of them; of equals the first.

    Each is learnt from the training part without the validation part, whose items then ask those learnt from.
    Queries are not looked at.
    """
    from deepbinaries.hashers.validation import validate

    pairs, validation = apart(prepared, wanted_by="--tune")
    table: list[dict[str, Any]] = []
    for combination in grid:
        hasher, name = make(combination), in_words(combination)
        learn(
            hasher,
            pairs,
            validation if has_patience(hasher) else None,
            workplace(hasher),
            tensorboard=tensorboard and tensorboard / name.replace("/", "_"),
            heading=f"{name}: ",
        )
        scores = validate(hasher.encode, pairs, validation)
        table.append({"settings": combination, **scores, "mean": round(sum(scores.values()) / len(scores), 5)})
        figures = ", ".join(f"{score.replace('_', ' ')} {value:.4f}" for score, value in scores.items())
        complain(f"{name}: {figures}, mean {table[-1]['mean']:.4f}")
    best = max(table, key=lambda row: row["mean"])
    complain(f"chosen: {in_words(best['settings'])}")
    return {"chosen": best["settings"], "table": table}


def in_words(settings: dict[str, Any]) -> str:
    """Settings as they are written on a command line.

    >>> in_words({"eta": 0.3, "update": "gram"})
    'eta=0.3 update=gram'
    >>> in_words({})
    'nothing changed'
    """
    return " ".join(f"{name}={value}" for name, value in settings.items()) or "nothing changed"
