# Every target makes the virtual environment itself; the second run needs no network.
PYTHON  ?= python3
VENV    := .venv
BIN     := $(VENV)/bin
# Two stamps: what runs flexlet, and what tests and checks it besides.
RUNTIME := $(VENV)/.runtime
STAMP   := $(VENV)/.installed

NODE    ?= vm
# hypothesis marks its tests itself.
SLOW    := (slow or hypothesis) and not vm and not cluster

# Bytecode is kept, whatever the surroundings say: without it every test worker and every flexlet that a test starts
# compiles all it imports again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help

help: ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(RUNTIME): requirements/runtime.txt pyproject.toml tools/environment.py
	@$(PYTHON) tools/environment.py $(VENV) requirements/runtime.txt
	@touch $@

$(STAMP): $(RUNTIME) requirements/dev.txt
	@$(PYTHON) tools/environment.py $(VENV) requirements/dev.txt
	@touch $@

venv: $(STAMP) ## make the virtual environment

test: $(STAMP) ## fast tests: no root, no QEMU, no Go
	$(BIN)/python -m pytest -n auto

test-cluster: $(STAMP) lab-tools ## a real Kubernetes: kubectl against flexlet, a VM node in its cluster (needs Go)
	tools/kubernetes/build
	tools/kubernetes/build kubelet
	$(BIN)/python -m pytest -m cluster -n 2 --dist loadfile

test-vm: $(STAMP) lab-tools ## real machines: QEMU, cgroup v2, containerd, hot plug
	$(BIN)/flexlet lab image build
	$(BIN)/python -m pytest -m vm -n 2 --dist loadfile

test-slow: $(STAMP) ## what is long: processes, histories, documentation, fuzzing, every property with more examples
	FLEXLET_EXAMPLES=60 $(BIN)/python -m pytest -m "$(SLOW) and not full" -n 2

test-full: $(STAMP) ## the longest campaigns, for hours; not part of .ci/run
	FLEXLET_CAMPAIGN=full $(BIN)/python -m pytest -m "$(SLOW)" -n 2

test-bare: $(RUNTIME) lab-tools ## the README's two commands in a Debian that has Python and nothing else (needs root)
	$(BIN)/python tools/bareroot.py

COVER   := $(BIN)/python -m coverage run --parallel-mode -m pytest -q -m "not vm and not cluster and not full"

cover: $(STAMP) ## tests with branch coverage of core/ and api/ (fails below 95% by line)
	$(BIN)/python -m coverage erase
	$(COVER) tests/core & other=$$!; $(COVER) tests/api tests/properties; first=$$?; wait $$other && exit $$first
	$(BIN)/python -m coverage combine -q
	$(BIN)/python -m coverage report --include='src/flexlet/core/*,src/flexlet/api/*' --fail-under=95

mutate: $(STAMP) ## change source a little and see whether tests notice: make mutate FILES=src/... TESTS=tests/...
	$(BIN)/python tools/mutate.py $(FILES) --tests "$(TESTS)" $(if $(SAMPLE),--sample $(SAMPLE))

lint: $(STAMP) ## ruff, mypy strict, import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: $(STAMP) ## let ruff rewrite what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

up: $(RUNTIME) $(if $(filter vm%,$(NODE)),lab-tools) ## start a cluster; its node is a VM, or simulated: make up NODE=hollow=3
	$(BIN)/flexlet up --data .flexlet --node $(NODE)

demo: $(RUNTIME) lab-tools ## see it work: a real machine, a real runtime, resized and grown while they run
	$(BIN)/flexlet demo

lab-tools: $(RUNTIME) # QEMU and what builds its image: installed if we may, named if not
	@$(BIN)/python -c 'import sys; from flexlet.adapters import image; image.install_missing(lambda text: print(text, file=sys.stderr))'

bench: $(STAMP) ## measure: calc, start-up, store, API server beside the real one, a thousand nodes
	$(BIN)/python -m bench

LOCK = $(BIN)/uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --extra fast pyproject.toml

lock: $(STAMP) ## compile requirements/*.txt again (names, versions, hashes); both pin the same versions
	$(LOCK) requirements/dev.in -o requirements/dev.txt
	$(LOCK) -c requirements/dev.txt -o requirements/runtime.txt

clean: ## remove the virtual environment and caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage

.PHONY: help venv up demo lab-tools test test-vm test-cluster test-slow test-full test-bare cover mutate lint format bench lock clean
