"""What the tests of indexes share."""

import pytest


@pytest.fixture(scope="session")
def milvus():
    """A Milvus server that these tests have for themselves."""
    running_milvus = pytest.importorskip("running_milvus", reason="no Milvus server can be started here")
    try:
        server = running_milvus.RunningMilvus()
    except running_milvus.CannotStartError:
        pytest.skip("no Milvus server can be started here")
    yield server
    server.remove()


@pytest.fixture(scope="session")
def postgres():
    """A PostgreSQL server that these tests have for themselves."""
    running_postgres = pytest.importorskip("running_postgres", reason="no PostgreSQL server can be started here")
    try:
        server = running_postgres.RunningPostgres()
    except running_postgres.CannotStartError:
        pytest.skip("no PostgreSQL server can be started here")
    yield server
    server.remove()
