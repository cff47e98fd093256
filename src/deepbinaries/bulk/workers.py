"""Who encodes: this process alone, or processes of Ray."""

from dataclasses import dataclass

from deepbinaries.errors import UsageError


@dataclass(frozen=True)
class Workers:
    """Who works: so many processes of Ray, each with some cores and GPUs. None of them: this process alone."""

    n: int = 0
    cores: int = 1  # of each
    gpus: float = 0.0  # of each; a half lets two share one
    address: str | None = None  # of a cluster that runs already; None: this machine

    def __post_init__(self) -> None:
        if self.n < 0 or self.cores < 1 or self.gpus < 0:
            raise UsageError(
                f"{self.n} workers with {self.cores} cores and {self.gpus} GPUs each cannot be had",
                next_step="give whole workers, with a core or more for each",
            )
        if not self.n and (self.address or self.gpus):
            raise UsageError("a cluster was named, and no workers on it", next_step="give --workers too")
