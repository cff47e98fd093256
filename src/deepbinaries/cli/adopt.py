"""`deepbinaries adopt`: encoders that a user owns become a model."""

from pathlib import Path
from typing import Annotated

import typer

from deepbinaries.cli.output import AsJson, complain, free_path, write_json, write_text
from deepbinaries.errors import DataError, PictureError, UsageError

MOST_PICTURES = 20_000  # a head has few numbers, and learns nothing from more


def adopt(
    pictures: Annotated[list[Path], typer.Argument(help="Pictures to fit the head on, or folders of them.")],
    image: Annotated[Path, typer.Option(help="The picture encoder, an ONNX file that gives a vector a picture.")],
    text: Annotated[Path, typer.Option(help="The text encoder, an ONNX file that gives a vector a sentence.")],
    tokenizer: Annotated[Path, typer.Option(help="The tokenizer.json of the text encoder.")],
    out: Annotated[Path, typer.Option(help="The model's folder, which does not exist yet.")],
    bits: Annotated[int, typer.Option(help="The length of a code, at most as long as the vectors.")] = 64,
    captions: Annotated[
        bool, typer.Option("--captions", help="Fit it on captions: NAME.txt beside each picture, or metadata.csv.")
    ] = False,
    length: Annotated[int, typer.Option(help="Tokens of a sentence that are read.")] = 77,
    side: Annotated[int, typer.Option(help="Pixels of the squares that the picture encoder takes.")] = 224,
    mean: Annotated[str, typer.Option(help="Mean of red, green, blue from 0 to 1, or none; default: CLIP's.")] = "",
    std: Annotated[str, typer.Option(help="Their standard deviations; default: CLIP's.")] = "",
    layout: Annotated[str, typer.Option(help="NCHW or NHWC: where the colours are.")] = "NCHW",
    licence: Annotated[str, typer.Option(help="The licence of the encoders, for the model card.")] = "",
    as_json: AsJson = False,
) -> None:
    """Make a model of two ONNX encoders of one's own, such as CLIP's, and a tokenizer.

    Example: deepbinaries adopt ~/Pictures --image visual.onnx --text textual.onnx --tokenizer tokenizer.json --out clip
    """
    from deepbinaries.adopting import CLIP
    from deepbinaries.adopting import adopt as make_model
    from deepbinaries.cli.encode import picture_files
    from deepbinaries.vision.backbones.onnx_encoder import Preparation

    free_path(out)
    means, deviations = _three(mean, CLIP.mean), _three(std, CLIP.std)
    try:
        preparation = Preparation(side, layout, means, deviations, licence or CLIP.licence)
    except UsageError as error:  # it begins with a name, which is that of the option
        raise UsageError(f"--{error.problem}", next_step=error.next_step) from error
    files = list(dict.fromkeys(picture_files(pictures)))  # folders may lie in each other
    said = _captions(pictures) if captions else {}
    if captions:
        files = [file for file in files if _place(file) in said]
    if len(files) > MOST_PICTURES:
        complain(f"the head is fitted on the first {MOST_PICTURES:,} of {len(files):,} pictures")
    files, sentences = files[:MOST_PICTURES], list[str]()
    if captions:  # every picture once a caption
        pairs = [(file, caption) for file in files for caption in said[_place(file)]]
        files, sentences = [file for file, _ in pairs], [caption for _, caption in pairs]
    if captions and not sentences:
        raise DataError("no picture has a caption beside it", next_step="write NAME.txt, or leave --captions out")
    unreadable: list[PictureError] = []

    def leave_out(error: PictureError) -> None:
        complain(f"left out: {error}")
        unreadable.append(error)

    model = make_model(
        image,
        text,
        tokenizer,
        out,
        pictures=files,
        captions=sentences,
        bits=bits,
        length=length,
        preparation=preparation,
        left_out=leave_out,
    )
    facts = {
        "model": str(out),
        "bits": model.bits,
        "pictures": len(set(files)) - len(unreadable),
        "captions": model.exported["pictures"] if captions else 0,
    }
    if as_json:
        write_json(facts)
    else:
        write_text("\n".join(f"{name}: {value}" for name, value in facts.items()))


def _three(text: str, default: tuple[float, ...] | None) -> tuple[float, ...] | None:
    """Three numbers of an option; none for an encoder that takes bytes."""
    if not text:
        return default
    if text == "none":
        return None
    try:
        numbers = tuple(float(part) for part in text.split(","))
    except ValueError:
        numbers = ()
    if len(numbers) != 3:
        raise UsageError(f"{text!r} is no colour", next_step="give three numbers such as 0.5,0.5,0.5, or none")
    return numbers


def _captions(pictures: list[Path]) -> dict[Path, tuple[str, ...]]:
    """The captions of each picture in some folders, or beside some pictures; `index` reads the same."""
    from deepbinaries.search.captions import read_captions

    found: dict[Path, tuple[str, ...]] = {}
    for folder in dict.fromkeys(path if path.is_dir() else path.parent for path in pictures):
        captions, left_out = read_captions(folder)
        for line in left_out:
            complain(line)
        found |= {folder.resolve() / name: sentences for name, sentences in captions.items()}
    return found


def _place(file: Path) -> Path:
    """Where a picture is, a link in its own place."""
    return file.parent.resolve() / file.name
