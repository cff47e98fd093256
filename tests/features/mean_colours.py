"""A tiny encoder whose features can be checked by eye, and datasets with faults, for the tests of this room."""

import os
import signal
import time

import numpy as np

from deepbinaries.errors import PictureError

BOXES = ((0, 0, 0.5, 1), (0.5, 0, 1, 1), (0, 0, 1, 1))  # left half, right half, the whole picture


class MeanColours:
    """K = 2 regions and the whole picture, each as its mean red, green and blue."""

    width = 3

    def __init__(self, **more):
        self.fingerprint = {"encoder": "mean-colours", **more}
        self.encoded = []  # the ids that were asked for, batch by batch

    def encode(self, pictures, ids):
        self.encoded.append(list(ids))
        return np.stack([self.regions(picture) for picture in pictures]).astype(np.float16)

    def regions(self, picture):
        pixels = np.asarray(picture, dtype=np.float32) / 255
        height, width, _ = pixels.shape
        rows = []
        for left, top, right, bottom in BOXES:
            part = pixels[int(top * height) : int(bottom * height), int(left * width) : int(right * width)]
            position = (bottom - top, right - left, (left + right) / 2, (top + bottom) / 2)
            rows.append([*part.mean(axis=(0, 1)), *position])
        return rows


class OnGpu(MeanColours):
    """Asks for several batches at a time, as an encoder on a GPU does; remembers the kinds of pictures it was given."""

    at_once = 3

    def __init__(self, **more):
        super().__init__(**more)
        self.kinds = set()

    def encode(self, pictures, ids):
        self.kinds |= {type(picture) for picture in pictures}
        return super().encode(pictures, ids)


class Interrupted(OnGpu):
    """Ctrl-C comes to all of its group while it works, on a machine that decodes in processes."""

    def __init__(self):
        super().__init__()
        os.cpu_count = lambda: 4
        signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background start deaf to it

    def encode(self, pictures, ids):
        if "scene-00000" in ids:
            os.killpg(os.getpgrp(), signal.SIGINT)
        return super().encode(pictures, ids)


class KilledAt(MeanColours):
    """Kills its own process in the given batch, as a power cut would."""

    def __init__(self, batch):
        super().__init__()
        self.batch = batch

    def encode(self, pictures, ids):
        if len(self.encoded) == self.batch:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().encode(pictures, ids)


class Unsteady(MeanColours):
    """Differs a little from process to process, as GPUs do, and takes its time, so that two processes meet."""

    def encode(self, pictures, ids):
        time.sleep(0.02)
        return super().encode(pictures, ids) + np.float16(os.getpid() % 1000 / 1000)


class Drawn:
    """A generated dataset whose pictures and sentences are kept."""

    def __init__(self, dataset):
        self.name, self.ids, self.labels = dataset.name, dataset.ids, dataset.labels
        rows = range(len(dataset.ids))
        self.sentences = [dataset.sentences(row) for row in rows].__getitem__
        self.picture = [dataset.picture(row) for row in rows].__getitem__


class WithFaults:
    """A dataset some of whose pictures are other bytes than they should be."""

    def __init__(self, dataset, faults):
        self.dataset, self.faults = dataset, faults
        self.name, self.ids, self.labels, self.sentences = dataset.name, dataset.ids, dataset.labels, dataset.sentences

    def picture(self, row):
        fault = self.faults.get(row)
        if fault is None:
            return self.dataset.picture(row)
        if isinstance(fault, bytes):
            return fault
        raise PictureError(f"{self.ids[row]} is gone", next_step="restore the file")
