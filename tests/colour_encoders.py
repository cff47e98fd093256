"""A pair of ONNX encoders that know three colours, with their tokenizer: what CLIP is, in three numbers."""

import json

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

WORDS = ["[PAD]", "a", "photo", "of", "red", "green", "blue"]
COLOURS = {"red": (255, 0, 0), "green": (0, 255, 0), "blue": (0, 0, 255)}


def image_encoder(side: int | None = None, *, places: bool = False) -> bytes:
    """Floats (n, 3, h, w) to the mean of each channel, (n, 3); squares of any side, or of one.

    With `places` the first output is what is seen at each of them, (n, 3, places), as a vision transformer has it.
    """
    nodes = [helper.make_node("GlobalAveragePool", ["x"], ["p"]), helper.make_node("Flatten", ["p"], ["y"], axis=1)]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, side or "h", side or "w"])
    if places:
        nodes.append(helper.make_node("Reshape", ["x", "shape"], ["seen"]))
        seen = helper.make_tensor_value_info("seen", TensorProto.FLOAT, ["n", 3, None])
        return _file(nodes, [x], [numpy_helper.from_array(np.array([0, 3, -1]), "shape")], before=[seen])
    return _file(nodes, [x], [])


def text_encoder(
    kind: int = TensorProto.INT64, *, mask: bool = True, types: bool = False, width: int = 3, pooled: bool = True
) -> bytes:
    """Token ids to the mean of what the words stand for, (n, 3): colours, or the same little bit of all.

    One that is not `pooled` gives what each word stands for, (n, length, 3). With `types` it wants those of the tokens
    too, and adds them to the ids: all but zeros make other words of them.
    """
    table = np.full((len(WORDS), width), 0.1, dtype=np.float32)
    for place, colour in enumerate(COLOURS, start=WORDS.index("red")):
        table[place, : len(COLOURS)] = 0
        table[place, list(COLOURS).index(colour)] = 1
    table[0] = 0
    nodes = [helper.make_node("Gather", ["table", "typed" if types else "input_ids"], ["words"])]
    if types:
        nodes.insert(0, helper.make_node("Add", ["input_ids", "token_type_ids"], ["typed"]))
    if pooled:
        nodes.append(helper.make_node("ReduceMean", ["words"], ["y"], axes=[1], keepdims=0))
    else:
        nodes.append(helper.make_node("Identity", ["words"], ["y"]))
    inputs = [helper.make_tensor_value_info("input_ids", kind, ["n", "length"])]
    if mask:
        inputs.append(helper.make_tensor_value_info("attention_mask", kind, ["n", "length"]))
    if types:
        inputs.append(helper.make_tensor_value_info("token_type_ids", kind, ["n", "length"]))
    return _file(nodes, inputs, [numpy_helper.from_array(table, "table")], axes=2 if pooled else 3)


def tokenizer_file() -> str:
    """A tokenizer.json of whole words."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace

    tokenizer = Tokenizer(WordLevel({word: id_ for id_, word in enumerate(WORDS)}, unk_token="a"))  # noqa: S106
    tokenizer.pre_tokenizer = Whitespace()
    return json.dumps(json.loads(tokenizer.to_str()))


def _file(nodes, inputs, stored, axes: int = 2, before=()) -> bytes:
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", *[None] * (axes - 1)])
    graph = helper.make_graph(nodes, "encoder", inputs, [*before, y], stored)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.checker.check_model(model)
    return model.SerializeToString()
