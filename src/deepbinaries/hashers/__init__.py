"""Hashers: methods that learn to turn pictures and sentences into codes, one file a method."""

from deepbinaries.hashers.base import Hasher, Images, Pairs, Texts, check_hasher

__all__ = ["Hasher", "Images", "Pairs", "Texts", "check_hasher"]
