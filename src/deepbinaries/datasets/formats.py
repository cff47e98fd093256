"""Which picture files there are: by their suffix while looking, by their first bytes when it matters."""

SUFFIXES = frozenset(("jpg", "jpeg", "png", "webp", "avif", "gif", "bmp", "tif", "tiff"))
UNREAD_SUFFIXES = frozenset(("heic", "heif"))  # pictures all the same: they are counted, not passed over
UNREAD = "HEIC pictures are not among the formats that are read"


def suffix_by_content(file: bytes) -> str | None:
    """The suffix that fits a picture's first bytes, whatever its name says; None when they fit no format we read.

    >>> suffix_by_content(bytes.fromhex("ffd8ffe0")), suffix_by_content(b"GIF89a"), suffix_by_content(b"hello")
    ('jpg', 'gif', None)
    """
    if file.startswith(b"\xff\xd8\xff"):
        return "jpg"
    if file.startswith(b"\x89PNG\r\n\x1a\n"):
        return "png"
    if file.startswith((b"GIF87a", b"GIF89a")):
        return "gif"
    if file.startswith((b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")):
        return "tif"
    if file.startswith(b"BM"):
        return "bmp"
    if file.startswith(b"RIFF") and file[8:12] == b"WEBP":
        return "webp"
    return "avif" if _is_avif(file) else None


def _is_avif(file: bytes) -> bool:
    """Whether the opening box names AVIF: as the main brand, or among the brands it is compatible with."""
    if file[4:8] != b"ftyp":
        return False
    box = file[: min(int.from_bytes(file[:4]), 256)]
    brands = {box[start : start + 4] for start in (8, *range(16, len(box), 4))}
    return bool(brands & {b"avif", b"avis"})
