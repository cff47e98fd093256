"""Thumbnails are packed again with the photographs that were published, and with no others."""

import io
import json
import subprocess
import sys
import tarfile

import pytest
from PIL import Image

from deepbinaries.errors import DataError
from recipes.photo import pictures
from recipes.photo.pictures import add

SIZE = (400, 300)


def jpeg(colour, size=SIZE):
    file = io.BytesIO()
    Image.new("RGB", size, colour).save(file, "JPEG")
    return file.getvalue()


def repository(folder, files):
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for command in (["init", "-q"], ["add", "."], [*who, "commit", "-q", "-m", "photographs"]):
        subprocess.run(["git", "-C", folder, *command], check=True)
    return folder


def thumbnails(folder, ids):
    folder.mkdir(parents=True)
    with tarfile.open(folder / f"{folder.name}-000.tar", "w") as shard:
        for id_ in ids:
            add(shard, f"{id_}.avif", b"four kilobytes")
            add(shard, f"{id_}.json", json.dumps({"text": f"this is {id_}", "labels": ["thing"]}).encode())
    (folder / "split.json").write_text(json.dumps({"query": ids}))


@pytest.fixture
def data(tmp_path):
    thumbnails(tmp_path / "data" / "coco18", ["7", "8"])
    thumbnails(tmp_path / "data" / "iapr22", ["00-25"])
    (tmp_path / "data" / "coco18" / "extra.jsonl").write_text(json.dumps({"id": "30", "text": "one more"}) + "\n")
    return tmp_path / "data"


@pytest.fixture
def pack(data, tmp_path, monkeypatch):
    """Pack everything into a folder, with these files of COCO's repository."""

    def run(files):
        coco = repository(tmp_path / "coco", files)
        iapr = repository(tmp_path / "iapr", {"iaprtc12/images/00/25.jpg": jpeg("blue")})
        arguments = [data, "--coco", coco, "--iapr", iapr, "--out", tmp_path / "full"]
        monkeypatch.setattr(sys, "argv", ["pictures", *map(str, arguments)])
        pictures.main()
        return tmp_path / "full"

    return run


def members(path):
    with tarfile.open(path) as tar:
        return {member.name: tar.extractfile(member).read() for member in tar}


def test_what_is_said_stays_and_photographs_become_large(pack, data):
    full = pack({f"data/{number}.jpg": jpeg("red") for number in (7, 8, 9, 30)})
    found, before = members(full / "coco18" / "coco18-000.tar"), members(data / "coco18" / "coco18-000.tar")
    assert set(found) == set(before)
    assert all(found[name] == before[name] for name in before if name.endswith(".json"))
    assert Image.open(io.BytesIO(found["8.avif"])).size == (320, 240)
    assert set(members(full / "iapr22" / "iapr22-000.tar")) == {"00-25.avif", "00-25.json"}
    assert (full / "coco18" / "split.json").read_bytes() == (data / "coco18" / "split.json").read_bytes()


def test_only_listed_photographs_are_added(pack):
    full = pack({f"data/{number}.jpg": jpeg("red") for number in (7, 8, 9, 30)})
    found = members(full / "extra" / "extra-000.tar")
    assert set(found) == {"30.avif", "30.json"}
    assert json.loads(found["30.json"]) == {"text": "one more"}


def test_a_photograph_that_is_missing_is_named_and_no_shard_is_left(pack, tmp_path):
    with pytest.raises(DataError, match="no data/8.jpg; clone it in full"):
        pack({"data/7.jpg": jpeg("red"), "data/30.jpg": jpeg("red")})
    assert not list((tmp_path / "full").glob("coco18/*.tar"))
