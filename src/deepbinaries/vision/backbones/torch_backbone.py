"""A torch network behind the contract of a backbone: arrays go in, arrays come out, nothing is learned."""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from deepbinaries.errors import UsageError
from deepbinaries.onnx_tracing import traced
from deepbinaries.vision.backbones import WeightsCard
from deepbinaries.vision.backbones.on_gpu import OnGpu
from deepbinaries.vision.pixels import Picture
from deepbinaries.vision.stretching import stretched_on


class TorchBackbone:
    """`network(pixels)` gives vectors, `to_maps(pixels)` maps; both prepare the pixels (n, 3, h, w) themselves.

    On a GPU maps are computed in float16, which changes features by about as much as storing them in float16 does.
    Vectors, and everything on a CPU, are computed in float32.
    """

    def __init__(
        self,
        name: str,
        network: nn.Module,
        *,
        to_maps: Callable[[Tensor], Tensor] | None,  # None: no maps
        width: int,
        stride: int,
        crop_side: int,
        card: WeightsCard,
        device: str,
    ):
        self.name = name
        self.width = width
        self.stride = stride
        self.crop_side = crop_side
        self.card = card
        self._device = find_device(device)
        self._network = network.eval()
        self._to_maps = to_maps
        self._settle()

    def maps(self, pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Feature maps of pictures (n, h, w, 3): (n, width, h / stride, w / stride)."""
        return np.ascontiguousarray(self.tensor_maps(pixels).float().cpu().numpy())

    def tensor_maps(self, pixels: NDArray[np.uint8]) -> Tensor:
        """The maps where they were computed: a thousand of them would take longer to leave a GPU than to make."""
        return self._maps(self._moved(pixels))

    def maps_of_pictures(self, pictures: Sequence[Picture], side: int) -> Tensor:
        """The same of RGB pictures, which are made square where the maps are computed."""
        with torch.inference_mode():
            squares = stretched_on(self._device, pictures, side)
        return self._maps(squares)

    @property
    def on_gpu(self) -> bool:
        return self._device.type == "cuda"

    def _maps(self, pixels: Tensor) -> Tensor:
        if self._to_maps is None:
            raise UsageError(f"{self.name} has no maps, only vectors", next_step="use mode=crop")
        return self._maps_on_gpu(pixels) if self._maps_on_gpu else one_by_one(self._to_maps, pixels)

    def vectors(self, pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
        """One feature vector a picture of (n, s, s, 3): (n, width)."""
        moved = self._moved(pixels)
        vectors = self._vectors_on_gpu(moved) if self._vectors_on_gpu else one_by_one(self._network, moved)
        return vectors.float().cpu().numpy()

    def to_onnx(self, *, maps: bool, side: int, precision: str) -> bytes:
        """An ONNX file that takes bytes (n, h, w, 3) and gives maps or, where they are not wanted, vectors.

        Maps are made of pictures of any size that the network takes, vectors of squares of `side` pixels.
        """
        network = self._to_maps if maps else self._network
        if network is None:
            raise UsageError(f"{self.name} has no maps, only vectors", next_step="use mode=crop")
        example = torch.zeros(1, side, side, 3, dtype=torch.uint8)
        open_axes = {0: "n", 1: "height", 2: "width"} if maps else {0: "n"}
        # In the usual order of the axes: what is faster for torch would only add turns to the file.
        self._network.cpu().to(memory_format=torch.contiguous_format)  # type: ignore[call-overload]
        try:
            return traced(_FromBytes(self._network, network), example, open_axes=open_axes, precision=precision)
        finally:
            self._settle()

    def _settle(self) -> None:
        """Put the network where it runs."""
        # Twice as fast on a CPU as torch's usual order of the axes. Stubs know only the shorter call.
        self._network.to(self._device).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self._maps_on_gpu = OnGpu(self._to_maps, half=True) if self._to_maps and self.on_gpu else None
        self._vectors_on_gpu = OnGpu(self._network, half=False) if self.on_gpu else None

    def _moved(self, pixels: NDArray[np.uint8]) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(pixels)).to(self._device).permute(0, 3, 1, 2)


class _FromBytes(nn.Module):
    """A network, or a method of it, that is given pictures as they are: (n, h, w, 3)."""

    def __init__(self, network: nn.Module, call: Callable[[Tensor], Tensor]):
        super().__init__()
        self.network = network
        self._call = call

    def forward(self, pixels: Tensor) -> Tensor:
        return self._call(pixels.permute(0, 3, 1, 2))


@torch.inference_mode()
def one_by_one(network: Callable[[Tensor], Tensor], pixels: Tensor) -> Tensor:
    """A CPU's way: batches outgrow its caches, and so a picture's features never depend on its neighbours."""
    return torch.cat([network(pixels[place : place + 1]) for place in range(max(len(pixels), 1))])


def find_device(name: str) -> torch.device:
    """The device of that name, if this machine has it."""
    try:
        device = torch.device(name)
    except RuntimeError:
        raise UsageError(f"no device is called {name!r}", next_step="give cpu, cuda or cuda:0") from None
    if device.type == "cuda" and not torch.cuda.is_available():
        raise UsageError("torch finds no GPU here", next_step="give device=cpu")
    return device
