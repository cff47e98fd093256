"""What is learnt from and what is chosen by, on the device that learns: pixels, word ids, teachers' vectors, labels."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from deepbinaries.hashers.similarity import LabelSimilarity
from deepbinaries.language import Vocabulary
from recipes.photo.pixels import THUMBNAILS, decoded
from recipes.photo.sources import Rows, Source
from recipes.photo.teachers import Teachers

AT_ONCE = 1000  # photographs moved to the device

Look = Callable[[Source, Rows, Path, str], Tensor]  # what is known of some photographs, from a cache, on a device


@dataclass(frozen=True, eq=False)
class Pairs:
    """Items that are learnt from, each a photograph with one sentence or more, those of coco18 first."""

    pixels: Tensor  # (n, side, side, 3), bytes
    thumbnails: Tensor  # the same of the first items, in the quality of thumbnails
    ids: Tensor  # (sentences, words)
    vectors: Tensor  # (sentences, components): the teacher's
    first: Tensor  # (n,), where the sentences of an item begin
    count: Tensor  # (n,), how many it has
    wording_ids: Tensor  # (sentences without photographs, words)
    wording_vectors: Tensor  # (sentences without photographs, components)
    labels: LabelSimilarity  # of coco18's items, on the CPU; labels of other sources mean other things

    def __len__(self) -> int:
        return len(self.pixels)

    def some_pixels(self, rows: Tensor) -> Tensor:
        """The photographs of some items, each as a thumbnail half the time, if there is one: a user has both.

        They may also be features, (n, d), instead of pixels.
        """
        if not len(self.thumbnails):
            return self.pixels[rows]
        small = (rows < len(self.thumbnails)) & (torch.rand(len(rows), device=rows.device) < 0.5)
        thumbnails = self.thumbnails[rows.clamp(max=len(self.thumbnails) - 1)]
        return torch.where(small.view(-1, *[1] * (thumbnails.ndim - 1)), thumbnails, self.pixels[rows])

    def some_sentences(self, rows: Tensor, first: float = 0.0) -> Tensor:
        """One sentence of every item, as rows of `ids` and `vectors`: its first one in this share, else any of them."""
        of_all, of_any = torch.rand(2, len(rows), device=rows.device)
        drawn = (of_any * self.count[rows]).long()
        return self.first[rows] + torch.where(of_all < first, 0, drawn)


def pairs_of(
    sources: Sequence[Source],
    thumbnails: Sequence[Source],
    teachers: Teachers,
    cache: Path,
    device: str,
    look: Look | None = None,
) -> Pairs:
    """The training parts of all sources, coco18 being the first of them; `thumbnails` are the first of them again.

    What is to be known of photographs are their pixels, or what `look` gives.
    """
    sentences = [source.dataset.sentences(int(row)) for source in sources for row in source.train]
    texts = [text for of_item in sentences for text in of_item]
    counts = np.array([len(of_item) for of_item in sentences])
    labels = sources[0].dataset.labels.select(sources[0].train).matrix()
    return Pairs(
        pixels=_all(look or pixels_of, sources, cache, device),
        thumbnails=_all(look or pixels_of, thumbnails, cache / THUMBNAILS, device),
        ids=word_ids(teachers.vocabulary, texts, device),
        vectors=torch.from_numpy(np.stack([teachers.sentences[text] for text in texts])).to(device),
        first=torch.from_numpy(np.cumsum(counts) - counts).to(device),
        count=torch.from_numpy(counts).to(device),
        wording_ids=torch.from_numpy(teachers.wordings[0]).to(device),
        wording_vectors=torch.from_numpy(teachers.wordings[1]).to(device),
        labels=LabelSimilarity(torch.from_numpy(labels)),
    )


def _all(look: Look, sources: Sequence[Source], cache: Path, device: str) -> Tensor:
    if not sources:
        return torch.zeros(0, device=device)
    return torch.cat([look(source, source.train, cache, device) for source in sources])


def pixels_of(source: Source, rows: Rows, cache: Path, device: str) -> Tensor:
    """Some photographs of a source, (n, side, side, 3), moved piece by piece: all of them fill gigabytes."""
    array = decoded(source.dataset, cache)
    pieces = (array[rows[start : start + AT_ONCE]] for start in range(0, len(rows), AT_ONCE))
    return torch.cat([torch.from_numpy(piece).to(device) for piece in pieces])


def first_sentences(source: Source, rows: Rows) -> list[str]:
    """The first sentence of each of these items."""
    return [source.dataset.sentences(int(row))[0] for row in rows]


def word_ids(vocabulary: Vocabulary, texts: Sequence[str], device: str) -> Tensor:
    """The ids of the sentences' words, (n, 24)."""
    return torch.from_numpy(vocabulary.encode(texts)).long().to(device)


def shuffled(n: int, batch: int, rng: torch.Generator) -> Iterator[Tensor]:
    """The rows of an epoch in random order, by batches; what does not fill one waits for another epoch."""
    order = torch.randperm(n, generator=rng)
    for start in range(0, n - batch + 1, batch):
        yield order[start : start + batch]
