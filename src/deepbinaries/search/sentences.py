"""The sentences beside photographs in an index, so that a picture finds sentences."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from deepbinaries.errors import Error
from deepbinaries.search.captions import read_captions
from deepbinaries.search.catalogue import SENTENCES, File
from deepbinaries.search.generation import Generation
from deepbinaries.search.models import LazyModel
from deepbinaries.search.walking import Walk
from deepbinaries.vision.originals import content_id

if TYPE_CHECKING:
    from deepbinaries.search.indexing import Report

PORTION = 500  # files whose sentences are committed together


def update_sentences(root: Path, generation: Generation, model: LazyModel, found: Walk, report: "Report") -> None:
    """Bring the sentences of an index up to date with what stands beside the photographs."""
    files = generation.catalogue.files()
    if not found.has_texts and not any(file.said for file in files):
        return
    try:
        captions, left_out = read_captions(root)
    except Error as error:  # no reason not to find the pictures
        report.notes.append(f"captions were not read: {error}")
        return
    report.notes += left_out
    wanted = [replace(file, said=captions.get(file.path, ()) if file.id else ()) for file in files]
    pairs = [(new, before) for new, before in zip(wanted, files, strict=True) if new != before]
    changed = [new for new, _ in pairs]
    report.unsaid = sum(len(set(before.said) - set(new.said)) for new, before in pairs)
    if report.unsaid:
        what = "sentence was removed: it stands" if report.unsaid == 1 else "sentences were removed: they stand"
        report.notes.append(f"{report.unsaid:,} {what} beside no readable picture any more")
    for start in range(0, len(changed), PORTION):
        some = changed[start : start + PORTION]
        _commit(generation, model, some)
        report.sentences += sum(len(file.said) for file in some)


def _commit(generation: Generation, model: LazyModel, files: Sequence[File]) -> None:
    """Write what is said beside some files: codes first, then rows, then codes go that nothing says any more."""
    catalogue, index = generation.catalogue, generation.indexes[SENTENCES]
    opened = model.get()
    texts = sorted({text for file in files for text in file.said})
    ids = {text: content_id(text.encode()) for text in texts if opened.reading(text).understood}
    earlier = catalogue.ids_beside(file.path for file in files)
    catalogue.begin(SENTENCES, {*ids.values(), *earlier})
    if ids:
        index.replace(list(ids.values()), opened.encode_texts(list(ids)))
    catalogue.put_said(files, ids)
    generation.settle()
