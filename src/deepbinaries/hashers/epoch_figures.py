"""What the log says of an epoch of a deep method: the parts of its loss, and the health of the codes it gave."""

from typing import Any

import torch
from torch import Tensor

from deepbinaries.hashers.code_health import health_figures
from deepbinaries.hashers.updates import sign


class EpochFigures:
    """Sums over the batches of an epoch; they stay on the device until its end, so that no batch waits for them.

    >>> figures = EpochFigures(n_items=2, bits=4, device=torch.device("cpu"))
    >>> for row, loss in enumerate([1.0, 2.0]):
    ...     figures.note(torch.ones(1, 4), torch.ones(1, 4), torch.tensor([row]), cross=torch.tensor(loss))
    >>> found = figures.of_epoch()
    >>> found["loss_cross"], found["codes_distinct_codes"]
    (1.5, 1)
    """

    def __init__(self, n_items: int, bits: int, device: torch.device):
        self.F, self.G = torch.zeros(2, n_items, bits, device=device)  # what each item was last given
        self.sums: dict[str, Tensor] = {}
        self.batches = 0

    def note(self, F: Tensor, G: Tensor, rows: Tensor, **parts: Tensor) -> None:
        """Remember the values of a batch's pictures and sentences, and the parts of its loss."""
        self.F[rows], self.G[rows] = F.detach().float(), G.detach().float()
        self.batches += 1
        for name, part in parts.items():
            self.sums[name] = self.sums.get(name, torch.zeros_like(part)) + part.detach()

    def of_epoch(self) -> dict[str, Any]:
        """The means of all parts as `loss_...`, the health of the first pictures as `codes_...`; then all begins anew.

        Codes of sentences are looked at too: where they collapse and those of pictures do not, that is the warning.
        """
        means = {f"loss_{name}": float(total) / self.batches for name, total in self.sums.items()}
        self.sums, self.batches = {}, 0
        return means | health_figures(sign(self.F), {"sentences": sign(self.G)})
