# Everything a person or CI types. The first call makes .venv; later calls start at once.
VENV := .venv
BIN := $(VENV)/bin
BRIDGES := .venv-bridges
export OMP_WAIT_POLICY := passive

.PHONY: run test test-bridges test-browser lint types bench clean

run: $(VENV)/.installed
	$(BIN)/einstellung demo

test: $(VENV)/.installed-dev lint types
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist loadfile
	@echo "Not run here: the tests of pages in Chromium (make test-browser) and of other frameworks (make test-bridges)."

# Frameworks that want packages of their own (avalanche-lib, lightning, timm, transformers) are tested in an environment of their own.
test-bridges: $(BRIDGES)/.installed
	OMP_NUM_THREADS=1 $(BRIDGES)/bin/python -m pytest tests/bridges_environment

# Pages in a real browser; needs Chromium with its driver, Node and npm (Debian: apt-get install chromium chromium-driver npm).
test-browser: $(VENV)/.installed-browser
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -p no:xdist tests/browser

lint: $(VENV)/.installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports

types: $(VENV)/.installed-dev
	$(BIN)/mypy

bench: $(VENV)/.installed-dev
	$(BIN)/python -m benchmarks --short

clean:
	rm -rf $(VENV) $(BRIDGES) results

$(VENV)/bin/python $(BRIDGES)/bin/python:
	@python=; for candidate in python3 python3.11 python3.12 python3.13 python3.14; do \
	  if $$candidate -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then python=$$candidate; break; fi; \
	done; \
	if [ -z "$$python" ]; then echo "einstellung needs Python 3.11 or newer; none was found on the PATH" >&2; exit 2; fi; \
	place=$(patsubst %/bin/python,%,$@); echo "making $$place with $$($$python --version)"; $$python -m venv $$place

$(VENV)/.installed: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[fast]'
	@touch $@

$(VENV)/.installed-dev: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@ $(VENV)/.installed

$(VENV)/.installed-browser: tests/browser/requirements.txt tests/browser/package-lock.json $(VENV)/.installed-dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement tests/browser/requirements.txt
	cd tests/browser && npm ci --no-fund --no-audit
	@touch $@

$(BRIDGES)/.installed: pyproject.toml tests/bridges_environment/requirements.txt | $(BRIDGES)/bin/python
	$(BRIDGES)/bin/python -m pip install --quiet --disable-pip-version-check --editable . --requirement tests/bridges_environment/requirements.txt
	@touch $@
