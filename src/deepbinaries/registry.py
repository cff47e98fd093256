"""Names of methods, datasets, backbones and indexes, and the classes behind them.

A name costs nothing until it is used: the table holds import paths as text, so that listing
what exists imports none of it. To add one, write its file and add one line here.
"""

import importlib
import inspect
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from deepbinaries.errors import Error, MissingExtraError, UsageError, unknown_name


@dataclass(frozen=True)
class Entry:
    """One registered name: where its code is, what it is in a few words, and the extra it needs."""

    target: str  # "package.module:attribute"
    summary: str
    extra: str = ""  # the optional dependency group, when there is one
    settings: Mapping[str, Any] = field(default_factory=dict)  # that make a general reader this one


class Registry:
    """The known names of one kind of thing."""

    def __init__(self, kind: str, entries: Mapping[str, Entry]):
        self.kind = kind
        self.entries = dict(entries)

    def find(self, name: str) -> Entry:
        """The entry of a name; `my.module:Class` is one of its own."""
        if ":" in name:
            return Entry(target=name, summary="")
        if name not in self.entries:
            raise unknown_name(self.kind, name, self.entries)
        return self.entries[name]

    def load(self, name: str) -> Any:
        """The class or function behind a name; `my.module:Class` names a user's own.

        >>> Registry("function", {}).load("math:sqrt")(16)
        4.0
        """
        entry = self.find(name)
        module, _, attribute = entry.target.partition(":")
        if ":" in name and str(Path.cwd()) not in sys.path:
            sys.path.append(str(Path.cwd()))  # a user's module most often lies where the command is run
        try:
            found = getattr(importlib.import_module(module), attribute)
        except ModuleNotFoundError as missing:
            if entry.extra:
                raise MissingExtraError(missing.name or module, entry.extra) from missing
            raise self._cannot_import(name, str(missing)) from missing
        except (AttributeError, ValueError) as missing:  # no such name; no name at all
            raise self._cannot_import(name, str(missing)) from missing
        if not callable(found):
            raise self._cannot_import(name, f"it is {type(found).__name__}, which cannot be called")
        return found

    def _cannot_import(self, name: str, reason: str) -> Error:
        return UsageError(
            f"the {self.kind} {name!r} cannot be imported ({reason})",
            next_step="give it as package.module:Name and check that Python finds the module",
        )


def check_settings(
    function: Callable[..., Any], settings: Iterable[str], *, of: str, apart: Iterable[str] = ()
) -> None:
    """Refuse a setting that a function does not have, with the ones it has; `apart` are parameters that are none."""
    parameters = inspect.signature(function).parameters
    for name in set(settings) & set(apart):
        raise UsageError(f"{name!r} is no setting of {of}", next_step="leave it out")
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return
    known = [name for name in parameters if name not in apart]
    for setting in settings:
        if setting not in known:
            raise unknown_name(f"setting of {of}", setting, known)


TVDB = "deepbinaries.hashers.tvdb:TVDB"  # its presets differ in settings alone; `preset` takes their names

METHODS = Registry(
    "method",
    {
        "tvdb": Entry(TVDB, "TVDB in its best form, the default", extra="train"),
        "tvdb-lstm": Entry(TVDB, "TVDB with the paper's networks and the spectral update", extra="train"),
        "tvdb-paper": Entry(TVDB, "TVDB to the letter of the paper", extra="train"),
        "tvdb-i1": Entry(TVDB, "ablation I1: the whole picture alone", extra="train"),
        "tvdb-i2": Entry(TVDB, "ablation I2: the mean of the regions", extra="train"),
        "tvdb-t1": Entry(TVDB, "ablation T1: sentences as bags of words", extra="train"),
        "tvdb-t2": Entry(TVDB, "ablation T2: sentences through an LSTM", extra="train"),
        "tvdb-s": Entry(TVDB, "routine S, a variant of the training", extra="train"),
        "tvdb-n": Entry(TVDB, "routine N, a variant of the training", extra="train"),
        "tvdb-e1": Entry(TVDB, "routine E1, a variant of the training", extra="train"),
        "tvdb-e2": Entry(TVDB, "routine E2, a variant of the training", extra="train"),
        "cca": Entry("deepbinaries.hashers.cca:CCA", "Canonical Correlation Analysis (1936), real values"),
        "plsr": Entry("deepbinaries.hashers.plsr:PLSR", "Partial Least Squares Regression, real values"),
        "cvfl": Entry("deepbinaries.hashers.cvfl:CVFL", "Cross-View Feature Learning (2014), real values"),
        "cvfl-lap": Entry("deepbinaries.hashers.cvfl:CVFL", "CVFL with its Laplacian, real values"),
        "cvh": Entry("deepbinaries.hashers.cvh:CVH", "Cross-View Hashing (2011), linear, a baseline"),
        "cmfh": Entry("deepbinaries.hashers.cmfh:CMFH", "Collective Matrix Factorisation Hashing (2014)"),
        "cmfh-scaled": Entry("deepbinaries.hashers.cmfh:CMFH", "CMFH with both views brought to one size"),
        "qch": Entry("deepbinaries.hashers.qch:QCH", "Quantised Correlation Hashing (2015), our reading"),
        "scm-seq": Entry("deepbinaries.hashers.scm:SCM", "Semantic Correlation Maximisation (2014), bit after bit"),
        "scm-orth": Entry("deepbinaries.hashers.scm:SCM", "SCM with uncorrelated bits, all at once"),
        "imh": Entry("deepbinaries.hashers.imh:IMH", "Inter-Media Hashing (2013), graphs of neighbours"),
        "cmssh": Entry("deepbinaries.hashers.cmssh:CMSSH", "Cross-Modality Similarity-Sensitive Hashing (2010)"),
        "seph-km": Entry("deepbinaries.hashers.seph:SePH", "Semantics-Preserving Hashing (2015), cluster centres"),
        "seph-rnd": Entry("deepbinaries.hashers.seph:SePH", "SePH with random training items as anchors"),
        "dcmh": Entry("deepbinaries.hashers.dcmh:DCMH", "Deep Cross-Modal Hashing (2017)", extra="train"),
        "dcmh-paper": Entry("deepbinaries.hashers.dcmh:DCMH", "DCMH to the letter of the paper", extra="train"),
        "dsph": Entry("deepbinaries.hashers.dsph:DSPH", "Deep Semantic-aware Proxy Hashing (2024)", extra="train"),
        "dsph-all": Entry("deepbinaries.hashers.dsph:DSPH", "DSPH that parts all irrelevant pairs", extra="train"),
        "corrae": Entry("deepbinaries.hashers.corrae:CorrAE", "Correspondence Autoencoder (2014)", extra="train"),
        "corrae-cross": Entry(
            "deepbinaries.hashers.corrae:CorrAE", "CorrAE that rebuilds each side from the other", extra="train"
        ),
        "corrae-full": Entry(
            "deepbinaries.hashers.corrae:CorrAE", "CorrAE that rebuilds both sides from each", extra="train"
        ),
        "dnh-c": Entry("deepbinaries.hashers.dnhc:DNHC", "DNH (2015) across modalities, our reading", extra="train"),
        "cm-nn": Entry("deepbinaries.hashers.cmnn:CMNN", "Cross-modal neural network (2014), siamese", extra="train"),
        "dvsh": Entry("deepbinaries.hashers.dvsh:DVSH", "Deep Visual-Semantic Hashing (2016)", extra="train"),
    },
)

DATASETS = Registry(
    "dataset",
    {
        "arrays": Entry("deepbinaries.datasets.arrays:load", "features and labels from .npz or .mat files"),
        "coco": Entry("deepbinaries.datasets.coco:load", "Microsoft COCO, official 2014 or 2017 files"),
        "coco18": Entry(
            "deepbinaries.datasets.webdataset:load",
            "25,000 COCO photographs with 18 labels, tar shards",
            settings={"name": "coco18"},
        ),
        "folder": Entry("deepbinaries.datasets.folder:load", "a folder of pictures, with or without captions"),
        "iapr-tc12": Entry("deepbinaries.datasets.iapr_tc12:load", "IAPR TC-12, official files"),
        "iapr22": Entry(
            "deepbinaries.datasets.webdataset:load",
            "IAPR TC-12 in the paper's size, tar shards",
            settings={"name": "iapr22"},
        ),
        "inria-web-queries": Entry("deepbinaries.datasets.inria_web_queries:load", "INRIA Web Queries"),
        "scenes": Entry("deepbinaries.datasets.scenes:load", "generated pictures and sentences, no files needed"),
        "wiki": Entry(
            "deepbinaries.datasets.arrays:load",
            "features of 2,866 Wikipedia articles with ten classes",
            settings={"name": "wiki"},
        ),
        "webdataset": Entry("deepbinaries.datasets.webdataset:load", "tar shards, read without unpacking"),
    },
)

BACKBONES = Registry(
    "backbone",
    {
        "alexnet": Entry(
            "deepbinaries.vision.backbones.alexnet:load",
            "AlexNet up to fc7, the paper's; weights by path",
            extra="train",
        ),
        "efficientnet-lite0": Entry(
            "deepbinaries.vision.backbones.efficientnet_lite0:load", "EfficientNet-Lite0, the default", extra="train"
        ),
        "onnx": Entry("deepbinaries.vision.backbones.onnx_encoder:load", "onnx:PATH, an encoder you own"),
        "timm": Entry(
            "deepbinaries.vision.backbones.named:load_timm", "timm:MODEL, where timm is installed", extra="train"
        ),
        "torchvision": Entry(
            "deepbinaries.vision.backbones.named:load_torchvision",
            "torchvision:MODEL, where torchvision is installed",
            extra="train",
        ),
    },
)

PROPOSERS = Registry(
    "proposer",
    {
        "grid": Entry("deepbinaries.vision.proposers.grid:Grid", "fixed windows scored by feature energy, no file"),
        "rpn": Entry(
            "deepbinaries.vision.proposers.rpn:load",
            "our own, read off the backbone's map; for EfficientNet-Lite0 no file, for others a safetensors file",
        ),
        "yolox": Entry("deepbinaries.vision.proposers.yolox:Yolox", "a YOLOX detector's objectness, an ONNX file"),
        "faster-rcnn": Entry(
            "deepbinaries.vision.proposers.faster_rcnn:FasterRCNN",
            "the region proposal network of torchvision's Faster R-CNN, a safetensors file",
        ),
        "file": Entry("deepbinaries.vision.proposers.from_file:FromFile", "boxes found earlier, an .npz file"),
    },
)

INDEXES = Registry(
    "index",
    {
        "embedded": Entry("deepbinaries.index.embedded:EmbeddedIndex", "a folder on this machine, the default"),
        "milvus": Entry("deepbinaries.index.milvus:MilvusIndex", "a collection in Milvus", extra="milvus"),
        "postgres": Entry("deepbinaries.index.postgres:PostgresIndex", "a PostgreSQL database", extra="postgres"),
        "ray": Entry("deepbinaries.index.ray:RayIndex", "a folder of shards, searched by a Ray cluster", extra="ray"),
    },
)

KINDS = {
    "methods": METHODS,
    "datasets": DATASETS,
    "backbones": BACKBONES,
    "proposers": PROPOSERS,
    "indexes": INDEXES,
}
