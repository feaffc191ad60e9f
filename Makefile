# A thin front: meson builds, tools/run-tests tests. `make run` and `make test` start from nothing.

BUILD := build
MESON_FLAGS ?=
FUZZ_SECONDS ?= 60
SOAK_SECONDS ?= 600
export PYTHON ?= /usr/bin/python3

all: setup-build build

setup-build:
	@tools/setup.sh build

setup-run:
	@tools/setup.sh build run

setup-test:
	@tools/setup.sh build run test

build:
	@test -f $(BUILD)/build.ninja || meson setup $(MESON_FLAGS) $(BUILD)
	@ninja -C $(BUILD)

# Skips what is up to date, so this is quick the second time.
templates: build
	@$(BUILD)/bin/reckon template build python data

run: setup-run
	@$(MAKE) --no-print-directory templates
	@examples/run.sh

test: setup-test
	@tools/run-tests all

# The quick one, in three minutes: no set-up, no sanitizers, of the end-to-end tests some.
check:
	@tools/run-tests build templates unit quick

lint:
	@tools/run-tests build lint

fuzz: setup-test
	@FUZZ_SECONDS=$(FUZZ_SECONDS) tools/fuzz

soak: setup-test templates
	@SOAK_SECONDS=$(SOAK_SECONDS) $(BUILD)/venv/bin/pytest -s -p no:cacheprovider test/soak \
		test/e2e/test_serve_crash.py test/e2e/test_serve_crowd.py \
		test/e2e/test_serve_kills.py

# The packages on a fresh Debian, the service under systemd, the container: minutes, needs root.
package-test: setup-build
	@tools/setup.sh package
	@tools/package-test
	@tools/image-test

# Walls and hosts that this one has not, in QEMU: minutes, needs root. HOST_TEST="--machine ssbd".
host-test: setup-test
	@$(MAKE) --no-print-directory build
	@$(BUILD)/bin/reckon template build python
	@tools/host-test $(HOST_TEST)

# Takes each wall of a box away, in a copy of the tree, and demands that a test notices: minutes, root.
# WALLS="landlock 'pids group'" takes some.
wall-test: setup-test
	@$(MAKE) --no-print-directory build
	@$(BUILD)/bin/reckon template build python
	@tools/wall-test $(WALLS)

# Small changes of the code, each of which a test should notice: a minute or two for each, root.
# MUTANTS="--count 10 --in src/host".
mutants: setup-test
	@$(MAKE) --no-print-directory build
	@$(BUILD)/bin/reckon template build python data
	@tools/mutants $(MUTANTS)

bench: setup-run templates
	@$(BUILD)/bin/reckon bench

# The daemon against a Jupyter kernel and a Jupyter Server, which it installs into build/bench-venv.
bench-http: setup-run templates
	@test/bench/http_bench.py --install

clean:
	rm -rf $(BUILD) build-asan build-clang build-fuzz build-walls build-mutants

.PHONY: all setup-build setup-run setup-test build templates run test check lint fuzz soak package-test host-test wall-test mutants bench bench-http clean
