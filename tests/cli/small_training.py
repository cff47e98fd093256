"""A training on generated scenes that learns little in little time."""

import pytest

from deepbinaries.cli import main

VISION = ("side=64", "keep=4")
METHOD = ("hidden=16", "fc=16", "maps=8", "batch=16", "epochs=2")
DATA = ("scenes", "--dataset-set", "items=60", "--device", "cpu")


def small(*method: str) -> list[str]:
    """The options of a training with these settings of the method."""
    return [
        *(*DATA, "--bits", "16"),
        *(part for setting in VISION for part in ("--vision", setting)),
        *(part for setting in method for part in ("--set", setting)),
    ]


SMALL = small(*METHOD)


def run(*arguments: object) -> int:
    """The exit code of a command."""
    with pytest.raises(SystemExit) as left:
        main(list(map(str, arguments)))
    return left.value.code
