# Everything a person or CI types. The first call makes .venv; later calls start at once.
VENV := .venv
BIN := $(VENV)/bin
BRIDGES := .venv-bridges
LAUNCHERS := .venv-launchers
PACKAGE := .venv-package
DOCS := .venv-docs
INSTALL := -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
export OMP_WAIT_POLICY := passive

.PHONY: run test test-bridges test-launchers test-browser lint types bench faults faults-short faults-full docs package lock clean

run: $(VENV)/.installed
	$(BIN)/einstellung demo

test: $(VENV)/.installed-dev lint types
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist loadfile
	@echo "Not run here: the tests of pages in Chromium (make test-browser), of other frameworks (make test-bridges) and of Ray and SLURM (make test-launchers)."

# Frameworks that want packages of their own (avalanche-lib, lightning, marimo, timm, transformers) are tested in an environment of their own.
test-bridges: $(BRIDGES)/.installed
	OMP_NUM_THREADS=1 $(BRIDGES)/bin/python -m pytest tests/bridges_environment

# Ray and submitit are large or rarely wanted: an environment of their own. A SLURM on this machine is used where it answers.
test-launchers: $(LAUNCHERS)/.installed
	OMP_NUM_THREADS=1 $(LAUNCHERS)/bin/python -m pytest tests/launchers_environment

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

# The fault campaign (docs/reliability.md): kills, full disks, damaged files, bad inputs, fuzzing. About 20 minutes, 2 for the short form;
# faults-full goes on from one call to the next until its goals are reached, and adds its counts to tests/faults/counts.json.
faults faults-short faults-full: $(VENV)/.installed-faults
	$(BIN)/python -m tests.faults $(if $(filter faults,$@),,--$(@:faults-%=%))

# The documentation site, in site/; a broken link or anchor is an error.
docs: $(DOCS)/.installed
	NO_MKDOCS_2_WARNING=1 $(DOCS)/bin/mkdocs build --strict --quiet
	@echo "Open site/index.html, or with search: python3 -m http.server --bind 127.0.0.1 --directory site"

# Asks pip for the newest versions that fit together, and writes them to locks/.
lock: $(VENV)/.installed-dev
	$(BIN)/python -m tests.packaging.lock

# Wheel and sdist into dist/, checked and installed into a fresh environment.
package: $(PACKAGE)/.installed
	$(PACKAGE)/bin/python -m tests.packaging.check_package

clean:
	rm -rf $(VENV) $(BRIDGES) $(LAUNCHERS) $(PACKAGE) $(DOCS) dist results site

$(VENV)/bin/python $(BRIDGES)/bin/python $(LAUNCHERS)/bin/python $(PACKAGE)/bin/python $(DOCS)/bin/python:
	@python=; for candidate in python3 python3.11 python3.12 python3.13 python3.14; do \
	  if $$candidate -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then python=$$candidate; break; fi; \
	done; \
	if [ -z "$$python" ]; then echo "einstellung needs Python 3.11 or newer; none was found on the PATH" >&2; exit 2; fi; \
	place=$(patsubst %/bin/python,%,$@); echo "making $$place with $$($$python --version)"; $$python -m venv $$place

# Installs what locks/NAME.txt pins, every dependency of a dependency included.
$(VENV)/.installed: pyproject.toml constraints.txt locks/user.txt | $(VENV)/bin/python
	$(BIN)/python $(INSTALL) --constraint locks/user.txt --editable '.[fast]'
	@touch $@

$(VENV)/.installed-dev: pyproject.toml constraints.txt locks/dev.txt | $(VENV)/bin/python
	$(BIN)/python $(INSTALL) --constraint locks/dev.txt --editable '.[dev]'
	@touch $@ $(VENV)/.installed

# The fuzzer that is guided by coverage has packages for some systems only; without it, hypothesis draws the inputs.
$(VENV)/.installed-faults: tests/faults/requirements.txt locks/faults.txt $(VENV)/.installed-dev
	-$(BIN)/python $(INSTALL) --constraint locks/faults.txt --only-binary :all: --requirement tests/faults/requirements.txt
	@touch $@

$(VENV)/.installed-browser: tests/browser/requirements.txt tests/browser/package-lock.json locks/browser.txt $(VENV)/.installed-dev
	$(BIN)/python $(INSTALL) --constraint locks/browser.txt --requirement tests/browser/requirements.txt
	cd tests/browser && npm ci --no-fund --no-audit
	@touch $@

$(BRIDGES)/.installed: pyproject.toml constraints.txt locks/bridges.txt tests/bridges_environment/requirements.txt | $(BRIDGES)/bin/python
	$(BRIDGES)/bin/python $(INSTALL) --constraint locks/bridges.txt --editable . --requirement tests/bridges_environment/requirements.txt
	@touch $@

$(LAUNCHERS)/.installed: pyproject.toml constraints.txt locks/launchers.txt tests/launchers_environment/requirements.txt | $(LAUNCHERS)/bin/python
	$(LAUNCHERS)/bin/python $(INSTALL) --constraint locks/launchers.txt --editable . --requirement tests/launchers_environment/requirements.txt
	@touch $@

$(PACKAGE)/.installed: tests/packaging/requirements.txt locks/package.txt | $(PACKAGE)/bin/python
	$(PACKAGE)/bin/python $(INSTALL) --constraint locks/package.txt --requirement tests/packaging/requirements.txt
	@touch $@

$(DOCS)/.installed: pyproject.toml constraints.txt docs/requirements.txt locks/docs.txt | $(DOCS)/bin/python
	$(DOCS)/bin/python $(INSTALL) --constraint locks/docs.txt --editable . --requirement docs/requirements.txt
	@touch $@
