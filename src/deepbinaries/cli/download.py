"""`deepbinaries download`: the one command that uses the network, and only for what it is asked for by name."""

from typing import Annotated

import typer

from deepbinaries.cli.output import write_text


def download(name: Annotated[str, typer.Argument(help="A backbone whose weights are published: alexnet.")]) -> None:
    """Fetch the published weights of a backbone, prove them by their SHA-256, and keep them in the user's cache.

    Example: deepbinaries download alexnet
    """
    from deepbinaries.vision.backbones import published

    fetched = published.download(name)
    facts = published.PUBLISHED[name]
    write_text(
        f"{name}: {'kept' if fetched else 'is there already'} (SHA-256 {facts.sha256}; licence: {facts.licence})"
    )
