# Everything a person or CI types. The first call makes .venv; later calls start at once.
VENV := .venv
BIN := $(VENV)/bin
export OMP_WAIT_POLICY := passive

.PHONY: run test lint types bench clean

run: $(VENV)/.installed
	$(BIN)/einstellung demo

test: $(VENV)/.installed-dev lint types
	$(BIN)/python -m pytest

lint: $(VENV)/.installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports

types: $(VENV)/.installed-dev
	$(BIN)/mypy

bench: $(VENV)/.installed-dev
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) results

$(VENV)/bin/python:
	@python=; for candidate in python3 python3.11 python3.12 python3.13 python3.14; do \
	  if $$candidate -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then python=$$candidate; break; fi; \
	done; \
	if [ -z "$$python" ]; then echo "einstellung needs Python 3.11 or newer; none was found on the PATH" >&2; exit 2; fi; \
	echo "making $(VENV) with $$($$python --version)"; $$python -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.installed-dev: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@ $(VENV)/.installed
