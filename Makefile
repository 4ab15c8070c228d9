# `make run` and `make test` set up everything they need by themselves.
VENV := .venv
BIN := $(VENV)/bin
# The first of these that is there; python3 is checked for its version below.
PYTHON ?= $(shell command -v python3.11 || command -v python3.12 || command -v python3.13 || command -v python3)
# What runs is there; so is what tests it.
READY := $(VENV)/.ready
DEV := $(VENV)/.dev
# One worker for each core; one that has nothing left to do takes tests of another.
SIDE_BY_SIDE := --durations 15 --dist worksteal --numprocesses
STUDIES := workflow or release or experiments or faults or slurm
# Files with such tests: each worker collects what it is given.
OF_STUDIES = $(sort $(shell grep -rlE 'mark\.($(subst $() or $(),|,$(STUDIES)))\b' --include='test_*.py' tests))
# What is marked so runs at night only; `make nightly` runs all.
MARKED := not nightly
# The targets of `make nightly`, and where it writes what they print.
AT_NIGHT := lint docs unit benchmark test-audits test-core test-light test-studies test-snakemake-versions test-lowest test-newest mutants
NIGHTLY := .nightly
FUZZ_SECONDS ?= 600
# Modules below workflow to change, such as dpgrs/privacy/noise/sources.py; empty means all on which a guarantee hangs.
MODULES ?=
# K/N: every N-th of these from the K-th on; empty means all. A night takes one of 28, by the day of the year.
SHARE ?=
# The folder of public data of `frontier` and `experiments`, and their cases and names; none means all.
DATA ?= $(DPGRS_TEST_DATA)
CASES ?=
NAMES ?=
# Numbers of what `reliability` does, from 1 on; none means all.
FAULTS ?=
MUTANTS := .mutants/venv
# What resolves versions of libraries.
UV := $(BIN)/uv
# Of the two ends of the ranges of pyproject.toml: which versions, and which Python has wheels of them.
ENDS := .ends
RESOLUTION_lowest := lowest-direct
RESOLUTION_newest := highest
PYTHON_lowest ?= 3.11
PYTHON_newest ?= 3.13
# Versions of Snakemake to compare with the locked one.
SNAKEMAKES ?= 9.0.0
# A copy of this clone without the papers' package, and a Python that does not see this clone.
CORE := .core
CORE_PYTHON := $(abspath $(CORE))/venv/bin/python
PURELIB := import sysconfig; print(sysconfig.get_path("purelib"))
DOCS := .docs/venv

.PHONY: run test lint unit test-audits test-core test-workflow test-release test-experiments test-faults test-slurm test-studies \
  test-lowest test-newest test-light test-snakemake-versions nightly benchmark frontier genome biobank experiments fuzz mutants reliability golden reference docs lock clean help

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

run: $(READY)  ## run the demo study with all cores
	@$(BIN)/snakemake --cores all

test: lint unit  ## lint and run all tests but the slow suites

lint: $(DEV)  ## check the style of Python and Snakemake code, and types
	$(BIN)/ruff check setup.py workflow tests config docs/conf.py docs/_ext
	$(BIN)/ruff format --check setup.py workflow tests config docs/conf.py docs/_ext
	$(BIN)/snakefmt --check Snakefile workflow/Snakefile workflow/rules config/experiments/Snakefile
	$(BIN)/snakemake --lint
	$(BIN)/mypy

unit: $(DEV)  ## all tests but the slow suites
	$(BIN)/pytest $(SIDE_BY_SIDE) auto --ignore tests/statistical --ignore tests/papers/statistical -m "($(MARKED)) and not ($(STUDIES))"

test-audits: $(DEV)  ## audit every mechanism at worst-case neighbours, with controls that must be caught, and hold draws to exact laws
	$(BIN)/pytest $(SIDE_BY_SIDE) auto -m "$(MARKED)" tests/statistical $(wildcard tests/papers/statistical)

test-core: $(DEV)  ## run the demo, small releases and the core's unit tests in a copy without the papers' package
	@rm -rf $(CORE) && mkdir -p $(CORE)/clone/results
	@cp -R $(filter-out results,$(wildcard *)) $(CORE)/clone
	@rm -rf $(CORE)/clone/workflow/dpgrs_papers* $(CORE)/clone/workflow/pyproject.toml $(CORE)/clone/tests/papers
	@$(BIN)/python -m venv --without-pip $(CORE)/venv
	@{ echo "$(abspath $(CORE))/clone/workflow"; $(BIN)/python -c '$(PURELIB)'; } > "$$($(CORE_PYTHON) -c '$(PURELIB)')/packages.pth"
	@sed '1s|.*|#!$(CORE_PYTHON)|' $(BIN)/snakemake > $(CORE)/venv/bin/snakemake && chmod +x $(CORE)/venv/bin/snakemake
	cd $(CORE)/clone && PATH="$(abspath $(CORE))/venv/bin:$$PATH" snakemake --cores all --quiet
	tests=$$($(BIN)/python tests/of_core.py); cd tests && data=$$(../$(BIN)/python -c 'import conftest; print(conftest.REAL_DATA)') && \
	  cd ../$(CORE)/clone && DPGRS_TEST_DATA="$$data" $(CORE_PYTHON) -m pytest $(SIDE_BY_SIDE) auto \
	  -m "$(MARKED)" -k "not naive and not are_of_every_method and not shows_every_key and not scaling" $$tests tests/contract/test_golden_releases.py

test-workflow:  ## whole studies, forced anew, at chance level, of people and of real files, and bad input
test-release:  ## whole releases with metrics that are paid for, replayed and refused
test-experiments:  ## quick experiments of the papers on real data, with margins
test-faults:  ## kill, damage and starve runs and releases at many places and resume them
test-slurm:  ## run the demo through a real single-machine SLURM (needs root, slurm-wlm, munge)

test-workflow test-release test-experiments test-faults test-slurm: test-%: $(DEV)
	$(BIN)/pytest $(SIDE_BY_SIDE) auto -m "($(MARKED)) and $*" $(OF_STUDIES)

# One worker more than cores: a run through SLURM mostly waits.
test-studies: $(DEV)  ## the five above at once
	$(BIN)/pytest $(SIDE_BY_SIDE) $$(($$(getconf _NPROCESSORS_ONLN) + 1)) -m "($(MARKED)) and ($(STUDIES))" $(OF_STUDIES)

test-lowest:  ## unit tests and releases on the lowest versions that pyproject.toml allows
test-newest:  ## the same on the newest versions

# Tools of the tests are the newest at both ends: nobody who installs dpgrs depends on them.
test-lowest test-newest: test-%: $(UV)
	@$(UV) venv --quiet --clear --python $(PYTHON_$*) $(ENDS)/$*
	@$(UV) pip install --quiet --python $(ENDS)/$* --resolution $(RESOLUTION_$*) -e '.[score,workflow]'
	@$(UV) pip install --quiet --python $(ENDS)/$* -e '.[workflow,dev]'
	$(ENDS)/$*/bin/pytest $(SIDE_BY_SIDE) auto --ignore tests/statistical --ignore tests/papers/statistical -m "($(MARKED)) and not ($(STUDIES))"

# Weighed with compiled modules and without pip.
test-light: $(DEV)  ## install the base into a fresh environment, weigh it, and verify and score a bundle by it in every format
	@rm -rf $(ENDS)/light
	@$(BIN)/python -m venv --without-pip $(ENDS)/light
	@$(BIN)/python -m pip --python $(ENDS)/light/bin/python install --quiet --disable-pip-version-check .
	@folder=$$(mktemp -d); trap 'rm -rf "$$folder"' EXIT; \
	  PYTHONPATH=tests $(BIN)/python -m target_formats $(ENDS)/light/bin/dpgrs "$$folder"
	@megabytes=$$(du -sm $(ENDS)/light/lib | cut -f1); echo "$$megabytes MB"; [ $$megabytes -lt 400 ]

# Each suite runs, whether those before it passed or not; none may skip a test.
nightly: $(DEV)  ## lint, the manual and every test, also those that no other target runs, and a share of the mutants; ends with a table of the suites and their last lines (hours)
	@mkdir -p $(NIGHTLY); failures=0; rm -f $(NIGHTLY)/*; touch $(NIGHTLY)/failures; \
	export PYTEST_DEBUG_TEMPROOT=$$(mktemp -d); trap 'rm -rf "$$PYTEST_DEBUG_TEMPROOT"' EXIT; \
	for suite in $(AT_NIGHT); do \
	  began=$$(date +%s); outcome=passed; \
	  DPGRS_NO_SKIPS=1 $(MAKE) --no-print-directory $$suite MARKED="nightly or not nightly" \
	    SHARE=$$(($$(date +%-j) % 28 + 1))/28 \
	    >$(NIGHTLY)/$$suite.log 2>&1 || { outcome=FAILED; failures=$$((failures + 1)); }; \
	  printf '%-24s %-6s %6s s  %s\n' $$suite $$outcome $$(($$(date +%s) - began)) \
	    "$$(grep -vE '^(make|$$)' $(NIGHTLY)/$$suite.log | tail -n 1)" | tee -a $(NIGHTLY)/summary; \
	  grep -hE '^(FAILED|ERROR) ' $(NIGHTLY)/$$suite.log >>$(NIGHTLY)/failures; \
	done; \
	cat $(NIGHTLY)/failures; echo "Suites, seconds and last lines, also in $(NIGHTLY)/summary:"; cat $(NIGHTLY)/summary; [ $$failures = 0 ]

test-snakemake-versions: $(DEV) $(SNAKEMAKES:%=.snakemakes/%/.ready)  ## a whole release and its replays under other versions of Snakemake (SNAKEMAKES): the same bytes
	PYTHONPATH=tests $(BIN)/python -m snakemake_versions $(BIN)/python $(SNAKEMAKES:%=.snakemakes/%/bin/python)

# All other packages are those of the tests.
.snakemakes/%/.ready: $(DEV)
	@$(BIN)/python -m venv --clear .snakemakes/$*
	@$(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' > \
	  $$(.snakemakes/$*/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/dpgrs_packages.pth
	@.snakemakes/$*/bin/python -m pip install --quiet --disable-pip-version-check "snakemake[reports]==$*"
	@touch $@

benchmark: $(DEV)  ## measure speed as ratios of two things in one run
	$(BIN)/pytest --benchmark-enable -s tests/benchmarks $(wildcard tests/papers/benchmarks)

frontier: $(DEV)  ## R^2 of methods on the public data in the folder DATA, all cases or CASES, as a table (hours)
	$(BIN)/python config/experiments/frontier.py "$(DATA)" $(CASES)

genome: $(DEV)  ## R^2 of private scores of a simulated whole genome, as a table (hours)
	$(BIN)/python config/experiments/genome.py

biobank: $(DEV)  ## files of a simulated biobank, 100,000 people x 100,000 variants, for config/experiments/biobank.yaml (half an hour)
	$(BIN)/python config/experiments/biobank.py

experiments: $(DEV)  ## figures and tables of the papers on the public data in the folder DATA, all or NAMES (hours)
	$(BIN)/snakemake -s config/experiments/Snakefile --cores all --config "data=$(DATA)" -- $(NAMES)

fuzz: $(DEV)  ## feed odd and damaged files to the VCF reader, twice FUZZ_SECONDS long, until one is read wrong
	@$(BIN)/python -c 'import atheris' 2>/dev/null || \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation -e '.[fuzz]'
	PYTHONPATH=workflow:tests $(BIN)/python -m fuzz.fuzz_vcf_scanner -max_total_time=$(FUZZ_SECONDS)
	PYTHONPATH=workflow:tests $(BIN)/python -m fuzz.fuzz_vcf_files -max_total_time=$(FUZZ_SECONDS)

mutants: $(DEV) $(MUTANTS)/.ready  ## change MODULES in many small ways, one at a time, and list what no test notices (hours)
	PYTHONPATH="tests:$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')" \
	  nice $(MUTANTS)/bin/python -m mutants.run $(if $(SHARE),--share $(SHARE)) $(MODULES) $(if $(TESTS),--tests $(TESTS))

$(MUTANTS)/.ready:
	@$(BIN)/python -m venv $(MUTANTS)
	@$(MUTANTS)/bin/python -m pip install --quiet --disable-pip-version-check "cosmic-ray>=8.4,<9" "coverage>=7.6,<8"
	@touch $@

reliability: $(DEV)  ## break a small release in many ways, resume it, and write what was seen into docs/measurements/reliability.md
	PYTHONPATH=workflow:tests $(BIN)/python -m reliability.run $(FAULTS)

golden: $(DEV)  ## write digests of what releases draw and publish, where a case is new or a version was raised
	$(BIN)/pytest --write-goldens tests/contract/test_golden_releases.py

reference: $(READY)  ## write docs/reference/settings.md and commands.md anew from the program
	$(BIN)/python docs/_ext/reference_pages.py

docs: $(DOCS)/.ready  ## build the manual as a site into docs/_build/html, without a warning
	$(DOCS)/bin/python -m sphinx -n -W --keep-going -q -c docs . docs/_build/html

# What its lock leaves out is in requirements.lock.
$(DOCS)/.ready: requirements-docs.lock $(READY)
	@$(BIN)/python -m venv --clear $(DOCS)
	@$(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' > \
	  $$($(DOCS)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/dpgrs_packages.pth
	@$(DOCS)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r $<
	@touch $@

# Of a lock: the packages that it has, for the next one to leave out.
LEAVE_OUT = $$(sed -nE 's/^([A-Za-z0-9._-]+)==.*/--no-emit-package \1/p' requirements.lock | sort -u)
COMPILE := $(UV) pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
  --custom-compile-command "make lock" --upgrade --quiet

lock: $(UV)  ## resolve the newest versions that fit pyproject.toml into requirements.lock, and what extras add into their own
	$(COMPILE) --extra workflow --extra build --output-file requirements.lock
	for extra in dev docs gan; do \
	  $(COMPILE) --extra workflow --extra $$extra --constraints requirements.lock $(LEAVE_OUT) \
	    --output-file requirements-$$extra.lock || exit; \
	done

$(UV): $(DEV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check "uv>=0.9,<1"
	@touch $@

clean:  ## remove the environment and the demo's results
	rm -rf $(VENV) results/demo

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] not in {(3, 11), (3, 12), (3, 13)})' || { \
	  echo "dpgrs needs Python 3.11, 3.12 or 3.13; name one with: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)" >&2; exit 2; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "This Python cannot make virtual environments. On Debian or Ubuntu: apt install python3-venv" >&2; exit 2; }
	@echo "Setting up $(VENV) (about a minute)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

$(DEV): requirements-dev.lock $(READY)
	@echo "Adding what the tests use"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r $<
	@touch $@
