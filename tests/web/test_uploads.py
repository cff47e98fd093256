"""Pictures that are sent to harm: each is answered, and the server goes on."""

import io
import struct
import zlib

import numpy as np
import pytest
from PIL import Image
from starlette.testclient import TestClient

from conftest import TOKEN
from deepbinaries.search import index_folder
from deepbinaries.vision.decoders import Decoders
from deepbinaries.web.app import make_app
from deepbinaries.web.indexing import Indexing
from deepbinaries.web.photographs import Photographs
from deepbinaries.web.settings import DECODER_MEMORY, DECODER_SECONDS, Settings


def saved(form, picture=None, **settings):
    file = io.BytesIO()
    (picture or Image.effect_noise((60, 40), 80).convert("RGB")).save(file, form, **settings)
    return file.getvalue()


def chunk(name, content):
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def png(width, height, pixels, *more):
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + b"".join(more) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def corpus():
    """Names and bytes of hostile files."""
    files = {"one byte": b"\xff", "a script": b"<script>alert(1)</script>", "a pickle": b"\x80\x04K\x01."}
    for form in ("JPEG", "PNG", "GIF", "WEBP", "AVIF", "TIFF", "BMP"):
        whole = saved(form)
        for tenth in (1, 3, 6, 9):
            files[f"{form} cut at {tenth} tenths"] = whole[: len(whole) * tenth // 10]
        mutated = bytearray(whole)
        for place in range(20, len(mutated), 37):
            mutated[place] ^= 0x55
        files[f"{form} with flipped bits"] = bytes(mutated)
    files["2^31 - 1 pixels wide"] = png(2**31 - 1, 2**31 - 1, zlib.compress(b""))
    files["60000 x 60000 of nothing"] = png(60_000, 60_000, zlib.compress(b""))
    files["300 million pixels"] = png(20_000, 15_000, zlib.compress(bytes(10**6)))
    text = chunk(b"zTXt", b"a\0\0" + zlib.compress(bytes(10**7)))
    files["a long text"] = png(1, 1, zlib.compress(bytes(4)), text)
    loop = bytearray(saved("TIFF"))
    at = struct.unpack_from("<I", loop, 4)[0]
    n = struct.unpack_from("<H", loop, at)[0]
    struct.pack_into("<I", loop, at + 2 + 12 * n, at)
    files["a TIFF whose directory leads to itself"] = bytes(loop)
    frames = [Image.new("P", (4, 4), colour) for colour in range(200)]
    files["a GIF of many frames"] = saved("GIF", frames[0], save_all=True, append_images=frames[1:])
    lying = b"\xff\xe1\xff\xffExif\0\0II*\0\xff\xff\xff\xff\xff\xdb"
    files["EXIF that claims 4 GB"] = saved("JPEG").replace(b"\xff\xdb", lying, 1)
    files["a JPEG that is HTML as well"] = saved("JPEG") + b"<html><script>alert(1)</script></html>"
    files["16 bits"] = saved("PNG", Image.fromarray(np.full((8, 8), 40_000, dtype=np.uint16)))
    files["CMYK"] = saved("JPEG", Image.new("CMYK", (8, 8)))
    return files


CORPUS = corpus()


@pytest.fixture(scope="module")
def client(still_library):
    """A server with decoders as users have them: processes with limits."""
    photographs = Photographs(still_library.root / ".deepbinaries", model=still_library.by)
    with TestClient(make_app(photographs, Settings()), base_url="http://localhost:8765") as client:
        yield client


@pytest.mark.parametrize(("name", "file"), CORPUS.items(), ids=CORPUS)
def test_a_hostile_picture_is_answered_and_the_next_one_too(client, name, file):
    answer = client.post("/v1/search", content=file, headers={"content-type": "image/jpeg"})
    assert answer.status_code in (200, 400), name
    if answer.status_code == 400:
        assert set(answer.json()["error"]) == {"problem", "next_step"}
    assert client.get("/v1/search?q=red").status_code == 200


def test_after_all_of_them_a_good_picture_is_found(client):
    answer = client.post("/v1/search", content=saved("PNG"), headers={"content-type": "application/octet-stream"})
    assert answer.status_code == 200


def test_a_decoder_that_needs_too_much_memory_answers_with_the_reason():
    large = saved("PNG", Image.new("RGB", (9_000, 9_000)))
    with Decoders(1, memory=400 * 2**20, seconds=60) as decoders:
        (refused,) = decoders.read([("it", large)])
        (fine,) = decoders.read([("it", saved("PNG"))])
    assert isinstance(refused, str)
    assert fine.shape == (40, 60, 3)


def test_the_limits_let_a_picture_of_a_large_camera_through():
    picture = Image.new("RGB", (8_000, 6_000), "teal")
    with Decoders(1, memory=DECODER_MEMORY, seconds=DECODER_SECONDS) as decoders:
        (pixels,) = decoders.read([("it", saved("PNG", picture, compress_level=1))])
    assert pixels.shape == (6_000, 8_000, 3)


def test_an_upload_of_the_corpus_adds_only_pictures(library):
    indexing = Indexing(
        lambda report: index_folder(library.root, library.by, workers=1, progress=False, report=report),
        every=3600,
        tell=print,
    )
    indexing.start()
    before = sorted(path.name for path in library.root.rglob("*.*") if ".deepbinaries" not in path.parts)
    source = Photographs(library.root / ".deepbinaries", model=library.by, indexing=indexing)
    headers = {"content-type": "image/jpeg", "authorization": f"Bearer {TOKEN}"}
    with TestClient(make_app(source, Settings(token=TOKEN)), base_url="http://localhost:8765") as client:
        for name in ("one byte", "a script", "PNG cut at 6 tenths", "2^31 - 1 pixels wide"):
            assert client.post("/v1/items", content=CORPUS[name], headers=headers).status_code == 400
    indexing.stop()
    after = sorted(path.name for path in library.root.rglob("*.*") if ".deepbinaries" not in path.parts)
    assert after == before
