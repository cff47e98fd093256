"""Pictures: reading them safely."""

from deepbinaries.vision.reading import MAX_BYTES, MAX_PIXELS, read_picture

__all__ = ["MAX_BYTES", "MAX_PIXELS", "read_picture"]
