"""`python -m deepbinaries` is the command `deepbinaries`."""

from deepbinaries.cli import main

main()
