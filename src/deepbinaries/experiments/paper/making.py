"""Making any table or figure of the paper."""

from deepbinaries.experiments.paper.made import Made
from deepbinaries.experiments.paper.plans import Plan
from deepbinaries.experiments.paper.running import TaskOf, run_rows
from deepbinaries.experiments.paper.tables import made_of


def make(plan: Plan, task_of: TaskOf, paper: str) -> Made:
    """The table or figure of a plan; `paper` is the dataset's name among the printed numbers, "" where it has none."""
    match plan.drawn:
        case "epochs":
            from deepbinaries.experiments.paper.epochs import run_epochs

            return run_epochs(plan, task_of(None))
        case "time":
            from deepbinaries.experiments.paper.timing import run_times

            return run_times(plan, task_of(None))
        case "answers":
            from deepbinaries.experiments.paper.answers import run_answers

            return run_answers(plan, task_of(None))
        case _:
            placed = run_rows(plan, task_of)
            return made_of(plan, placed, task_of(plan.rows[0].keep), paper)
