# make demo sets everything up and does the main job; make test sets everything up and tests it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
KGEN := $(BIN)/kgen
BENCH := .venv-bench
# Suite of `make bench`, and the packages that each compares with or needs.
SUITE := cpu
LIBRARIES_cpu := torch iree-base-compiler iree-base-runtime onnx onnxruntime openvino
LIBRARIES_models := torch onnx onnxscript onnxruntime openvino gguf safetensors transformers
LIBRARIES_exports := torch onnx onnxscript onnxruntime transformers
LIBRARIES_vulkan := kgen-kernels[vulkan,webgpu] ncnn iree-base-compiler iree-base-runtime
LIBRARIES_gpu := torch kgen-kernels[all]
# The version that docs/performance.md and the tests' bars speak of.
TRITON := 3.9.0
SHAPE := 1024x1024x1024
DEMO := demo.kgen
PYTHON_FILES := codegen runtime tests benchmarks scripts examples

# Both distributions, so that a change of the code needs no new installation.
CHECKOUT := --editable runtime --editable .

.PHONY: help setup lock drivers demo test test-avx2 test-windows unit check format lint types fast generated reference gate bench wheels runtime-wheel c-runtime install single-file fuzz fuzz-bundles figures clean

help:
	@grep -E '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: $(VENV)/installed ## virtual environment, PyPI packages, Debian packages, libkgen
	@$(BIN)/python runtime/build_libkgen.py

$(VENV)/installed: pyproject.toml runtime/pyproject.toml requirements-dev.txt scripts/system-packages.sh
	@scripts/system-packages.sh
	@test -x $(BIN)/pip || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --require-hashes -r requirements-dev.txt
	@$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation $(CHECKOUT)
	@# pip compiles the modules of a wheel, not those of a checkout. Each command would do it anew
	@# where PYTHONDONTWRITEBYTECODE is set, which takes a tenth of a second.
	@$(BIN)/python -m compileall -q codegen runtime
	@touch $@

lock: .venv-lock/bin/uv ## rewrite requirements-dev.txt: the newest versions that pyproject.toml allows
	@head -n 2 requirements-dev.txt > .venv-lock/requirements.txt
	.venv-lock/bin/uv pip compile pyproject.toml --extra dev --universal --python-version 3.11 \
	    --generate-hashes --no-emit-package kgen-kernels-runtime --no-header --no-annotate \
	    --quiet --upgrade --output-file .venv-lock/compiled.txt
	@cat .venv-lock/compiled.txt >> .venv-lock/requirements.txt
	@mv .venv-lock/requirements.txt requirements-dev.txt

.venv-lock/bin/uv:
	$(PYTHON) -m venv .venv-lock
	.venv-lock/bin/python -m pip install --quiet 'uv>=0.5'

drivers: .drivers/tried ## newer Vulkan drivers than the system's, and Python for Windows, for tests; unpacked, not installed

.drivers/tried: scripts/fetch_drivers.py scripts/fetch_windows_python.py | $(VENV)/installed
	@scripts/fetch_drivers.py
	@$(BIN)/python scripts/fetch_windows_python.py
	@touch $@

demo: $(VENV)/demo-installed ## build the 1024x1024x1024 matmul for four targets, verify it, leave demo.kgen
	$(BIN)/python -m scripts.demo --shape $(SHAPE) --output $(DEMO)

# The packages that kgen and README's examples need: no Debian package, and none of [dev].
$(VENV)/demo-installed: pyproject.toml runtime/pyproject.toml
	@test -x $(BIN)/pip || $(PYTHON) scripts/heartbeat.py "making $(VENV)" $(PYTHON) -m venv $(VENV)
	@$(PYTHON) scripts/heartbeat.py "installing kgen" \
	    $(BIN)/python -m pip install --quiet --editable runtime --editable '.[vulkan,onnx]'
	@$(BIN)/python runtime/build_libkgen.py
	@touch $@

# Tests get an environment that is the same on every machine. One session runs all of them, because
# each worker collects them again.
PYTEST := scripts/clean-env.sh $(BIN)/python -m pytest -n auto --dist worksteal
PYTEST_AVX2 := scripts/clean-env.sh scripts/as-avx2.sh $(BIN)/python -m pytest -n auto --dist worksteal
# CHANGED=1 selects the tests of the folders that changed since BASE, by default since main.
CHANGED ?=
BASE ?=
SELECTED = $(if $(CHANGED),$(or $(shell $(BIN)/python -m scripts.changed_tests $(if $(BASE),--base $(BASE))),$(error scripts.changed_tests failed)))

# Results that several tests of `make test` compute (tests/kept.py).
KEPT := build/kept
# A CPU without AMX has emulated its kernels in the first pass.
NO_AMX = $(shell grep -qw amx_tile /proc/cpuinfo || echo ' and not amx')
# Of the CPU's tests, those that another CPU may fail: not what libkgen reads and refuses, nor the
# systems that it is compiled for, nor kernels in an emulator of a CPU, nor races, accesses and
# instructions.
OTHER_CPU := tests/device/cpu --kept $(KEPT) --each-value-once -k 'not qemu and not aarch64$(NO_AMX)' $(addprefix --ignore=tests/device/cpu/c_runtime/test_,\
    $(addsuffix .py,bundles differential hostile install other_systems sources)) \
    $(addprefix --deselect=tests/device/cpu/,c_runtime/test_kernels.py::test_threads test_baseline.py::test_no_later_instruction \
    test_guards.py::test_no_access_outside_any_buffer)

# Types are checked by one process, and the gate runs beside it.
test: setup drivers ## everything that CI runs; CHANGED=1: only what a change needs
	@$(MAKE) --no-print-directory -j2 format-check lint types $(if $(CHANGED),,gate)
	@rm -rf $(KEPT)
	$(PYTEST) $(SELECTED) --kept $(KEPT)
	@test -n "$(CHANGED)" || ! grep -qwE 'avx512f|avx_vnni' /proc/cpuinfo || $(MAKE) --no-print-directory test-avx2 ARGS="$(OTHER_CPU)"

test-avx2: setup ## every test as on an x86-64 CPU without AVX-512 and AMX; ARGS="tests/device -x"
	$(PYTEST_AVX2) $(ARGS)

test-windows: setup drivers ## libkgen and the Python runtime as Windows programs, under Wine; make test runs them too
	$(PYTEST) -k "windows or win_amd64" tests/device/cpu/c_runtime/test_other_systems.py \
	    tests/packaging/test_wheel_libraries.py tests/packaging/test_windows_python.py

check: setup drivers format-check lint types fast ## format, lint, strict types, fast tests: before each commit

unit: $(VENV)/installed ## the inner loop: no assembler, emulator, driver or process
	$(PYTEST) tests/unit tests/style -m "not integration and not slow"

format: setup ## rewrite the layout of the Python files
	$(BIN)/ruff format $(PYTHON_FILES)
	$(BIN)/ruff check --fix $(PYTHON_FILES)

.PHONY: format-check
format-check:
	$(BIN)/ruff format --check $(PYTHON_FILES)

lint:
	$(BIN)/ruff check $(PYTHON_FILES)

types:
	$(BIN)/mypy

# What a change anywhere may break, in minutes: everything but kernels executed, emulated or assembled.
FAST := tests/unit tests/style tests/golden tests/packaging
fast:
	$(PYTEST) $(FAST) -m "not slow"

generated: setup ## rewrite the golden kernels in generated/
	$(BIN)/python tests/golden/goldens.py

reference: setup ## rewrite the tables of README and docs/ that are generated from the code
	$(BIN)/python -m scripts.reference

gate: setup drivers ## hold kgen's own kernels against perf_budgets.toml
	$(KGEN) perf check

bench: $(BENCH)/$(SUITE) ## measure SUITE=cpu|models|exports|vulkan|triton|tool|flagships|gpu (benchmarks/README.md); ARGS="--only f32"
	$(BENCH)/bin/python -m benchmarks.$(SUITE) $(ARGS)
	$(BENCH)/bin/python -m benchmarks.page --write

# An environment of its own: the libraries take gigabytes, and no test needs them.
$(BENCH)/%: pyproject.toml scripts/system-packages.sh
	@scripts/system-packages.sh
	@test -x $(BENCH)/bin/python || $(PYTHON) -m venv $(BENCH)
	@$(BENCH)/bin/python -m pip install --quiet --editable runtime --editable '.[bench]'
	@for library in $(LIBRARIES_$*); do \
	    $(BENCH)/bin/python -m pip install --quiet $$library || \
	    echo "$$library cannot be installed here; going on without"; \
	done
	@touch $@

# PyTorch brings a Triton of its own.
$(BENCH)/triton: .venv-triton/bin/python $(BENCH)/tool
	@touch $@

.venv-triton/bin/python:
	$(PYTHON) -m venv .venv-triton
	.venv-triton/bin/python -m pip install --quiet triton==$(TRITON)

figures: setup ## write docs/performance.md and README's table from benchmarks/results
	$(BIN)/python -m benchmarks.page --write

wheels: setup runtime-wheel ## both distributions as wheels in dist/, the runtime for every system
	$(BIN)/python -m hatchling build -t wheel -d dist

runtime-wheel: setup ## the runtime alone, which needs numpy only, in dist/: for seven systems, and the sdist
	$(BIN)/python -m scripts.runtime_wheels dist

c-runtime: ## the C runtime as libraries, build/libkgen.a and libkgen.so.1 (docs/reference/c-runtime.md); CFLAGS=...
	@$(MAKE) --no-print-directory -s -C runtime/c BUILD=$(CURDIR)/build

install: ## install the C runtime for make, pkg-config and CMake; PREFIX=/usr/local
	@$(MAKE) --no-print-directory -s -C runtime/c BUILD=$(CURDIR)/build install

single-file: ## the C runtime as one file, build/single-file/kgen_all.c, beside kgen.h and kgen.hpp
	$(PYTHON) -m scripts.amalgamate build/single-file

fuzz: setup ## random specs and schedules on every target for a minute; FUZZ="--seconds 600"
	$(BIN)/python scripts/fuzz.py $(FUZZ)

fuzz-bundles: setup ## mutated bundles to C and Python, which have to agree, for an hour; FUZZ="--seconds 600"
	$(BIN)/python -m tests.device.cpu.c_runtime.differential --seconds 3600 $(FUZZ)

clean:
	rm -rf $(VENV) $(BENCH) .venv-lock .venv-triton .drivers dist build *.kgen .mypy_cache .ruff_cache .pytest_cache .hypothesis
