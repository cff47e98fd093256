"""The command line: a thin face over the library."""

from deepbinaries.cli.main import main

__all__ = ["main"]
