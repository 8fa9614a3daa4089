# Everything a developer or CI types. `make help` lists it.

# sudo takes the caller's PATH and the caller's settings of Go away.
GO_FOLDER := $(shell scripts/go.sh)
ifneq ($(GO_FOLDER),)
export PATH := $(GO_FOLDER):$(PATH)
endif
GO_ENV    := $(shell scripts/go.sh env)
ifneq ($(GO_ENV),)
export GOENV := $(GO_ENV)
endif
GO        ?= go
BIN       := bin/tracer
VERSION   := $(shell cat VERSION)-dev$(shell git describe --always --dirty --exclude '*' 2>/dev/null | sed 's/^/+/')
PREFIX    ?= /usr/local
PYTHONS_DIR ?= /var/tmp/ipytracer-pythons
FUZZTIME  ?= 60s
SOAK      ?= 1h
# How many tests that fail are run again, alone and twice (scripts/gotest.py): none but in the later part of CI.
RERUN     ?= 0
# Where `make test` keeps which tests were skipped, for `make test-skipped`; no file if empty.
SKIPPED   ?=
# Files for what ran a second time, and for how many tests passed, failed and were skipped; none if empty.
AGAIN     ?=
COUNTS    ?=
# How many tests of a package run beside each other: most wait more than they compute.
PARALLEL  ?= $(shell expr $$(nproc) \* 3 / 2 + 1)
# What a skipped test must have said, or be listed in .ci/may-skip; any reason will do if empty.
MAY_SKIP  ?=
# Which turn it is of tests that take a part of their work by turns.
TURN      ?= 0
export TRACER_TURN := $(TURN)
export PYTHONS_DIR SKIPPED AGAIN COUNTS RERUN MAY_SKIP

.DEFAULT_GOAL := help

# With -j as well: targets here write files that others read (check compiles the BPF object anew), and Go uses every CPU itself.
.NOTPARALLEL:

.PHONY: help
help: ## list the targets
	@awk -F':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## build bin/tracer and bin/tracer-agent (needs Go only; with a C compiler they get NVML too)
	@GO='$(GO)' VERSION='$(VERSION)' scripts/go.sh run scripts/build.sh $(BIN) $(BIN)-agent

# Without the agent, which has most of the libraries.
.PHONY: tracer
tracer:
	@GO='$(GO)' VERSION='$(VERSION)' scripts/go.sh run scripts/build.sh $(BIN)

.PHONY: install
install: build ## put bin/tracer and bin/tracer-agent into /usr/local/bin, where sudo finds them (needs root; PREFIX=/usr/local)
	install -D -m 755 -t $(DESTDIR)$(PREFIX)/bin $(BIN) $(BIN)-agent
	@echo 'installed: $(PREFIX)/bin/tracer; next: sudo tracer doctor'

.PHONY: uninstall
uninstall: ## remove what make install has put there (needs root; PREFIX=/usr/local)
	rm -f $(DESTDIR)$(PREFIX)/bin/tracer $(DESTDIR)$(PREFIX)/bin/tracer-agent

.PHONY: wheel
wheel: ## build the notebook companion, bin/ipytracer-*.whl (needs Python with pip, setuptools and wheel)
	/usr/bin/python3 -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir $(dir $(BIN)) ./python
	rm -rf python/build python/src/*.egg-info

.PHONY: release
release: ## build what is released of HEAD into bin/release: static program, wheel, Debian package, image, VS Code's extension, bill of materials, checksums (needs Node 20)
	scripts/install.sh release
	GO=$(GO) scripts/go.sh run scripts/release/build.sh

.PHONY: check-release
check-release: ## two builds of a release in different folders are the same bytes (some minutes; COMPILED=1: what the first compiled is not compiled again)
	scripts/install.sh release
	GO=$(GO) scripts/go.sh run scripts/release/check.sh

.PHONY: test-release
test-release: release ## install and use each thing that is released in trees of Debian without Go, compiler and checkout (needs root, network; RELEASE_SUITES="bookworm trixie")
	scripts/release/test.sh bin/release $(RELEASE_SUITES)

.PHONY: lab
lab: ## build JupyterLab's extension, which is committed as it is built (needs Node)
	scripts/install.sh lab
	scripts/check-lab.sh write

.PHONY: check-lab
check-lab: ## the extension that is committed is what its source gives (needs Node, network once)
	scripts/install.sh lab
	scripts/check-lab.sh

.PHONY: test-fleet
test-fleet: build ## the figures of thirty cells in the engines that the agent serves, all real (needs root, network once; ENGINES="prometheus", FLEET_DIR)
	scripts/install.sh fleet
	scripts/go.sh run scripts/fleet/deploy.sh
	scripts/fleet/test.sh $(BIN) $(ENGINES)

.PHONY: test-lab
test-lab: tracer ## the extension in a real JupyterLab and a real browser, with the tracer attached (needs root; LAB_PICTURES=DIR keeps screenshots)
	scripts/install.sh lab
	scripts/install.sh pythons
	scripts/pythons.sh lab
	scripts/lab.sh $(LAB_PICTURES)

VSCODE_MODULES := vscode/node_modules/.package-lock.json
VSCODE_REAL := vscode/real/node_modules/.package-lock.json

vscode%node_modules/.package-lock.json: vscode%package-lock.json
	cd $(dir $<) && npm ci --ignore-scripts --no-audit --no-fund --silent

.PHONY: vscode
vscode: $(VSCODE_MODULES) ## pack VS Code's extension as a file, bin/ipytracer-*.vsix (needs Node 20 and npm)
	cd vscode && npm run --silent types && npm run --silent pack

.PHONY: test-vscode
test-vscode: $(VSCODE_MODULES) $(VSCODE_REAL) ## VS Code's extension in a fake host, and as it is packed in a real VS Code in Chromium (needs Node 20, network once)
	cd vscode && npm run --silent types && npm run --silent test
	cd vscode/real && node --test real.test.mjs

.PHONY: demo
demo: ## install what is missing, trace a real IPython session and print its report (needs root)
	scripts/install.sh demo
	$(MAKE) --no-print-directory tracer
	scripts/demo.sh

.PHONY: deps
deps: ## install what building the BPF object and the tests need (Debian, needs root)
	scripts/install.sh test

.PHONY: generate
generate: ## compile bpf/ and generate the Go side again, constants of bpf/wire*.h included (needs clang)
	$(GO) generate ./event ./internal/code/cuda ./internal/code/libc ./internal/ledger ./e2e/storms

.PHONY: test
test: deps ## install what is needed and run every tier (needs root; half an hour or more on two CPUs)
	@echo 'make test: formatting and linters (a minute), and every test (half an hour or more on two CPUs, most of it e2e)'
	$(MAKE) --no-print-directory check test-only

# `make check` vets it. The longest package is named first, and so begins first.
.PHONY: test-only
test-only:
	scripts/heap.sh    # a program carries it
	TRACER_REQUIRE_BPF=1 GO=$(GO) scripts/test.sh -vet=off -count=1 -timeout 60m -parallel $(PARALLEL) ./e2e ./...

.PHONY: test-skipped
test-skipped: ## the tests that `make test SKIPPED=FILE` has skipped, and no others; whatever is skipped still must be in .ci/may-skip (needs root, make pythons)
	TRACER_REQUIRE_BPF=1 GO=$(GO) /usr/bin/python3 scripts/gotest.py --skipped $(SKIPPED) -vet=off -count=1 -timeout 60m -parallel $(PARALLEL)

.PHONY: everything
everything: ## all that CI does by turns, in one run, with every random history (needs root, network; hours)
	TRACER_EVERYTHING=1 TURN=all .ci/run

.PHONY: soak
soak: tracer ## run one tracer for SOAK=1h on shells that are killed, flood it, fork and run cells (needs root)
	/usr/bin/python3 scripts/soak.py $(BIN) $(SOAK)

.PHONY: soak-agent
soak-agent: build ## run one agent for SOAK=1h beside shells that come, run cells, flood it and are killed (needs root)
	unshare --pid --fork --mount-proc --kill-child /usr/bin/python3 scripts/soak_agent.py $(BIN) $(SOAK)

.PHONY: soak-serve
soak-serve: tracer ## run one server for SOAK=1h with ten notebooks beside a hostile user (needs root)
	/usr/bin/python3 scripts/soak_serve.py $(BIN) $(SOAK)

.PHONY: test-notebooks
test-notebooks: deps ## what is told of every cell of testdata/notebooks, all of them (NOTEBOOKS=plots,text+images: these)
	TRACER_REQUIRE_BPF=1 TRACER_NOTEBOOKS='$(or $(NOTEBOOKS),all)' scripts/go.sh run $(GO) test -count=1 -timeout 20m -v -run TestNotebooks ./e2e

.PHONY: test-advice
test-advice: deps ## the first advice on planted notebooks is right, and saves what it says, all of them (NOTEBOOKS=loop,output_head: these)
	TRACER_REQUIRE_BPF=1 TRACER_ADVICE='$(or $(NOTEBOOKS),all)' scripts/go.sh run $(GO) test -count=1 -timeout 40m -v -run 'TestAdvice$$' ./e2e

.PHONY: test-recordings
test-recordings: deps ## the report, the audit and --strict of each notebook's recording are the session's, byte for byte; with the budget at 0.5 % every lower bound is one (NOTEBOOKS=plots,text+images: these)
	TRACER_REQUIRE_BPF=1 TRACER_NOTEBOOKS='$(or $(NOTEBOOKS),all)' scripts/go.sh run $(GO) test -count=1 -timeout 40m -v -run 'TestRecordings|TestLeastOfNotebooks' ./e2e

.PHONY: check
check: generated format lint ## what needs no kernel: formatting, linters, generated files

.PHONY: generated
generated: ## the committed BPF object and Go files are what bpf/ gives
	scripts/check-generated.sh

.PHONY: format
format: ## gofmt and clang-format have nothing to say; what is right for clang-format 14 is not for others
	@all=$$(git ls-files '*.go') && [ -n "$$all" ] && files=$$(gofmt -l $$all) || { echo "make format: git or gofmt failed"; exit 1; }; \
	[ -z "$$files" ] || { echo "gofmt: $$files"; exit 1; }
	@if clang-format --version | grep -q 'version 14\.'; then \
		clang-format --dry-run --Werror bpf/*.h bpf/*.c && \
		clang-format --style=file:bpf/.clang-format --dry-run --Werror e2e/storms/c/*.[ch]; \
	else echo "make format: C is compared with clang-format 14 only, this is another; skipped" >&2; fi

.PHONY: lint
lint: ## go vet, staticcheck, mypy, who may import whom, the shape of types and files, that go.mod is tidy, and that it builds without a C compiler
	$(GO) vet -cgocall=false ./...
	$(GO) vet -cgocall=false -tags agent ./cmd/tracer/internal/service
	$(GO) vet -trimpath=false -cgocall ./internal/gpu # with -trimpath, Go 1.26's cache names cgo's files in a clone that is gone
	CGO_ENABLED=0 $(GO) build ./...
	CGO_ENABLED=0 $(GO) vet ./internal/gpu/... ./cmd/...
	$(GO) tool staticcheck ./...
	$(GO) tool staticcheck -tags agent ./cmd/tracer/internal/service
	$(GO) run ./scripts/shape
	cd python && /usr/bin/python3 -m mypy
	$(GO) mod tidy -diff

# Its version and its modules are in a file of its own: the tracer has none of them.
.PHONY: golangci
golangci: ## golangci-lint has nothing to say (.golangci.yml): unchecked errors, unused assignments, … (the first time it is built)
	$(GO) tool -modfile=scripts/lint/go.mod golangci-lint run --allow-parallel-runners ./...

PYTHON := python scripts testdata bench docs/examples
STYLE_MODULES := scripts/style/node_modules/.package-lock.json

$(STYLE_MODULES): scripts/style/package-lock.json
	cd scripts/style && npm ci --ignore-scripts --no-audit --no-fund --silent

# TypeScript and JavaScript that people write, of the page, of the extensions and of their tests.
SCRIPTS = $(shell git ls-files '*.ts' '*.mjs' '*.js')

.PHONY: check-style
check-style: $(STYLE_MODULES) ## prettier has nothing to say about TypeScript and JavaScript, and ruff about Python (needs Node 18 and npm)
	scripts/style/node_modules/.bin/prettier --check --log-level warn $(SCRIPTS)
	node scripts/style/ruff.mjs $(PYTHON)

.PHONY: style
style: $(STYLE_MODULES) ## format TypeScript and JavaScript with prettier, and mend what ruff can mend in Python (needs Node 18 and npm)
	scripts/style/node_modules/.bin/prettier --write --log-level warn $(SCRIPTS)
	node scripts/style/ruff.mjs --fix $(PYTHON)

PAGE := internal/report/html/page
PAGE_MODULES := $(PAGE)/node_modules/.package-lock.json

$(PAGE_MODULES): $(PAGE)/package-lock.json
	cd $(PAGE) && npm ci --ignore-scripts --no-audit --no-fund --silent

.PHONY: page
page: $(PAGE_MODULES) ## build the program of the page that --format html writes, internal/report/html/page/dist (needs Node 18 and npm)
	cd $(PAGE) && npm run --silent types && npm run --silent build

.PHONY: check-page
check-page: $(PAGE_MODULES) ## the committed program of the page is what its source gives
	scripts/check-page.sh

.PHONY: test-page
test-page: $(PAGE_MODULES) tracer ## open the pages of the fixtures, and the site, in Chromium and Firefox: every size is the report's, nothing runs, nobody is kept out (TRACER_CHROMIUM=PATH, TRACER_FIREFOX=PATH)
	site=$$(mktemp -d) && trap 'rm -rf "$$site"' EXIT && scripts/go.sh run $(GO) run ./cmd/site "$$site" && \
	cd $(PAGE) && TRACER_SITE="$$site" TRACER="$(abspath $(BIN))" npm run --silent test

DOCSITE := scripts/docsite
DOCSITE_MODULES := $(DOCSITE)/node_modules/.package-lock.json

$(DOCSITE_MODULES): $(DOCSITE)/package-lock.json
	cd $(DOCSITE) && npm ci --ignore-scripts --no-audit --no-fund --silent

.PHONY: site
site: $(DOCSITE_MODULES) ## write the documentation, and the page that opens a recording, for any web server, into SITE, a new folder (site; needs Node 20 and npm)
	node $(DOCSITE)/build.mjs "$(or $(SITE),site)"
	scripts/go.sh run $(GO) run ./cmd/site "$(or $(SITE),site)/open"

.PHONY: test-site
test-site: $(DOCSITE_MODULES) $(PAGE_MODULES) ## the documentation's site in Chromium: no dead link, no request to others, a search that finds, nothing that axe finds (TRACER_CHROMIUM=PATH)
	site=$$(mktemp -d) && trap 'rm -rf "$$site"' EXIT && $(MAKE) --no-print-directory site SITE="$$site" && \
	TRACER_DOCSITE="$$site" node --test $(DOCSITE)/test.mjs

VIEWERS := internal/report/viewers
VIEWERS_MODULES := $(VIEWERS)/node_modules/.package-lock.json

$(VIEWERS_MODULES): $(VIEWERS)/package-lock.json
	cd $(VIEWERS) && npm ci --ignore-scripts --no-audit --no-fund --silent

.PHONY: test-viewers
test-viewers: $(PAGE_MODULES) $(VIEWERS_MODULES) ## open exports in the programs they are for: speedscope, Perfetto's trace processor, PyTorch's memory_viz (needs root, network once)
	scripts/install.sh viewers
	scripts/viewers.sh
	cd $(VIEWERS) && npm run --silent test

.PHONY: page-shots
page-shots: $(PAGE_MODULES) tracer ## take the pictures of docs/ anew, of docs/pictures/notebook.arrows.gz in Chromium
	scripts/page-shots.sh $(BIN) docs/pictures

.PHONY: one-minute
one-minute: tracer ## make docs/pictures/one-minute.svg anew, of a real session and of the pictures of JupyterLab (needs root)
	/usr/bin/python3 scripts/one_minute.py $(BIN) docs/pictures

.PHONY: check-shots
check-shots: $(PAGE_MODULES) tracer ## the page still says what it says on the pictures of docs/
	scripts/page-shots.sh $(BIN)

.PHONY: bench-page
bench-page: $(PAGE_MODULES) tracer ## the processor time that pages take of Chromium, and the site that opens recordings: of a notebook, and of a session of 20,000 cells
	@dir=$$(mktemp -d); trap 'rm -rf "$$dir"' EXIT; gunzip -c docs/pictures/notebook.arrows.gz >"$$dir/notebook.arrows" && \
	scripts/go.sh run $(GO) run ./bench sessions -kind notebook -n 20000 -o "$$dir/long.arrows" && \
	for one in notebook long; do $(BIN) report "$$dir/$$one.arrows" -q -o "$$dir/$$one.html" || exit; done && \
	node $(PAGE)/measure.mjs "$$dir/notebook.html" "$$dir/long.html" && scripts/go.sh run $(GO) run ./cmd/site "$$dir/site" && \
	TRACER_SITE="$$dir/site" node $(PAGE)/measure-site.mjs "$$dir/notebook.arrows" "$$dir/long.arrows"

# Of cmd/tracer, it leaves out tests of one goroutine that print many reports or count many cells, and half of the sessions that are recorded.
ONCE := H200|SizeIsForetold|AgreeOnComplete|WildTexts|RecordingSaysTheSame/(1[2-9]|2.)|HundredThousandCells|BoundsOfSeries|ProfilerForgets|Hostile(Files|Lists|JSON)

.PHONY: race
race: ## what has goroutines or unsafe pointers, under the race detector; not what builds the tracer or measures it
	TRACER_REQUIRE_BPF=1 GO=$(GO) /usr/bin/python3 scripts/gotest.py -race -vet=off -count=1 -timeout 30m -skip 'WithoutCgo|DoctorMeasures|$(ONCE)' ./internal/host/process/... ./internal/gpu/... ./internal/ledger/... ./tracer ./tracer/internal/... ./cmd/...

.PHONY: fuzz
fuzz: ## every fuzz target for FUZZTIME (60s)
	FUZZTIME=$(FUZZTIME) scripts/fuzz.sh

.PHONY: pythons
pythons: ## build the other Pythons: 3.9, 3.13, 3.14 in chroots, one with PyTorch for CUDA, two that are not Debian's, and one made here as pyenv does (needs root, network)
	scripts/install.sh pythons
	scripts/go.sh run scripts/pythons.sh

.PHONY: test-pythons
test-pythons: ## windows and meters on each of the other Pythons, and on builds of CPython as people make them (which takes an hour, once)
	scripts/install.sh pythons
	scripts/go.sh run scripts/pythons.sh all
	TRACER_REQUIRE_BPF=1 TRACER_PYTHONS=all scripts/go.sh run $(GO) test -count=1 -timeout 60m -run 'Pythons|OtherBuilds|Pandas|Build|Musl|SharedLibrary|Chroot|PyTorch|Stacks|Native|Holders|Audit|Live' ./e2e ./event/recording ./internal/python/cpython ./internal/python/holders

.PHONY: fresh
fresh: ## type `sudo make demo` in trees of Debian that have nothing, with and without a Go of the user's (FRESH="bookworm trixie", FRESH_TEST=1; needs root, network)
	scripts/install.sh pythons
	scripts/go.sh run scripts/fresh.sh $(FRESH)

.PHONY: kernels
kernels: ## boot other kernels in QEMU with 8 CPUs and prove the figures on each, beside a program that delays too (KERNELS="6.1 7.2", CPUS=8, CHECKS="storms aligned"; minutes a kernel)
	scripts/install.sh kernels
	scripts/go.sh run scripts/kernels.sh $(KERNELS)

.PHONY: kernel-arm64
kernel-arm64: ## boot one arm64 kernel in QEMU and prove the figures of programs on it (a minute)
	scripts/install.sh kernels
	ARCH=arm64 CPUS=1 PYTHON=none CHECKS="doctor selftest" scripts/go.sh run scripts/kernels.sh 6.12

.PHONY: test-kernels
test-kernels: kernels ## the same as kernels, and then the arm64 kernels, with their Python, on 4 and 16 KiB pages; on 64 KiB if UBUNTU_MIRROR is set
	ARCH=arm64 CPUS=4 CHECKS="doctor selftest" scripts/go.sh run scripts/kernels.sh 6.12 6.12-16k 7.2 $(if $(UBUNTU_MIRROR),7.0-64k)
	ARCH=arm64 CPUS=4 CPU=cortex-a72 PATIENCE=5400 CHECKS="doctor selftest" scripts/go.sh run scripts/kernels.sh 6.1

.PHONY: test-arm64
test-arm64: TESTS ?= TestTruth/run_kernel
test-arm64: ## end-to-end tests on an emulated arm64 machine, the tests of TESTS (ten minutes and more)
	scripts/install.sh kernels
	ARCH=arm64 scripts/go.sh run scripts/guest-tests.sh 6.12 ./e2e -- -test.run '$(TESTS)'

.PHONY: test-release-arm64
test-release-arm64: release ## install and use the package, the wheel, the program and the image for arm64 on an emulated machine (ten minutes)
	scripts/install.sh kernels
	ARCH=arm64 scripts/go.sh run scripts/release/guest.sh bin/release

.PHONY: cost
cost: ## count in QEMU what a page fault costs, in instructions, with 1 to 255 CPUs, on x86-64 and on arm64 (some minutes)
	scripts/install.sh kernels
	scripts/go.sh run scripts/cost.sh
	ARCH=arm64 KERNEL=6.12 scripts/go.sh run scripts/cost.sh

.PHONY: hollow
hollow: ## a tracer whose uprobes do nothing, for benchmarks: bin/tracer-hollow
	scripts/go.sh run $(GO) build -tags hollow -o bin/tracer-hollow ./cmd/tracer

.PHONY: bench
bench: build hollow ## paired measurements of what tracing costs, beside other tools (needs root, some minutes)
	/usr/bin/python3 bench/bench.py $(BENCH)

.PHONY: clean
clean: ## remove what was built here
	rm -rf bin
