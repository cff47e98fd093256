"""How often the paired picture is among the first k, ties counted by their expectation."""

import torch
from torch import Tensor


def recall_at(k: int, queries: Tensor, gallery: Tensor) -> float:
    """Of values (n, M) each, paired by row and compared by their signs.

    The pair is tied with `equal` items behind `nearer` ones: of these places k - nearer are among the first k.

    >>> recall_at(1, torch.tensor([[1.0, 1.0], [1.0, -1.0]]), torch.tensor([[1.0, 1.0], [2.0, 3.0]]))
    0.5
    """
    asking, stored = (torch.where(values >= 0, 1.0, -1.0) for values in (queries.float(), gallery.float()))
    scores = asking @ stored.T
    own = scores.diagonal()[:, None]
    nearer, equal = (scores > own).sum(1), (scores == own).sum(1)
    return float(((k - nearer) / equal).clamp(0, 1).mean())
