"""An index on a cluster of three machines: the same answers, and whole ones, whoever is killed in the middle."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import psutil
import pytest

from deepbinaries.cli import main
from deepbinaries.codes import Codes
from deepbinaries.index import EmbeddedIndex, check_index, compare_answers, open_index
from deepbinaries.index.base import ServerLostError

running_ray = pytest.importorskip("running_ray", reason="ray is not installed")
pytestmark = pytest.mark.xdist_group("ray")  # one cluster at a time
ray = running_ray.ray

BITS = 16
IDS = [f"item-{number}" for number in range(2000)]
CODES = Codes.from_bits(np.random.default_rng(0).integers(0, 2, (len(IDS), BITS)))
QUERIES = Codes.from_bits(np.random.default_rng(1).integers(0, 2, (20, BITS)))
TOKEN = "a-token-for-tests-only"  # noqa: S105


def test_all_tests_of_ray_run_in_one_process(request):
    """Two clusters at once take longer to start than Ray waits; releases of pytest have lost sight of groups."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        assert request.node.nodeid.endswith("@ray")


@pytest.fixture(scope="module")
def cluster():
    cluster = running_ray.RunningRay()
    yield cluster
    cluster.remove()


@pytest.fixture(scope="module")
def embedded(tmp_path_factory):
    """Two thousand items in a folder."""
    with EmbeddedIndex(tmp_path_factory.mktemp("embedded") / "codes", bits=BITS, writable=True) as index:
        index.add(IDS, CODES)
        yield index


@pytest.fixture(scope="module")
def address(cluster, embedded, tmp_path_factory):  # noqa: ARG001 - what is connected to in this process
    """The same items in three shards, copied there by the command."""
    address = f"ray:{tmp_path_factory.mktemp('shards')}/codes"
    assert run("copy-index", embedded.folder, f"{address}?shards=3", "--verify", 50) == 0
    return address


@pytest.fixture(scope="module")
def replicated(address):
    """Every shard on two machines."""
    with open_index(address, replicas=2) as index:
        yield index


@pytest.fixture(scope="module")
def alone(address):
    """Every shard on one machine."""
    with open_index(address) as index:
        yield index


def run(*arguments):
    with pytest.raises(SystemExit) as left:
        main(list(map(str, arguments)))
    return left.value.code


def of_actor(index, place, replica, what):
    """What a function says inside of an actor, which may have to be started again after an earlier test."""
    handle = index._actors._handles[place][replica]
    for _ in range(600):
        try:
            return ray.get(handle.__ray_call__.remote(lambda _shard: what()))
        except ray.exceptions.ActorUnavailableError:
            time.sleep(0.1)
    pytest.fail("the actor did not come back within a minute")


def process_of(index, place, replica=0):
    return of_actor(index, place, replica, os.getpid)


def machine_of(index, place, replica):
    return of_actor(index, place, replica, lambda: ray.get_runtime_context().get_node_id())


def killed_in_the_middle(process, call):
    """What a call gives during which a process is killed that had been asked, and could not answer yet."""
    os.kill(process, signal.SIGSTOP)
    with ThreadPoolExecutor(1) as thread:
        answer = thread.submit(call)
        time.sleep(0.3)
        assert not answer.done()
        os.kill(process, signal.SIGKILL)
        return answer.result(timeout=60)


@pytest.mark.usefixtures("cluster")
def test_an_index_on_a_cluster_keeps_the_contract(tmp_path):
    check_index(
        lambda name, bits: open_index(f"ray:{tmp_path}/{name}?shards=2", bits=bits, writable=True), lengths=[65]
    )


def test_the_answers_are_those_of_an_index_in_a_folder(replicated, embedded):
    here, there = replicated.search(QUERIES, 10), embedded.search(QUERIES, 10)
    assert (here.ids, here.distances) == (there.ids, there.distances)
    assert here.certificate.ties_left_out == there.certificate.ties_left_out
    assert replicated.range(QUERIES, 3)[:] == embedded.range(QUERIES, 3)[:]
    assert compare_answers(replicated, embedded, 100).alike


def test_replicas_are_on_different_machines_and_every_machine_has_some(replicated):
    machines = [{machine_of(replicated, place, replica) for replica in range(2)} for place in range(3)]
    assert [len(of_shard) for of_shard in machines] == [2, 2, 2]
    assert len(set.union(*machines)) == running_ray.MACHINES


def test_when_an_actor_is_killed_in_the_middle_its_replica_answers(replicated, embedded):
    def two_questions():  # one of them is the turn of the one that is killed
        with ThreadPoolExecutor(2) as threads:
            return list(threads.map(lambda _: replicated.search(QUERIES, 10), range(2)))

    for answer in killed_in_the_middle(process_of(replicated, place=1), two_questions):
        assert answer[:] == embedded.search(QUERIES, 10)[:]


def test_without_replicas_an_actor_that_was_killed_comes_back_and_opens_its_files(alone, embedded):
    process = process_of(alone, place=2)
    answer = killed_in_the_middle(process, lambda: alone.search(QUERIES, 10))
    assert answer[:] == embedded.search(QUERIES, 10)[:]
    assert process_of(alone, place=2) != process


def test_a_shard_that_does_not_answer_is_an_error_that_names_it_and_no_partial_answer(alone, embedded, monkeypatch):
    process = process_of(alone, place=1)
    os.kill(process, signal.SIGSTOP)
    with monkeypatch.context() as hurried:
        hurried.setattr(alone._actors, "_patience", 1.0)
        for call in (lambda: alone.search(QUERIES, 10), lambda: list(alone.ids())):
            with pytest.raises(ServerLostError, match="shard 1 of the index .* does not answer"):
                call()
    os.kill(process, signal.SIGCONT)
    assert alone.search(QUERIES, 10)[:] == embedded.search(QUERIES, 10)[:]


def test_what_an_actor_never_expected_is_an_error_that_names_the_shard(alone):
    with pytest.raises(ServerLostError, match="shard 1 of the index .* does not answer .*nonsense"):
        alone._ask("nonsense", {1: ()})


def test_a_shard_that_is_gone_for_good_is_an_error_that_names_it(alone, monkeypatch):
    ray.kill(alone._actors._handles[0][0])
    monkeypatch.setattr(alone._actors, "_patience", 0.5)
    with pytest.raises(ServerLostError, match="shard 0 of the index .* does not answer"):
        alone.search(QUERIES, 10)


@pytest.mark.usefixtures("cluster")
def test_when_an_actor_is_killed_while_it_writes_the_change_goes_on(tmp_path):
    with open_index(f"ray:{tmp_path}/codes?shards=2&replicas=2", bits=BITS, writable=True) as index:
        index.add(IDS[:500], CODES[:500])

        def change():
            for part in range(500, 2000, 500):  # it is the turn of each replica
                index.replace(IDS[part : part + 500], CODES[part : part + 500])

        killed_in_the_middle(process_of(index, place=0), change)
        assert index.codes_of(IDS) == CODES
        assert index.verify().sound
        assert index.version == 5


def test_the_commands_know_an_index_on_a_cluster(address, capsys, tmp_path):
    assert run("search", "id:item-7", "--index", address, "-k", 3, "--json") == 0
    (answer,) = json.loads(capsys.readouterr().out)["answers"]
    assert (len(answer["hits"]), answer["certificate"]["exact"]) == (3, True)
    assert run("copy-index", address, tmp_path / "back", "--verify", 20) == 0
    assert "2,000 codes copied, 0 were there already; 20 random queries are answered alike" in capsys.readouterr().out


def test_it_is_served_as_users_start_it_and_says_nothing_of_ray(address, cluster, embedded):
    command = [sys.executable, "-m", "deepbinaries", "serve", f"{address}?address={cluster.address}", "--port", "0"]
    environment = os.environ | {"DEEPBINARIES_TOKEN": TOKEN}
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    try:
        home = re.search(r"http://\S+", server.stderr.readline())[0].rstrip("/")

        def ask(path, content=None, method=None):
            body = None if content is None else json.dumps(content).encode()
            headers = {"content-type": "application/json", "authorization": f"Bearer {TOKEN}"}
            request = urllib.request.Request(home + path, body, headers, method=method)  # noqa: S310 - our own
            with urllib.request.urlopen(request) as answer:  # noqa: S310
                return json.loads(answer.read() or "null")

        code = bytes(QUERIES.packed[0]).hex()
        expected = [hit._asdict() for hit in embedded.search(QUERIES[:1], 5)[0]]
        hits = ask("/v1/search", {"code": code, "k": 5})["hits"]
        assert [{"id": hit["id"], "distance": hit["distance"]} for hit in hits] == expected
        ask("/v1/items", {"items": [{"id": "new", "code": code}]})
        assert ask("/v1/search", {"id": "new", "k": 1})["hits"][0]["id"] == expected[0]["id"]
        ask("/v1/items/new", method="DELETE")
        assert ask("/v1/search", {"code": code, "k": 5})["hits"] == hits
    finally:
        server.terminate()
        out, said = server.communicate(timeout=30)
    assert (server.returncode, out, said) == (0, "", "")


def test_when_a_machine_goes_away_the_others_answer(cluster, replicated, embedded):
    everyone = [(place, replica) for place in range(3) for replica in range(2)]
    there = [one for one in everyone if machine_of(replicated, *one) == cluster.others[-1].node_id]
    processes = [process_of(replicated, *one) for one in there]
    cluster.lose_a_machine()
    while any(map(psutil.pid_exists, processes)):
        time.sleep(0.05)
    assert processes
    for _ in range(2):  # so that every replica has had its turn
        assert replicated.search(QUERIES, 10)[:] == embedded.search(QUERIES, 10)[:]
