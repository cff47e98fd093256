"""What a result was made with."""

import platform
import sys

from deepbinaries import __version__

NAMED = ("numpy", "torch")  # where they were used


def versions() -> dict[str, str]:
    """The releases of the package, of Python, and of what computes, by name.

    >>> sorted(versions())[:2]
    ['deepbinaries', 'numpy']
    """
    found = {"deepbinaries": __version__, "python": platform.python_version()}
    return found | {name: str(sys.modules[name].__version__) for name in NAMED if name in sys.modules}
