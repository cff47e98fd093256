"""Which picture files there are: by their suffix while looking, by their first bytes when it matters."""

from deepbinaries.vision.reading import AVIF_BRANDS, brands, is_heic

SUFFIXES = frozenset(("jpg", "jpeg", "png", "webp", "avif", "gif", "bmp", "tif", "tiff", "heic", "heif"))


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
    if brands(file) & AVIF_BRANDS:
        return "avif"
    return "heic" if is_heic(file) else None
