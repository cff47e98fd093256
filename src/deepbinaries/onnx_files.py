"""Networks in ONNX files, run by onnxruntime and opened from bytes that are proven already."""

import os
from pathlib import Path
from typing import Any

from deepbinaries.errors import DataError, UsageError

MAX_BYTES = 2 * 2**30  # protobuf's own limit
ALL_CORES = 0  # or as many as `limit_threads` leaves

_most_threads = ALL_CORES


def open_network(content: bytes, path: Path, *, device: str = "cpu", threads: int = ALL_CORES) -> Any:
    """A session on the content of `path`; several threads may run it at once, each with `threads` of its own."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads or _most_threads
    # Threads that wait by spinning take the cores from the workers that decode pictures.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    # Weights in another file are not proven; onnxruntime would look for it in whatever folder is the current one.
    options.add_session_config_entry("session.model_external_initializers_file_folder_path", os.devnull)
    options.log_severity_level = 4  # what goes wrong is raised; nothing more is printed
    provider = "CPUExecutionProvider" if device == "cpu" else "CUDAExecutionProvider"
    if provider not in onnxruntime.get_available_providers():
        raise UsageError(
            f"onnxruntime cannot use {device!r} here", next_step="give device=cpu, or install onnxruntime-gpu"
        )
    try:
        return onnxruntime.InferenceSession(content, options, providers=[provider])
    except Exception as error:  # onnxruntime's errors have no family of their own
        if "external data" in str(error).lower():
            raise DataError(
                f"{path} has its weights in another file",
                next_step="put the weights into one file: save the network without external data",
            ) from error
        raise DataError(f"{path} is no ONNX file ({first_line(error)})", next_step="export or copy it again") from error


def limit_threads(n: int) -> None:
    """Let networks that are opened from now on take `n` cores instead of all: others of this machine are spoken for."""
    global _most_threads
    _most_threads = n


def cores() -> int:
    """How many cores networks may take."""
    return _most_threads or os.cpu_count() or 1


def first_line(error: Exception) -> str:
    """What onnxruntime says of an error, without the places in its code.

    >>> first_line(ValueError("bad shape\\nat line 3"))
    'bad shape'
    """
    return str(error).partition("\n")[0][:200]
