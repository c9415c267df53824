# make verify   set up, decide the claims, measure a real model pair, write out/report.html
# make test     set up with everything the tests need, and run them: some minutes
# make slow     run the tests that take longer, as CI does
# make proofs   make again the proofs of theory/proofs whose code is another by now, and let cvc5 check every question
# make models   set up what `simlab generate` and the other commands for real models need: torch, and compiled kernels
# make device-day NAME=h200    measure all that waits for a CUDA device, and put it where the pages have it from
# make engines  set up engines of others in .engines, and certify what has no certificate of these versions
# make lab      open the notebooks in JupyterLab
# make docs     build the documentation into docs/_build/html, with the report of make verify
# make picture  photograph a section of the report for README and the documentation; needs Chromium
# make check    ruff and mypy

PYTHON ?= python3
BIN := .venv/bin

unexport PYTHONDONTWRITEBYTECODE  # a thousand modules, and many processes: each is compiled once

.PHONY: verify test slow proofs models device-day engines lab docs picture check clean

verify: .venv/.verify
	$(BIN)/simlab verify --out out

test: .venv/.test
	$(BIN)/pytest -n auto --dist loadfile -m "not slow"

slow: .venv/.test
	$(BIN)/pytest -n auto --dist loadfile -m slow

proofs: .venv/.test
	$(BIN)/python -m theory.proofs --check

check: .venv/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

lab: .venv/.test
	$(BIN)/jupytext-config --settings-file .venv/etc/jupyter/labconfig/default_setting_overrides.json set-default-viewer python
	$(BIN)/jupyter lab --notebook-dir=notebooks

docs: .venv/.docs out/verdicts.json
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

CHROMIUM ?= chromium
picture: out/verdicts.json
	sed 's|</head>|<style>main > *:not(#paper-gsd) { display: none; }</style></head>|' out/report.html > out/picture.html
	$(CHROMIUM) --headless --no-sandbox --hide-scrollbars --window-size=1120,1320 --screenshot=$(CURDIR)/reports/images/report.png "file://$(CURDIR)/out/picture.html"
	rm out/picture.html

out/verdicts.json: | .venv/.verify
	$(BIN)/simlab verify --out out

.venv/bin/pip:
	$(PYTHON) -m venv .venv

# Of torch there are several builds, and pip may have been told which to take. The rest uv installs in a part of the
# time, or pip where it was told of an index of its own, which uv does not read, and where uv reaches none.
PINNED = --quiet --constraint constraints.txt
install = @echo "installs what simlab[$(1)] needs in .venv"; \
	! $(BIN)/pip config list | grep -qE '[.](index-url|no-index)=' \
	&& $(BIN)/pip install $(PINNED) --only-binary uv uv $(2) \
	&& $(BIN)/uv pip install --python $(BIN)/python $(PINNED) --editable '.[$(1)]' \
	|| $(BIN)/pip install $(PINNED) --editable '.[$(1)]'

.venv/.verify: pyproject.toml constraints.txt | .venv/bin/pip
	$(call install,report)
	touch $@

models: .venv/.models

.venv/.models: pyproject.toml constraints.txt | .venv/.verify
	$(call install,torch,torch)
	$(BIN)/python -m experiments.verification.kernels
	touch $@

SECONDS ?= 1500
DATA ?=

device-day: .venv/.test
	$(if $(NAME),,$(error NAME is not set; expected a short name of the machine, such as NAME=h200))
	$(BIN)/simlab model device-day $(NAME) --seconds $(SECONDS) --results reports/measured $(if $(DATA),--data $(DATA))

# programs of findings whose packages are installed there
SHOWN = rotalabs-accel sequential-speculative-decoding-capped-hsd transformers-universal flashspec-engine-greedy-drafter

engines: .engines/.engines
	.engines/bin/python -m experiments.engines.record
	for each in $(SHOWN); do echo "docs/engines/$$each.py"; .engines/bin/python docs/engines/$$each.py 2>/dev/null || exit 1; done

.engines/.engines: pyproject.toml constraints.txt experiments/engines/requirements.txt
	$(PYTHON) -m venv .engines
	.engines/bin/pip install --quiet --constraint constraints.txt --editable '.[cuda,engines,verifiers]'
	.engines/bin/pip install --quiet --no-deps --requirement experiments/engines/requirements.txt
	touch $@

.venv/.docs: pyproject.toml constraints.txt | .venv/bin/pip
	$(call install,docs,torch)
	touch $@ .venv/.verify .venv/.models

.venv/.test: pyproject.toml constraints.txt | .venv/bin/pip
	$(call install,dev,torch)
	touch $@ .venv/.verify .venv/.models .venv/.docs

clean:
	rm -rf .venv .engines out docs/_build docs/written
