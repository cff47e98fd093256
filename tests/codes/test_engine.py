"""Who does the work, when it is loaded, and what its machine code looks like: each in a process of its own."""

import os
import platform
import subprocess
import sys

import numpy as np
import pytest

from deepbinaries.codes import Codes, top_k
from deepbinaries.errors import UsageError

AVX2 = {
    "NUMBA_CPU_NAME": "haswell",
    "NUMBA_CPU_FEATURES": "+avx2,+avx,+bmi,+bmi2,+fma,+lzcnt,+movbe,+popcnt,+sse4.1,+sse4.2,+ssse3",
}

SEARCH = """
import sys, numpy as np
from deepbinaries.codes import Codes, top_k
codes = Codes(np.arange({n}, dtype=np.uint64).view(np.uint8).reshape({n}, 8), 64)
print(top_k(codes[:{asked}], codes, k=3).rows[-1].tolist(), "numba" in sys.modules)
"""
SMALL, LARGE = SEARCH.format(n=100, asked=2), SEARCH.format(n=60_000, asked=1000)
COMPILING = "compiling the search for this processor; this takes some seconds, and later runs reuse it\n"
WITHOUT_NUMBA = "import sys\nsys.modules['numba'] = None\n"  # importing it fails

# Machine code that comes from a cache cannot be read, so that whoever runs this gives an empty cache.
MACHINE_CODE = """
import numpy as np
from deepbinaries.codes import Codes, Gallery, compiled, kernel, reference
rng = np.random.default_rng(0)
codes, queries = (Codes(rng.integers(0, 256, (n, 16), dtype=np.uint8), 128) for n in (900, 5))
words, gallery = queries.columns().T, Gallery.of(codes)
found, expected = kernel.top_k(words, gallery, 10, 1), reference.top_k(words, gallery, 10, 1)
assert np.array_equal(found.rows, expected.rows) and np.array_equal(found.ties, expected.ties)
for loop in (compiled.four_least, compiled.least, compiled.count_at, compiled.write_distances):
    (text,) = loop.inspect_asm().values()
    print("loop", text)
"""
COUNTING = """
import numpy as np
from deepbinaries.codes import Codes, Gallery, counting, kernel, reference
rng = np.random.default_rng(0)
codes, queries = (Codes(rng.integers(0, 256, (n, 16), dtype=np.uint8), 128) for n in (9000, 2))
masks = [rng.integers(0, 4, (1, len(side))).astype(np.uint64) for side in (queries, codes)]
search = queries.columns().T, Gallery.of(codes), *masks, 1
assert np.array_equal(kernel.histograms(*search), reference.histograms(*search))
for loop in (counting.begin_distances, counting.add_distances):
    (text,) = loop.inspect_asm().values()
    print("loop", text)
"""


# A child that waits for threads it does not have is ended by the alarm.
FORKED = """
import os, signal, warnings, numpy as np
from deepbinaries.codes import Codes, top_k
warnings.simplefilter("ignore", DeprecationWarning)  # that forking beside threads is dangerous is the point
codes = Codes(np.arange(1_000_000, dtype=np.uint64).view(np.uint8).reshape(-1, 8), 64)
top_k(codes[0], codes, k=3, threads=2)
if not (child := os.fork()):
    signal.alarm(20)
    print(top_k(codes[0], codes, k=3, threads=2).rows.tolist(), flush=True)
    os._exit(0)
print(os.waitpid(child, 0)[1])
"""


def run(code, *, cache=None, **settings):
    if cache is not None:
        settings |= {"DEEPBINARIES_CACHE": str(cache)}
    unset = ("DEEPBINARIES_SEARCH", "NUMBA_CACHE_DIR")
    environment = {name: value for name, value in os.environ.items() if name not in unset} | settings
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment)


def instructions(answer, name, register):
    """How many instructions of a name each loop has that work on a wide register."""
    return [
        sum(line.split()[:1] == [name] and f"%{register}" in line for line in text.splitlines())
        for text in answer.stdout.split("loop ")[1:]
    ]


def queries_at_once(answer, name, register, *, for_a_word):
    """With how many queries of two words each loop compares a wide register of rows before it takes the next."""
    return [count / (2 * for_a_word) for count in instructions(answer, name, register)]


@pytest.mark.parametrize("room", ["deepbinaries", "deepbinaries.codes", "deepbinaries.evaluation", "deepbinaries.cli"])
def test_importing_a_room_imports_no_numba(room):
    assert run(f"import sys, {room}; print('numba' in sys.modules)").stdout == "False\n"


def test_a_small_search_does_not_wait_for_numba():
    assert run(SMALL).stdout == "[1, 0, 3] False\n"


def test_a_large_search_loads_the_kernel_and_gives_the_answer_of_numpy():
    fast, slow = run(LARGE), run(LARGE, DEEPBINARIES_SEARCH="numpy")
    assert fast.stdout.endswith(" True\n")
    assert slow.stdout == fast.stdout.replace("True", "False")


def test_without_numba_a_large_search_is_answered_by_numpy():
    run_without = run(WITHOUT_NUMBA + LARGE)
    assert run_without.stdout.startswith("[999, ")
    assert run_without.stderr == ""


def test_asking_for_numba_where_it_is_missing_says_so():
    stopped = run(WITHOUT_NUMBA + SMALL, DEEPBINARIES_SEARCH="numba")
    assert "numba cannot be imported" in stopped.stderr.splitlines()[-1]
    assert stopped.stderr.endswith("install it, or unset DEEPBINARIES_SEARCH\n")


def test_an_unknown_way_to_search_is_refused(monkeypatch):
    monkeypatch.setenv("DEEPBINARIES_SEARCH", "magic")
    codes = Codes.from_bits(np.eye(2, dtype=int))
    with pytest.raises(UsageError, match="'magic'"):
        top_k(codes, codes, k=1)


def test_no_threads_are_refused():
    codes = Codes.from_bits(np.eye(2, dtype=int))
    with pytest.raises(UsageError, match="threads=0"):
        top_k(codes, codes, k=1, threads=0)


def test_a_forked_process_searches_with_threads_of_its_own():
    assert run(FORKED, DEEPBINARIES_SEARCH="numba").stdout == "[[0, 1, 2]]\n0\n"


def test_the_first_search_says_that_it_compiles_and_the_next_process_reuses_it(tmp_path):
    first, second = (run(SMALL, cache=tmp_path, DEEPBINARIES_SEARCH="numba") for _ in range(2))
    assert first.stderr == COMPILING
    assert (second.stdout, second.stderr) == (first.stdout, "")


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path):
    (tmp_path / "file").touch()
    nowhere_else = {"NUMBA_CACHE_LOCATOR_CLASSES": "UserProvidedCacheLocator"}
    answer = run(SMALL, cache=tmp_path / "file", DEEPBINARIES_SEARCH="numba", **nowhere_else)
    assert answer.stdout == "[1, 0, 3] True\n"


def test_another_users_settings_of_numba_are_left_as_they_were():
    code = "from numba import config; import deepbinaries.codes.compiled; print(repr(config.CACHE_DIR))"
    assert run(code).stdout == "''\n"


def test_eight_rows_are_compared_by_one_instruction_where_the_processor_can(tmp_path):
    import llvmlite.binding

    if not llvmlite.binding.get_host_cpu_features().get("avx512vpopcntdq"):
        pytest.skip("this processor has no vector popcount")
    answer = run(MACHINE_CODE, cache=tmp_path)
    four_least, *others = queries_at_once(answer, "vpopcntq", "zmm", for_a_word=1)
    assert four_least >= 4
    assert min(others) >= 1


def test_four_rows_are_compared_at_once_with_avx2(tmp_path):
    if platform.machine() not in ("x86_64", "AMD64"):
        pytest.skip("this is no x86-64 processor")
    answer = run(MACHINE_CODE, cache=tmp_path, **AVX2)
    four_least, *others = queries_at_once(answer, "vpshufb", "ymm", for_a_word=2)  # each half of a byte is looked up
    assert four_least >= 4
    assert min(others) >= 1
    assert queries_at_once(answer, "vpopcntq", "zmm", for_a_word=1) == [0, 0, 0, 0]


def test_64_rows_are_counted_at_once_where_the_processor_can(tmp_path):
    import llvmlite.binding

    if not llvmlite.binding.get_host_cpu_features().get("avx512bitalg"):
        pytest.skip("this processor has no vector popcount")
    two_queries = 2 * 8
    assert min(instructions(run(COUNTING, cache=tmp_path), "vpopcntb", "zmm")) >= two_queries


def test_32_rows_are_counted_at_once_with_avx2(tmp_path):
    if platform.machine() not in ("x86_64", "AMD64"):
        pytest.skip("this is no x86-64 processor")
    answer = run(COUNTING, cache=tmp_path, **AVX2)
    assert answer.stderr == COMPILING
    assert min(instructions(answer, "vpshufb", "ymm")) >= 2 * 8 * 2  # each half of a byte is looked up
