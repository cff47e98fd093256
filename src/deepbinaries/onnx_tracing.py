"""From a torch network to the bytes of an ONNX file, in the precision that is wanted. Needs torch and onnx."""

import logging
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from deepbinaries.errors import Error, MissingExtraError, UsageError, unknown_name

if TYPE_CHECKING:
    from torch import Tensor, nn

PRECISIONS = ("fp32", "fp16", "int8")
OPSET = 17
QUANTISED = ["MatMul", "Gemm", "LSTM", "Gather"]  # convolutions become slower by it and far less exact


def check_precision(precision: str) -> None:
    """Refuse a precision that nobody knows."""
    if precision not in PRECISIONS:
        raise unknown_name("precision", precision, PRECISIONS)


def traced(network: "nn.Module", example: "Tensor", *, open_axes: dict[int, str], precision: str) -> bytes:
    """The ONNX file of a network with one input, `x`, and one output, `y`; the named axes of `x` may have any length.

    fp32 is the network as it is. fp16 stores matrices and kernels in half precision and computes in full. int8 has
    products in whole numbers, scaled by what it is given: such a file must be run on one item at a time.
    """
    check_precision(precision)
    try:
        import onnx
        import torch
    except ModuleNotFoundError as missing:
        raise MissingExtraError(missing.name or "onnx", "train") from missing
    with TemporaryDirectory() as folder, warnings.catch_warnings(), torch.inference_mode():
        file = Path(folder) / "network.onnx"
        # The tracer announces its successor, which needs two more packages, and warns of checks that it leaves out.
        warnings.simplefilter("ignore")
        try:
            torch.onnx.export(
                network.eval(),
                (example,),
                file,
                dynamo=False,
                opset_version=OPSET,
                input_names=["x"],
                output_names=["y"],
                dynamic_axes={"x": open_axes, "y": {0: open_axes[0]}},
            )
        except (RuntimeError, TypeError, torch.onnx.errors.OnnxExporterError) as error:
            raise UsageError(
                f"torch cannot write {type(network).__name__} as ONNX ({str(error).splitlines()[0][:200]})",
                next_step="use this model where torch is installed",
            ) from error
        model = onnx.load(file)
    _pad_in_convolutions(model)
    if precision == "int8":
        model = _quantised(model)
    if precision != "fp32":
        _halve(model)
    content: bytes = model.SerializeToString()
    return content


def _pad_in_convolutions(model: Any) -> None:
    """Let convolutions put the zeros around a picture themselves: onnxruntime is a seventh faster so, and as exact."""
    made_by = {name: node for node in model.graph.node for name in node.output}
    readers = Counter(name for node in model.graph.node for name in node.input)
    for conv in [node for node in model.graph.node if node.op_type == "Conv"]:
        pad = made_by.get(conv.input[0])
        if pad is None or readers[pad.output[0]] > 1 or not _is_of_zeros(pad, model, made_by):
            continue
        zeros = _value_of(pad.input[1], model, made_by)
        (own,) = (attribute for attribute in conv.attribute if attribute.name == "pads")
        axes = len(own.ints) // 2
        before, after = zeros[: 2 + axes], zeros[2 + axes :]
        if zeros.min() < 0 or any((*before[:2], *after[:2])):  # a cut, or more items or channels
            continue
        before, after = before[2:], after[2:]
        own.ints[:] = [int(there + more) for there, more in zip(own.ints, [*before, *after], strict=True)]
        conv.input[0] = pad.input[0]
        model.graph.node.remove(pad)


def _is_of_zeros(node: Any, model: Any, made_by: Mapping[str, Any]) -> bool:
    """Whether a node puts zeros around what it is given, as many whatever that is."""
    if node.op_type != "Pad" or any(attribute.s != b"constant" for attribute in node.attribute):
        return False
    inputs = {given.name for given in model.graph.input}
    return not any(
        inputs & _behind(name, made_by) or (place == 2 and _value_of(name, model, made_by))
        for place, name in enumerate(node.input)
        if place in (1, 2) and name
    )


def _behind(name: str, made_by: Mapping[str, Any]) -> set[str]:
    """The names that a name depends on, itself among them."""
    found, waiting = set(), [name]
    while waiting:
        next_one = waiting.pop()
        if next_one not in found:
            found.add(next_one)
            waiting += made_by[next_one].input if next_one in made_by else []
    return found


def _value_of(name: str, model: Any, made_by: Mapping[str, Any]) -> Any:
    """What the nodes behind a name give, which depend on no input."""
    from onnx import helper
    from onnxruntime import InferenceSession

    needed = _behind(name, made_by)
    graph = helper.make_graph(
        [node for node in model.graph.node if needed.intersection(node.output)],
        "constant",
        [],
        [helper.make_empty_tensor_value_info(name)],
        [stored for stored in model.graph.initializer if stored.name in needed],
    )
    alone = helper.make_model(graph, opset_imports=model.opset_import, ir_version=model.ir_version)
    return InferenceSession(alone.SerializeToString()).run(None, {})[0]


def _halve(model: Any) -> None:
    """Store everything of two axes and more in half precision; a cast brings it back when the file is opened."""
    from onnx import TensorProto, helper, numpy_helper

    casts = []
    for stored in model.graph.initializer:
        if stored.data_type != TensorProto.FLOAT or len(stored.dims) < 2:
            continue
        with np.errstate(over="ignore"):
            half = numpy_helper.to_array(stored).astype(np.float16)
        if not np.isfinite(half).all():
            raise Error(f"{stored.name} has weights beyond half precision", next_step="export in fp32")
        casts.append(helper.make_node("Cast", [f"{stored.name}_half"], [stored.name], to=TensorProto.FLOAT))
        stored.CopyFrom(numpy_helper.from_array(half, f"{stored.name}_half"))
    _put_first(model, casts)


def narrowed(content: bytes) -> bytes:
    """The same ONNX file with matrices and kernels stored in bytes, one scale an output; computed as before.

    They are made floats when the file is opened, so that it runs as fast as it did and is a quarter as large.
    """
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    model = onnx.load_from_string(content)
    factors = {node.input[1] for node in model.graph.node if node.op_type == "MatMul"}  # their outputs are columns
    widened = []
    for stored in list(model.graph.initializer):
        if stored.data_type != TensorProto.FLOAT or len(stored.dims) < 2:
            continue
        name, weights = stored.name, numpy_helper.to_array(stored)
        of_output = 0 if name in factors else tuple(range(1, weights.ndim))
        steps = np.maximum(np.abs(weights).max(axis=of_output, keepdims=True), 1e-12) / 127
        stored.CopyFrom(numpy_helper.from_array(np.rint(weights / steps).astype(np.int8), f"{name}_bytes"))
        model.graph.initializer.append(numpy_helper.from_array(steps.astype(np.float32), f"{name}_steps"))
        widened += [
            helper.make_node("Cast", [f"{name}_bytes"], [f"{name}_whole"], to=TensorProto.FLOAT),
            helper.make_node("Mul", [f"{name}_whole", f"{name}_steps"], [name]),
        ]
    _put_first(model, widened)
    small: bytes = model.SerializeToString()
    return small


def _put_first(model: Any, nodes: list[Any]) -> None:
    """Put nodes in front of all others: a node comes after those it needs."""
    rest = list(model.graph.node)
    del model.graph.node[:]
    model.graph.node.extend([*nodes, *rest])


def _quantised(model: Any) -> Any:
    """The same network with products of whole numbers."""
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic

    with TemporaryDirectory() as folder, quiet():
        whole, small = Path(folder) / "whole.onnx", Path(folder) / "small.onnx"
        onnx.save(model, whole)
        quantize_dynamic(whole, small, op_types_to_quantize=QUANTISED, per_channel=True, weight_type=QuantType.QInt8)
        return onnx.load(small)


@contextmanager
def quiet() -> Iterator[None]:
    """Without onnxruntime's advice to prepare the network first, which trained networks of this kind do not need."""
    root = logging.getLogger()
    before = root.level
    root.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        root.setLevel(before)
