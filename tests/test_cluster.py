"""Ray is started or joined in silence, and what goes wrong is one line."""

import sys

import pytest

from deepbinaries.cluster import join
from deepbinaries.errors import Error, MissingExtraError, UsageError


@pytest.mark.parametrize(("address", "cpus"), [(None, 0), ("auto", 2)])
def test_cores_are_those_of_this_machine_alone(address, cpus):
    with pytest.raises(UsageError, match="starts nothing"):
        join(address, cpus)


def test_without_ray_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"install deepbinaries\[ray\]"):
        join()


@pytest.mark.parametrize("address", ["127.0.0.1:1", "127.0.0.1:99999", "ray://[::1]:1"])
def test_an_address_where_nobody_listens_is_told_at_once(address, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", _NotConnected)
    with pytest.raises(Error, match="no Ray cluster answers at"):
        join(address)


class _NotConnected:
    """Stands for Ray, which is never asked."""

    @staticmethod
    def is_initialized():
        return False
