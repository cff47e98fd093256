"""What fills a code up when a method finds fewer directions than it has bits.

noise: as published results have it. Pictures get further directions that are uncorrelated with the found ones, texts
    get random ones; such bits agree by chance alone, and searches get worse with them.
constant: the further bits are the same for every item, so that searches are those of the shorter codes.
"""

import numpy as np

from deepbinaries.errors import unknown_name
from deepbinaries.hashers.views import Floats

PADDINGS = ("noise", "constant")


def check_padding(padding: str) -> None:
    """Refuse a padding that does not exist."""
    if padding not in PADDINGS:
        raise unknown_name("padding", padding, PADDINGS)


def pad(
    Wx: Floats, Wy: Floats, Rx: Floats, Ry: Floats, bits: int, *, padding: str, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Wx (dx, bits) and Wy (dy, bits): the given directions, cut or filled up; Rx Rx' and Ry Ry' are the covariances.

    >>> rng, one = np.random.default_rng(0), np.eye(1)
    >>> [W.tolist() for W in pad(one, one, one, one, 3, padding="constant", rng=rng)]
    [[[1.0, 0.0, 0.0]], [[1.0, 0.0, 0.0]]]
    """
    check_padding(padding)
    missing = bits - Wx.shape[1]
    if missing <= 0:
        return Wx[:, :bits], Wy[:, :bits]
    if padding == "constant":
        return np.pad(Wx, [(0, 0), (0, missing)]), np.pad(Wy, [(0, 0), (0, missing)])
    more_x, more_y = _uncorrelated(Wx, Rx, missing, rng), _of_unit_variance(rng.normal(size=(len(Wy), missing)), Ry)
    return np.hstack([Wx, more_x]), np.hstack([Wy, more_y])


def shortage(found: int, bits: int, padding: str) -> dict[str, str]:
    """A warning for the log where there are fewer directions than bits, nothing where there are enough.

    >>> shortage(9, 16, "noise")
    {'warning': 'the views have 9 directions in common: the other 7 of 16 bits are noise'}
    """
    if found >= bits:
        return {}
    text = f"the views have {found} directions in common: the other {bits - found} of {bits} bits are {padding}"
    return {"warning": text}


def _uncorrelated(W: Floats, R: Floats, missing: int, rng: np.random.Generator) -> Floats:
    """Directions of unit variance, uncorrelated with those in W while there are such; any after that."""
    drawn = rng.normal(size=(len(W), missing))
    free = max(min(missing, len(W) - W.shape[1]), 0)  # a sequence may have more directions than dimensions
    if free:
        drawn[:, :free] = np.linalg.qr(np.hstack([R.T @ W, drawn[:, :free]]))[0][:, W.shape[1] :]
        drawn[:, :free] = np.linalg.solve(R.T, drawn[:, :free])
    return _of_unit_variance(drawn, R)


def _of_unit_variance(W: Floats, R: Floats) -> Floats:
    lengths: Floats = np.linalg.norm(R.T @ W, axis=0)
    return W / lengths
