"""The command `deepbinaries`.

Exit codes, everywhere: 0 done, 1 nothing found or a check failed, 2 wrong use, 3 any other error,
130 interrupted.
"""

import os
import sys
from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, cast

import typer

from deepbinaries import __version__
from deepbinaries.cli.adopt import adopt
from deepbinaries.cli.collection import status, verify
from deepbinaries.cli.compare import compare
from deepbinaries.cli.copy_index import copy_index
from deepbinaries.cli.dataset import app as dataset_app
from deepbinaries.cli.demo import demo
from deepbinaries.cli.download import download
from deepbinaries.cli.encode import encode
from deepbinaries.cli.encode_many import encode_many
from deepbinaries.cli.evaluate import evaluate
from deepbinaries.cli.export import export
from deepbinaries.cli.index import import_codes, index, watch
from deepbinaries.cli.output import AsJson, complain, write_json, write_table, write_text
from deepbinaries.cli.report import app as report_app
from deepbinaries.cli.reproduce import reproduce
from deepbinaries.cli.search import Searching, search
from deepbinaries.cli.serve import serve
from deepbinaries.cli.train import train
from deepbinaries.errors import Error, UsageError
from deepbinaries.registry import KINDS

NOTHING, USAGE, FAILURE, INTERRUPTED = 1, 2, 3, 130

# Some releases of typer carry a copy of click, others depend on it: this is the parent of either's usage errors.
WrongUse = cast("type[Exception]", typer.BadParameter.__bases__[0])

app = typer.Typer(
    name="deepbinaries",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help: boxes leave no room for words
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Photographs and sentences as short binary codes, so that one finds the other.",
    epilog="Exit codes: 0 done, 1 nothing found or a check failed, 2 wrong use, 3 any other error.",
)
app.command()(demo)
app.command()(index)
app.command(cls=Searching)(search)
app.command()(serve)
app.command()(status)
app.command()(watch)
app.command()(verify)
app.command("import-codes")(import_codes)
app.command("copy-index")(copy_index)
app.add_typer(dataset_app, name="dataset")
app.command()(train)
app.command()(export)
app.command()(adopt)
app.command()(encode)
app.command("encode-many")(encode_many)
app.command()(evaluate)
app.command()(compare)
app.command()(reproduce)
app.add_typer(report_app, name="report")
app.command()(download)


class Kind(StrEnum):
    """What can be listed."""

    METHODS = "methods"
    DATASETS = "datasets"
    BACKBONES = "backbones"
    PROPOSERS = "proposers"
    INDEXES = "indexes"


def _print_version(wanted: bool) -> None:
    if wanted:
        write_text(f"deepbinaries {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _options(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    del version  # its callback has answered
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(USAGE)


@app.command("list")
def list_names(
    kind: Annotated[Kind, typer.Argument(help="What to list.")],
    as_json: AsJson = False,
) -> None:
    """List the known methods, datasets, backbones, proposers or indexes.

    Example: deepbinaries list datasets
    """
    entries = KINDS[kind.value].entries
    if as_json:
        write_json([{"name": name, "summary": entry.summary, "extra": entry.extra} for name, entry in entries.items()])
    else:
        write_table(["name", "what it is"], [[name, entry.summary] for name, entry in entries.items()])


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit code; every error becomes one line with the next step."""
    # Torch's threads wait for each other in a loop. Beside another program on the same cores, a training of half a
    # second took a hundred seconds; with a short loop it takes one, and alone it is as fast as before.
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")
    sys.exit(_run(arguments))


def _run(arguments: Sequence[str] | None) -> int:
    try:
        code = app(args=arguments, prog_name="deepbinaries", standalone_mode=False)
        if code == INTERRUPTED:  # some releases of typer answer Ctrl-C themselves
            raise KeyboardInterrupt
        return code if isinstance(code, int) else 0
    except UsageError as error:
        return _refuse(str(error), USAGE)
    except Error as error:
        return _refuse(str(error), FAILURE)
    except (typer.Abort, KeyboardInterrupt):
        return _refuse("interrupted; run the command again", INTERRUPTED)
    except WrongUse as error:
        context = getattr(error, "ctx", None)
        where = context.command_path if context else "deepbinaries"
        return _refuse(f"{_message(error).rstrip('.?')}; see `{where} --help`", USAGE)
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        return _refuse(f"{place}{error.strerror or error}; check the path, its permissions and the free space", FAILURE)
    except Exception as error:
        if os.environ.get("DEEPBINARIES_DEBUG"):
            raise
        what = f"{type(error).__name__}: {error}"
        return _refuse(
            f"a mistake in deepbinaries ({what}); run again with DEEPBINARIES_DEBUG=1 and report it", FAILURE
        )


def _message(error: Exception) -> str:
    return str(error.format_message()) if hasattr(error, "format_message") else str(error)


def _refuse(message: str, code: int) -> int:
    complain("deepbinaries: " + " ".join(message.split()))
    return code
