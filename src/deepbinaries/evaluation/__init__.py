"""Mean average precision that can be trusted: named rules, exact ties, chance, intervals and code health."""

from deepbinaries.evaluation.average_precision import average_precision, chance
from deepbinaries.evaluation.buckets import Buckets, of_codes, of_costs
from deepbinaries.evaluation.comparison import Difference, compare, compare_table, holm
from deepbinaries.evaluation.health import Health, agreement, health
from deepbinaries.evaluation.of_parts import evaluate_parts
from deepbinaries.evaluation.relevance import PairedItems, Relevance, SharedLabels, own_rows
from deepbinaries.evaluation.report import Report, SavedScores, Score
from deepbinaries.evaluation.rules import Rules
from deepbinaries.evaluation.scoring import Extras, evaluate, evaluate_values
from deepbinaries.evaluation.uncertainty import Interval, Spread, over_queries, over_seeds, over_seeds_and_queries

__all__ = [
    "Buckets",
    "Difference",
    "Extras",
    "Health",
    "Interval",
    "PairedItems",
    "Relevance",
    "Report",
    "Rules",
    "SavedScores",
    "Score",
    "SharedLabels",
    "Spread",
    "agreement",
    "average_precision",
    "chance",
    "compare",
    "compare_table",
    "evaluate",
    "evaluate_parts",
    "evaluate_values",
    "health",
    "holm",
    "of_codes",
    "of_costs",
    "over_queries",
    "over_seeds",
    "over_seeds_and_queries",
    "own_rows",
]
