"""A server in a process of its own, as users have it, but with the plain model and little patience."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "search"))

from plain_model import PlainFolder

from deepbinaries.search import index_folder
from deepbinaries.vision.regions import Regions
from deepbinaries.web.indexing import Indexing
from deepbinaries.web.photographs import Photographs
from deepbinaries.web.running import run
from deepbinaries.web.settings import Patience, Settings


def look(picture):
    """Two regions of a picture, and the whole of it."""
    import numpy as np

    del picture
    boxes = np.array([[0.1, 0.1, 0.6, 0.7], [0.4, 0.3, 0.9, 0.9], [0, 0, 1, 1]], dtype=np.float32)
    return Regions(boxes, np.array([0.7, 0.6, 0.5], dtype=np.float32), "plain")


def say(text):
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main(folder, token):
    by = PlainFolder()
    by.model.encoder.regions = look
    indexing = Indexing(
        lambda report: index_folder(folder, by, workers=1, progress=False, report=report), every=3600, tell=say
    )
    indexing.start()
    settings = Settings(port=0, token=token, patience=Patience(head=1.0, pause=1.0, slowest=16_384))
    source = Photographs(Path(folder) / ".deepbinaries", model=by, indexing=indexing)
    run(source, settings, started=say)
    say("ended")


if __name__ == "__main__":
    main(*sys.argv[1:])
