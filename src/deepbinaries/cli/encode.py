"""`deepbinaries encode`: codes of pictures or of sentences, by a trained model."""

import os
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deepbinaries.cli.collection_options import VARIABLE, Bits, ModelAt
from deepbinaries.cli.output import AsJson, complain, free_file, write_json, write_text
from deepbinaries.cli.train import BackboneWeights, Device, ProposerPath
from deepbinaries.errors import DataError, PictureError, UsageError
from deepbinaries.files import read_json, read_lines, write_array, written_whole
from deepbinaries.progress import track

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from PIL.Image import Image

    from deepbinaries.model import Model

BATCH = 32  # pictures in memory at a time
SHOWN = 10  # complaints of one kind


def encode(
    pictures: Annotated[
        list[str] | None,
        typer.Argument(help="Pictures, or folders of them; a model's folder or name in front is --model."),
    ] = None,
    model: ModelAt = None,
    bits: Bits = None,
    texts: Annotated[Path | None, typer.Option(help="Sentences, one a line, instead of pictures.")] = None,
    out: Annotated[Path, typer.Option(help="The codes (.npy) to write; their ids go beside them.")] = Path("codes.npy"),
    values: Annotated[
        bool, typer.Option("--values", help="Write the real values whose signs are the codes, float32.")
    ] = False,
    device: Device = "auto",
    backbone_weights: BackboneWeights = None,
    proposer_path: ProposerPath = None,
    as_json: AsJson = False,
) -> None:
    """Write codes, and the path or the line number of each row in NAME.ids.txt.

    A picture that cannot be read is named and left out. Example: deepbinaries encode ~/Pictures --out codes.npy
    """
    from deepbinaries.model import Model
    from deepbinaries.pretrained import place_of

    pictures = list(pictures or ())
    if model is None and pictures and _is_model(pictures[0]):
        model = pictures.pop(0)
    if bool(pictures) == (texts is not None):
        raise UsageError("it is not clear what to encode", next_step="give pictures, or a file of --texts")
    if out.suffix != ".npy":
        raise UsageError(f"{out} is no name for codes", next_step="let it end in .npy")
    ids_path = out.with_suffix(".ids.txt")
    written = [free_file(path) for path in (out, out.with_name(f"{out.name}.json"), ids_path)]
    place = place_of(_chosen(model))
    opened = Model.from_pretrained(
        place, bits=bits, device=device, backbone_weights=backbone_weights, proposer_path=proposer_path
    )
    left_out = 0
    if texts is not None:
        ids, found = _encode_texts(opened, texts)
    else:
        files = picture_files(map(Path, pictures))
        ids, found = _encode_pictures(opened, files)
        left_out = len(files) - len(ids)
    with _all_or_none(*written):
        _write(found, out, values)
        with written_whole(ids_path) as file:
            file.write(b"".join(os.fsencode(id_) + b"\n" for id_ in ids))
    facts: dict[str, Any] = {"codes": str(out), "ids": str(ids_path), "items": len(ids), "left_out": left_out}
    facts |= {"bits": opened.bits, **_name_and_digest(place)}
    if as_json:
        write_json(facts)
    else:
        write_text("\n".join(f"{name.replace('_', ' ')}: {value}" for name, value in facts.items()))


def _is_model(name: str) -> bool:
    """Whether what stands in front is a model and no picture; refused where it may be either, or is neither."""
    from deepbinaries.model_folder import is_model
    from deepbinaries.pretrained import names

    of_package, there = name in names(), Path(name).exists()
    if not of_package and not there:
        raise UsageError(
            f"no model and no picture is called {name!r}", next_step="check the path, or name the model by --model"
        )
    if of_package and there:
        raise UsageError(
            f"{name} is a model of the package, and here something else is called so",
            next_step=f"write --model {name} for the model, ./{name} for what is here",
        )
    return of_package or is_model(Path(name))


def _chosen(model: str | None) -> str:
    from deepbinaries.pretrained import default

    chosen = model or os.environ.get(VARIABLE) or default()
    if chosen is None:
        raise UsageError("no model was given to encode by", next_step="give --model FOLDER, as `train` writes it")
    return chosen


def _name_and_digest(place: Path) -> dict[str, str]:
    """Which model it was: its name or its folder, and the digest of all that it is."""
    from deepbinaries.model_folder import CONFIG
    from deepbinaries.pretrained import name_of

    return {"model": name_of(place) or str(place), "model_sha256": read_json(place / CONFIG)["sha256"]}


def _write(found: "NDArray[Any]", out: Path, as_values: bool) -> None:
    from deepbinaries.codes import Codes, save

    if not as_values:
        save(Codes.from_values(found), out)
        return
    with written_whole(out) as file:
        write_array(found, file)


@contextmanager
def _all_or_none(*paths: Path) -> Iterator[None]:
    """Leave none of the files where one cannot be written: half a result would be in the way of the next try."""
    try:
        yield
    except BaseException:
        for path in paths:
            path.unlink(missing_ok=True)
        raise


def picture_files(paths: Iterable[Path]) -> list[Path]:
    """The files, and those pictures that lie in the folders and below."""
    from deepbinaries.datasets.formats import SUFFIXES

    files: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = (file for file in path.rglob("*") if file.suffix.lower().lstrip(".") in SUFFIXES)
            files += sorted(file for file in inside if file.is_file())
        else:
            files.append(path)
    if not files:
        raise DataError("there are no pictures in these folders", next_step="give others")
    return files


def _encode_pictures(model: "Model", files: list[Path]) -> "tuple[list[str], NDArray[Any]]":
    import numpy as np

    from deepbinaries.features.in_order import in_order

    ids: list[str] = []
    parts = []
    # While one batch is encoded, threads decode the next.
    with closing(in_order(partial(_read, model), files, workers=os.cpu_count() or 1, ahead=2 * BATCH)) as read:
        for start in track(range(0, len(files), BATCH), "encoding pictures"):
            some = files[start : start + BATCH]
            pictures = []
            for path, picture in zip(some, islice(read, len(some)), strict=True):
                if isinstance(picture, PictureError):
                    complain(f"left out: {picture}")
                else:
                    ids.append(str(path))
                    pictures.append(picture)
            parts.append(model.encode_images(pictures, values=True))
    if not ids:
        raise DataError(f"none of {len(files):,} pictures can be read", next_step="give others")
    return ids, np.concatenate(parts)


def _read(model: "Model", path: Path) -> "Image | PictureError":
    if "\n" in str(path):  # ids are lines
        return PictureError(f"{path} has a line break in its name", next_step="rename it")
    try:
        return model.read(path)
    except PictureError as error:
        return error


def _encode_texts(model: "Model", path: Path) -> "tuple[list[str], NDArray[Any]]":
    sentences = read_lines(path)
    if not sentences:
        raise DataError(f"{path} holds no sentence", next_step="write one a line")
    lost = [line for line, sentence in enumerate(sentences, start=1) if not model.reading(sentence).understood]
    for line in lost[:SHOWN]:
        complain(f"{path}, line {line}: {model.reading(sentences[line - 1])}; its code means nothing")
    if len(lost) > SHOWN:
        complain(f"{path}: {len(lost) - SHOWN:,} more lines without a known word")
    return [str(line) for line in range(1, len(sentences) + 1)], model.encode_texts(sentences, values=True)
