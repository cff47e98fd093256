"""Arrays to a GPU and back without waiting for anything else that it does.

Memory that is pinned travels by itself. From any other the processor copies, and first waits, busily, until the GPU
is done with all that it was given: by whichever thread.
"""

from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

if TYPE_CHECKING:
    import torch
    from torch import Tensor


def sent(array: NDArray[Any], device: "torch.device") -> "Tensor":
    """The array on a device; a GPU has it before it does what it is asked next."""
    import torch

    tensor = torch.from_numpy(array)
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor.to(device)


def fetched(tensor: "Tensor") -> NDArray[Any]:
    """What is in a tensor, as soon as it is there; the thread sleeps until then."""
    import torch

    if not tensor.is_cuda:
        return tensor.numpy()
    here = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
    here.copy_(tensor, non_blocking=True)
    done = torch.cuda.Event(blocking=True)  # type: ignore[no-untyped-call]
    done.record()
    done.synchronize()
    return here.numpy()
