"""From a torch network to the bytes of an ONNX file, in the precision that is wanted. Needs torch and onnx."""

import logging
import warnings
from collections.abc import Iterator
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
    if precision == "int8":
        model = _quantised(model)
    if precision != "fp32":
        _halve(model)
    content: bytes = model.SerializeToString()
    return content


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
    nodes = [*casts, *model.graph.node]  # a node comes after those it needs
    del model.graph.node[:]
    model.graph.node.extend(nodes)


def _quantised(model: Any) -> Any:
    """The same network with products of whole numbers."""
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic

    with TemporaryDirectory() as folder, _quiet():
        whole, small = Path(folder) / "whole.onnx", Path(folder) / "small.onnx"
        onnx.save(model, whole)
        quantize_dynamic(whole, small, op_types_to_quantize=QUANTISED, per_channel=True, weight_type=QuantType.QInt8)
        return onnx.load(small)


@contextmanager
def _quiet() -> Iterator[None]:
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
