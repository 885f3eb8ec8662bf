# The one way to build, check, test and measure. `make` alone lists the targets.
VENV ?= .venv
PYTHON ?=
BIN := $(VENV)/bin
STAMP := $(VENV)/.stamp
BENCH := .venv-bench
# A module's tests stay together: many share one server.
PYTEST = $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile
WORKERS ?= 2
CANDIDATES := $(or $(PYTHON),python3 python3.14 python3.13 python3.12 python3.11)

.DEFAULT_GOAL := help
.PHONY: help setup serve browser desktop test test-bundle check bench chaos goldens record schema clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(STAMP) ## make the environment in .venv

serve: $(STAMP) browser ## serve the bundle with langgraph dev (PORT=… HOST=… to choose)
	@$(BIN)/python -m runwire_graphs.serving $(ARGS)

browser: $(STAMP) ## see to it that there is a Chromium
	@$(BIN)/python -m runwire_graphs.browser.getting

desktop: $(STAMP) ## get what the virtual desktop of computer_use needs (by apt, as root)
	@$(BIN)/python -m runwire_graphs.computer.getting

test: $(STAMP) ## run the tests but those of the bundle (ARGS="-k word" narrows them)
	@$(PYTEST) -m "not bundle" $(ARGS)

test-bundle: $(STAMP) browser ## run the tests that serve the bundle or drive a browser or a desktop
	@$(PYTEST) -m bundle $(ARGS)

check: $(STAMP) ## lint, formatting and strict types
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

bench: $(BENCH)/.stamp ## measure against the peers and write benchmarks/results.md (ARGS="--quick" for a look)
	@$(BENCH)/bin/python -m benchmarks $(ARGS)

chaos: $(STAMP) ## cut the connections of real runs at hundreds of places and compare (about ten minutes)
	@$(BIN)/python -m tests.chaos $(ARGS)

goldens: $(STAMP) ## write the golden envelopes anew
	@$(BIN)/python -m tests.goldens

record: $(STAMP) ## record the test graphs from a real server
	@$(BIN)/python -m tests.record

schema: $(STAMP) ## write docs/envelope.schema.json anew
	@$(BIN)/python -m tests.schema

clean: ## remove the environment and all caches
	rm -rf $(VENV) $(BENCH) build dist .pytest_cache .ruff_cache .mypy_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(STAMP): pyproject.toml constraints.txt
	@python=$$(for p in $(CANDIDATES); do \
	  $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done); \
	if [ -z "$$python" ]; then \
	  echo "runwire needs Python 3.11 or newer; none of these is: $(CANDIDATES). Name one: make PYTHON=/path/to/python3" >&2; exit 1; fi; \
	if ! $$python -c 'import ensurepip' 2>/dev/null; then \
	  version=$$($$python -c 'import sys; print("%d.%d" % sys.version_info[:2])'); \
	  echo "$$python cannot make environments with pip. Run: apt-get install -y python$$version-venv" >&2; exit 1; fi; \
	echo "setting up $(VENV) with $$python (about a minute)"; \
	$$python -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[server,agui,dev]'
	@touch $@

# The peers have an environment of their own, so that nothing of theirs can hold up a test.
$(BENCH)/.stamp: $(STAMP) benchmarks/requirements.txt
	@echo "setting up $(BENCH) with the peers (about a minute)"
	@$(BIN)/python -m venv $(BENCH)
	@$(BENCH)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -r benchmarks/requirements.txt -e '.[server,agui]'
	@touch $@
