# Two commands matter to a new user: `make compare` and `make test`.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --constraint constraints.txt

# Where tests and `make compare` look for texts and published instances; it may be absent.
export ISINGSAMPLE_DATA ?= $(abspath ../shared/data)

.PHONY: compare test test-all venv lint bench docs examples release clean

compare: $(VENV)/.compare
	$(BIN)/isingsample compare

test: $(VENV)/.all
	$(BIN)/pytest --numprocesses 2 --cov --cov-report=term --cov-fail-under=90

test-all: $(VENV)/.all
	$(BIN)/pytest -m "not benchmark" --numprocesses 2

venv: $(VENV)/.all

lint: $(VENV)/.all
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.all
	$(BIN)/pytest tests/benchmarks -m benchmark --benchmark-columns=median,iqr,rounds

docs: $(VENV)/.all
	$(BIN)/sphinx-build -W --keep-going -q docs docs/_build/html
	@echo "docs/_build/html/index.html"

examples: $(VENV)/.all
	$(BIN)/python examples/compare_samplers.py --windows 2 --reads 200 --out $(VENV)/compare.png
	$(BIN)/python examples/leap_submit.py --mock --queries 4 --reads 200
	$(BIN)/python examples/attention_layer.py --steps 50
	$(BIN)/python examples/train_anneal.py $(VENV)/anneal.csv --quick
	$(BIN)/python examples/tiny_shakespeare.py --quick --restart --out $(VENV)/study-text
	$(BIN)/python examples/bracket_matching.py --quick --restart --out $(VENV)/study-brackets
	$(BIN)/python examples/j_only.py --quick --restart --out $(VENV)/study-j-only
	$(BIN)/python examples/correlated_relevance.py --quick --restart --prior pairs --modes softmax,h+J --out $(VENV)/study-relevance

# Builds both packages and installs them, with each extra alone, in environments of their own.
release: $(VENV)/.all
	rm -rf dist
	$(BIN)/python -m build --outdir dist
	$(BIN)/python tests/support/try_packages.py dist constraints.txt

clean:
	rm -rf $(VENV) build dist docs/_build .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage

# What `make compare` needs, without torch.
$(VENV)/.compare: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) --editable ".[cli,numba,dimod,qiskit,dwave]"
	@touch $@

# Everything, for tests, lint, docs and benchmarks.
$(VENV)/.all: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) --editable ".[dev]"
	@touch $@ $(VENV)/.compare

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else "isingsample needs Python 3.11 or newer: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv $(VENV)
