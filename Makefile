# Every target sets up what it needs in .venv; nothing outside this folder is touched.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SAMPLES := sample_transcripts

.PHONY: demo test check fmt lint types fuzz fuzz-files heavy bench bench-peers bench-savings clients clean

## Run the main job on a sample: the whole pipe, then compact in one process.
demo: $(VENV)/.run
	@echo 'compactctl validate | truncate | dedup | prune | summarize | resolve | render'
	@set -e; PATH="$(CURDIR)/$(BIN):$$PATH"; \
	compactctl validate $(SAMPLES)/claude-code.jsonl \
	| compactctl truncate | compactctl dedup | compactctl prune \
	| compactctl summarize --summarizer template \
	| compactctl resolve --state $(SAMPLES)/state.jsonl \
	    --transcripts $(SAMPLES)/transcripts --artifacts $(SAMPLES)/artifacts \
	| compactctl render
	@echo
	@echo 'compactctl compact --soft-limit 8000 -o $(VENV)/small.jsonl'
	@$(BIN)/compactctl compact $(SAMPLES)/claude-code.jsonl --soft-limit 8000 -o $(VENV)/small.jsonl
	@$(BIN)/compactctl validate --check $(VENV)/small.jsonl

## Run the tests.
test: $(VENV)/.dev
	$(BIN)/python -m pytest -q

## What CI runs: lint, types, tests.
check: lint types test

fmt: $(VENV)/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lint: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(VENV)/.dev
	$(BIN)/mypy

## The property tests with many more examples (about ten minutes).
fuzz: $(VENV)/.dev
	HYPOTHESIS_PROFILE=fuzz $(BIN)/python -m pytest -q tests/test_laws.py tests/rules tests/test_lines.py

## Break 20,000 files in every way, validate and repair them (about ten minutes).
fuzz-files: $(VENV)/.dev
	$(BIN)/python tests/fuzz/files.py

## Bulk runs over 2 GB of made-up sessions: memory, time, 20 kills (minutes; 8 GB of disk).
## Smaller with COMPACTCTL_HEAVY_FILES=60 COMPACTCTL_HEAVY_MB=60.
heavy: $(VENV)/.dev
	COMPACTCTL_HEAVY=1 $(BIN)/python -m pytest -q tests/bulk/test_bulk_heavy.py

## Whole-process times and their ratios, as a Markdown table.
bench: $(VENV)/.dev
	$(BIN)/python tests/bench/run.py

## Other tools for `bench` to run beside this one, in an environment of their own.
bench-peers: $(VENV)/peers/.done

## Tokens saved on the real sessions in ../shared/corpus, by layer and format.
bench-savings: $(VENV)/.dev
	$(BIN)/python tests/bench/savings.py

## Let real agents go on with compacted sessions: Claude Code, Codex CLI and pi, from npm (1.1 GB).
clients: $(VENV)/clients/.done $(VENV)/.run
	$(BIN)/python tests/clients/run_clients.py

clean:
	rm -rf $(VENV) .hypothesis .mypy_cache .pytest_cache .ruff_cache

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.run: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(VENV)/.dev: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@ $(VENV)/.run

$(VENV)/peers/.done: tests/bench/peers.txt
	$(PYTHON) -m venv $(VENV)/peers
	$(VENV)/peers/bin/python -m pip install --quiet --disable-pip-version-check -r tests/bench/peers.txt
	@touch $@

$(VENV)/clients/.done: tests/clients/package.json
	@command -v node >/dev/null && command -v npm >/dev/null \
	|| { echo 'clients: node and npm are needed; install Node.js 20 or later and run this again' >&2; exit 1; }
	@mkdir -p $(VENV)/clients
	@cp tests/clients/package.json $(VENV)/clients/
	npm install --prefix $(VENV)/clients --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@
