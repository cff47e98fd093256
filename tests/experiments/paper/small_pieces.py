"""What processes of a test do with a piece: it can be sent to them."""

import os
import signal

import numpy as np

from deepbinaries.errors import DataError
from deepbinaries.experiments.cells import IDENTITY, MEASURED, append_cells
from deepbinaries.experiments.paper.kept import Kept
from deepbinaries.experiments.paper.plans import Row
from deepbinaries.experiments.paper.running import Piece


def piece(name, bits=8):
    return Piece(Row(name, "cvh", name), bits, 0)


def cell(name, bits):
    return dict.fromkeys(IDENTITY + MEASURED, 0) | {"method": name, "bits": bits}


def keep(folder, name, bits):
    """Leave what a training leaves: a cell with its scores, and a line of epochs."""
    (folder / "scores").mkdir(parents=True, exist_ok=True)
    np.save(folder / "scores" / f"{name}-{bits}.npy", np.zeros(1, np.float32))
    append_cells(folder / "cells.jsonl", [cell(name, bits)])
    Kept(folder / "epochs.jsonl").add({"row": name, "bits": bits}, {"epochs": []})


def opened(folder):
    def learn(piece):
        if piece.row.name == "refused":
            raise DataError("there is no data", next_step="give some")
        if piece.row.name == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        keep(folder, piece.row.name, piece.bits)

    return learn
