"""A network is what was proven: nothing of it comes from files that onnxruntime finds by itself."""

import numpy as np
import pytest
from tiny_onnx import FLOAT, _field, _value

from deepbinaries.errors import DataError
from deepbinaries.onnx_files import open_network


def network_with_weights_in(location: str) -> bytes:
    """A network `images` -> `output` that answers two numbers, which are in another file."""
    where = _field(13, _field(1, "location") + _field(2, location)) + _field(14, 1)
    stored = _field(1, 2) + _field(2, FLOAT) + _field(8, "answer") + where
    node = _field(1, "answer") + _field(2, "output") + _field(4, "Identity")
    ends = _field(11, _value("images", (1,))) + _field(12, _value("output", (2,)))
    graph = _field(1, node) + _field(2, "constant") + _field(5, stored) + ends
    return _field(1, 8) + _field(7, graph) + _field(8, _field(1, "") + _field(2, 13))


@pytest.mark.parametrize("location", ["weights", "../here/weights", "{here}/weights"])
def test_weights_in_another_file_are_not_loaded_from_the_current_folder(location, tmp_path, monkeypatch):
    here = tmp_path / "here"
    here.mkdir()
    (here / "weights").write_bytes(np.ones(2, dtype="<f4").tobytes())
    monkeypatch.chdir(here)
    content = network_with_weights_in(location.format(here=here))
    with pytest.raises(DataError, match="net.onnx has its weights in another file; put the weights into one file"):
        open_network(content, here / "net.onnx")
