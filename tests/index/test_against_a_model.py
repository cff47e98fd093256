"""Whatever is done to an index in whatever order, it answers as a dictionary and a full sort do."""

import shutil
import tempfile
from pathlib import Path

import workload
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from deepbinaries.index import EmbeddedIndex, writing

IDS = st.sampled_from([f"{letter}{number}" for letter in "aBé😀" for number in range(6)])
CODES = st.integers(0, 7)  # few, so that most distances are tied
ITEMS = st.dictionaries(IDS, CODES, max_size=12)


class IndexMachine(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.small, writing.SMALL = writing.SMALL, 2  # so that few items make several segments
        self.folder, self.model = Path(tempfile.mkdtemp()), {}

    @initialize()
    def make(self):
        self.index = EmbeddedIndex(self.folder, bits=workload.BITS, writable=True)
        self.reader = EmbeddedIndex(self.folder)

    @rule(items=ITEMS)
    def add(self, items):
        new = {id_: code for id_, code in items.items() if id_ not in self.model}
        workload.take(self.index, "add", new)
        self.model |= new

    @rule(items=ITEMS)
    def replace(self, items):
        workload.take(self.index, "replace", items)
        self.model |= items

    @rule(ids=st.lists(IDS))
    def remove(self, ids):
        assert self.index.remove(ids) == len(self.model.keys() & set(ids))
        self.model = {id_: code for id_, code in self.model.items() if id_ not in ids}

    @rule()
    def compact(self):
        self.index.compact()
        assert len(self.index._snapshot.segments) <= 1

    @rule()
    def reopen(self):
        self.index.close()
        self.index = EmbeddedIndex(self.folder, writable=True)

    @rule()
    def verify(self):
        assert self.index.verify().problems == ()

    @rule(query=CODES, k=st.integers(1, 30))
    def search(self, query, k):
        ranked = sorted(((code ^ query).bit_count(), id_.encode()) for id_, code in self.model.items())
        for index in (self.index, self.reader):
            answer = index.search(workload.codes([query]), k=k)
            assert [(hit.distance, hit.id.encode()) for hit in answer[0]] == ranked[:k]
            edge = ranked[:k][-1][0] if ranked else 0
            assert answer.certificate.ties_left_out[0] == sum(distance == edge for distance, _ in ranked[k:])

    @rule(query=CODES, radius=st.integers(0, 3))
    def range(self, query, radius):
        ranked = sorted(((code ^ query).bit_count(), id_.encode()) for id_, code in self.model.items())
        found = self.reader.range(workload.codes([query]), radius=radius)[0]
        assert [(hit.distance, hit.id.encode()) for hit in found] == [pair for pair in ranked if pair[0] <= radius]

    @invariant()
    def holds_the_items(self):
        if hasattr(self, "index"):
            assert workload.items_of(self.reader) == self.model
            assert len(self.index) == len(self.model)

    def teardown(self):
        self.index.close()
        self.reader.close()
        shutil.rmtree(self.folder)
        writing.SMALL = self.small


TestIndexMachine = IndexMachine.TestCase
TestIndexMachine.settings = settings(max_examples=12, stateful_step_count=20, deadline=None)
