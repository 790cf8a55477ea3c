# Needs only make and Python 3.11 or newer; everything else goes into .venv.
# Another interpreter: make test PYTHON=python3.12

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.DEFAULT_GOAL := help
.PHONY: help demo test slow coverage hooks bench dist docs paper soak clean

help: ## List these targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(VENV)/installed ## Fit the reconstructed electric-machine data and print its equation
	$(BIN)/ieql demo

test: $(VENV)/installed-test ## Lint, check the types and run all tests but the slow ones
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest -n 2 -m "not slow"

slow: $(VENV)/installed-test ## Run the slow tests: kills, memory, large tables, whole experiments
	$(BIN)/pytest -n 2 -m slow

coverage: $(VENV)/installed-test ## Run every test and count the lines that they run, which takes longer
	$(BIN)/pytest -n 2 --cov=src

hooks: $(VENV)/installed-test ## Check style before each commit and types before each push (pre-commit)
	@$(INSTALL) 'pre-commit>=3.7'
	$(BIN)/pre-commit install --hook-type pre-commit --hook-type pre-push

bench: $(VENV)/installed ## Ten minutes of fits and kernels beside the last release; STORE=1 keeps them
	$(BIN)/python benchmarks/bench.py $(if $(STORE),--store)

dist: $(VENV)/installed ## Build the source archive and the wheel, and try the wheel
	@rm -rf dist
	@$(INSTALL) 'hatchling>=1.25'
	$(BIN)/python -m hatchling build
	@$(PYTHON) -m venv dist/trial
	@dist/trial/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt dist/*.whl
	dist/trial/bin/ieql --version
	@rm -rf dist/trial

soak: $(VENV)/installed-test ## Run the long checks of reliability (about two hours) and write docs/reliability.md
	$(BIN)/python -m soak; result=$$?; $(BIN)/python -m soak --write; exit $$result

docs: $(VENV)/installed ## Write docs/api.md from the docstrings
	$(BIN)/python docs/build_api.py

paper: $(VENV)/installed-paper ## Reproduce every table and figure of the paper; 90 minutes on 2 cores
	$(BIN)/python -m experiments all --budget quick

clean: ## Remove the environment and everything generated, except runs/
	rm -rf $(VENV) dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage*
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamps stand for a finished set-up, which is repeated only when what is to be installed changes.
# The install is editable, so that the compiled kernels, cached beside the sources, outlive a reinstall.
$(VENV)/installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("ieql needs Python 3.11 or newer; name one: make PYTHON=python3.12" if sys.version_info < (3, 11) else 0)'
	@echo "Setting up $(VENV) (once) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(INSTALL) --editable .
	@touch $@

$(VENV)/installed-paper: $(VENV)/installed
	@echo "Adding the tools to compare with (once) ..."
	@$(INSTALL) --editable '.[paper]'
	@touch $@

$(VENV)/installed-test: $(VENV)/installed
	@echo "Adding the test tools (once) ..."
	@$(INSTALL) --editable '.[test]'
	@touch $@
