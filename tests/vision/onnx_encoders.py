"""Tiny ONNX encoders: mean colours as a vector, or the means of 2 x 2 pixels as a map."""

from tiny_onnx import _field

FLOAT, UINT8, INT64 = 1, 2, 7


def _value(name: str, kind: int, shape: tuple[int | str, ...]) -> bytes:
    """A tensor's name, type and shape; a length given as text is open."""
    lengths = b"".join(_field(1, _field(1 if isinstance(length, int) else 2, length)) for length in shape)
    return _field(1, name) + _field(2, _field(1, _field(1, kind) + _field(2, lengths)))


def _node(kind: str, source: str, result: str, **attributes: int | list[int]) -> bytes:
    stated = b""
    for name, value in attributes.items():
        if isinstance(value, int):
            stated += _field(5, _field(1, name) + _field(3, value) + _field(20, 2))
        else:
            stated += _field(5, _field(1, name) + b"".join(_field(8, number) for number in value) + _field(20, 7))
    return _field(1, _field(1, source) + _field(2, result) + _field(4, kind) + stated)


def _model(nodes: bytes, kind: int, shape: tuple[int | str, ...], output: tuple[int | str, ...]) -> bytes:
    ends = _field(11, _value("pixels", kind, shape)) + _field(12, _value("features", FLOAT, output))
    graph = nodes + _field(2, "encoder") + ends
    return _field(1, 8) + _field(7, graph) + _field(8, _field(1, "") + _field(2, 13))


def mean_colours(shape: tuple[int | str, ...] = ("n", 3, "h", "w")) -> bytes:
    """Floats NCHW to the mean of each channel, (n, 3)."""
    nodes = _node("GlobalAveragePool", "pixels", "pooled") + _node("Flatten", "pooled", "features", axis=1)
    return _model(nodes, FLOAT, shape, (shape[0], 3))


def mean_colours_of_bytes(kind: int = UINT8) -> bytes:
    """Bytes NHWC, or numbers of another kind, to the mean of each channel, (n, 3)."""
    nodes = (
        _node("Cast", "pixels", "floats", to=FLOAT)
        + _node("Transpose", "floats", "turned", perm=[0, 3, 1, 2])
        + _node("GlobalAveragePool", "turned", "pooled")
        + _node("Flatten", "pooled", "features", axis=1)
    )
    return _model(nodes, kind, ("n", "h", "w", 3), ("n", 3))


def small_maps() -> bytes:
    """Floats NCHW to a map (n, 3, h / 2, w / 2) of means."""
    return _model(
        _node("AveragePool", "pixels", "features", kernel_shape=[2, 2], strides=[2, 2]),
        FLOAT,
        ("n", 3, "h", "w"),
        ("n", 3, "a", "b"),
    )
