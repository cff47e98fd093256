"""Reading photographs: safely, and never more than reading."""

import hashlib
import io
import os
import re
import stat
import warnings
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from PIL import Image, JpegImagePlugin

from deepbinaries.errors import PictureError
from deepbinaries.vision.reading import MAX_BYTES

ID_LENGTH = 32  # hexadecimal digits of the SHA-256 that are an id: 128 bits

_NOTE = 2**20  # bytes at either end of a file in which its EXIF note is looked for
_JPEG_NOTE = 2**18  # of a JPEG, whose notes come before its pixels and have 64 kB at most
_EXIF_BEGINS = (b"II*\0\x08\0\0\0", b"MM\0*\0\0\0\x08")
_EXIF_TAGS = (0x9003, 0x9004)  # when it was taken, when it was digitised
_EXIF_FOLDER = 0x8769
_EXIF_DATE = re.compile(r"(\d{4}):(\d\d):(\d\d) (\d\d):(\d\d):(\d\d)")


@dataclass(frozen=True)
class Original:
    """A photograph's file as it was read."""

    content: bytes
    size: int
    changed: int  # nanoseconds

    @property
    def id(self) -> str:
        """What the content is known by."""
        return content_id(self.content)


def content_id(content: bytes) -> str:
    """The id of a picture or of a sentence: the beginning of its SHA-256.

    >>> content_id(b"")
    'e3b0c44298fc1c149afbf4c8996fb924'
    """
    return hashlib.sha256(content).hexdigest()[:ID_LENGTH]


def read_original(path: Path) -> Original:
    """A file's bytes; PictureError where it is no plain file, too large, or changes meanwhile.

    Nothing is followed and nothing waits: a name may have become a link or a pipe since the walk saw it.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            before = os.fstat(descriptor)
            if not stat.S_ISREG(before.st_mode):
                raise PictureError("it is no regular file", next_step="put the picture itself there")
            if before.st_size > MAX_BYTES:
                raise PictureError(
                    f"it has {before.st_size:,} bytes, more than {MAX_BYTES:,}", next_step="save it in a smaller size"
                )
            content = file.read(before.st_size + 1)  # one more, by which a file that grows is known
            after = os.fstat(descriptor)
    except OSError as error:
        raise PictureError(
            f"it cannot be read ({error.strerror})", next_step="restore the file or its permissions"
        ) from error
    if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns) or len(content) != after.st_size:
        raise PictureError("it changed while it was read", next_step="run index again")
    return Original(content, after.st_size, after.st_mtime_ns)


def full_size(content: bytes, decoded: tuple[int, int]) -> tuple[int, int]:
    """The width and height of a picture as it is seen, which may have been `decoded` to fewer pixels.

    Only a JPEG is, and its header was read by a process with limits before.
    """
    if not content.startswith(b"\xff\xd8"):
        return decoded
    try:
        with JpegImagePlugin.JpegImageFile(io.BytesIO(content)) as picture:
            width, height = picture.size
    except Exception:  # whatever it is, it was decoded
        return decoded
    # Stored and seen sides are changed over where the camera was held upright.
    seen_width, seen_height = decoded
    turned = abs(seen_width * width - seen_height * height) < abs(seen_width * height - seen_height * width)
    return (height, width) if turned else (width, height)


def local_time(nanoseconds: int) -> str:
    """A moment in the time of this machine, as text: 2024-05-31T18:00:00; what no calendar holds is 1970."""
    try:
        return datetime.fromtimestamp(nanoseconds // 10**9, UTC).astimezone().replace(tzinfo=None).isoformat()
    except (OverflowError, ValueError, OSError):
        return "1970-01-01T00:00:00"


def date_taken(content: bytes) -> str | None:
    """When a picture was taken, by the clock of its camera, if its EXIF note says it: 2024-05-31T18:00:00."""
    note = _exif_note(content)
    if note is None:
        return None
    exif = Image.Exif()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # of damaged notes; they say nothing
            exif.load(note)
            of_picture = exif.get_ifd(_EXIF_FOLDER)
            texts = [of_picture.get(tag) for tag in _EXIF_TAGS]
    except Exception:  # whatever Pillow makes of a hostile note, the pixels are not worse for it
        return None
    return next((found for text in texts if (found := _parsed(text))), None)


def _parsed(text: object) -> str | None:
    """
    >>> _parsed("2024:05:31 18:00:00"), _parsed("0000:00:00 00:00:00")
    ('2024-05-31T18:00:00', None)
    """
    match = _EXIF_DATE.match(text) if isinstance(text, str) else None
    try:
        return datetime(*map(int, match.groups())).isoformat() if match else None  # type: ignore[arg-type]
    except ValueError:
        return None


def _exif_note(content: bytes) -> bytes | None:
    """The EXIF note of a file. It is a small TIFF, and its first eight bytes tell where, whatever format holds it."""
    if content.startswith((b"II*\0", b"MM\0*")):
        return content
    n = len(content)
    ends = [(0, _NOTE), (max(0, n - _NOTE), n)]  # WebP and some others keep it at their end
    for first, last in [(0, _head(content))] if content.startswith(b"\xff\xd8") else ends:
        places = [place for begin in _EXIF_BEGINS if (place := content.find(begin, first, last)) >= 0]
        if places:
            return b"Exif\0\0" + content[min(places) : last]
    return None


def _head(content: bytes) -> int:
    """Where the pixels of a JPEG begin, before which its notes stand; where that is not found, as far as they may.

    >>> _head(bytes.fromhex("ffd8 ffe0 0004 0000 ffda")), _head(b"\\xff\\xd8 and no marker") == _JPEG_NOTE
    (8, True)
    """
    place = 2
    while place < _JPEG_NOTE and content[place : place + 1] == b"\xff":
        marker = content[place + 1 : place + 2]
        if marker == b"\xda":
            return place
        if marker == b"\xff":  # any number of them may stand in front of a marker
            place += 1
        else:
            place += 2 + int.from_bytes(content[place + 2 : place + 4])
    return _JPEG_NOTE
