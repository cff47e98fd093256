# Every target sets up its own environment in .venv and is quick when nothing changed.
#
#   make demo    see it work: learns from generated scenes, leaves demo/report.html
#   make test    prove it: lint, types, layers, then every test with its coverage
#   make check   lint, types and layers only
#   make bench   measure it beside its peers; writes benchmarks/results/*.json and a page with charts

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
WORKERS ?= $(shell nproc 2>/dev/null || sysctl -n hw.ncpu)

.PHONY: demo test check bench
.DELETE_ON_ERROR:

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("deepbinaries needs Python 3.11 or newer; run make PYTHON=python3.11" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv --clear .venv
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[ray,train]' --group dev
	@command -v chromium >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && \
	  apt-get update --quiet >/dev/null && apt-get install --yes --quiet chromium >/dev/null; } || echo "no Chromium: tests of the page will be skipped"
	@touch $@

demo: $(READY)
	$(BIN)/deepbinaries demo

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

test: check
	$(BIN)/pytest --numprocesses $(WORKERS) --dist loadgroup --cov --cov-report term

NOT_ASKED := benchmarks/recording.py benchmarks/page.py benchmarks/clip_shapes.py benchmarks/random_collection.py

bench: $(READY)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --group bench
	@for question in $(filter-out $(NOT_ASKED),$(wildcard benchmarks/*.py)); do \
	  echo "== $$question"; $(BIN)/python $$question || exit 1; done
	$(BIN)/python benchmarks/page.py
