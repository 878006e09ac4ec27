# What one does with Torno's sources. `make` lists it.

GO       ?= go
BIN      ?= bin
VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null)
FUZZTIME ?= 30s

# What works on Linux alone is left out elsewhere. gVisor knows two processors.
GOOS     := $(shell $(GO) env GOOS)
GOARCH   := $(shell $(GO) env GOARCH)
ALL      := watcher subagent model-gateway sandbox-init sandbox-keeper
PREFIX   ?= /usr/local
PROGRAMS := $(if $(filter linux,$(GOOS)),$(ALL),watcher subagent model-gateway)
RUNSC    := $(if $(filter linux/amd64 linux/arm64,$(GOOS)/$(GOARCH)),runsc)
LEFT_OUT := $(filter-out $(PROGRAMS) $(RUNSC),$(ALL) runsc)

TOOL := $(GO) tool -modfile=tools/go.mod

.DEFAULT_GOAL := help
.PHONY: help build install dist demo demo-agents demo-sidecar test vet night fresh planted quick attack soak bench fuzz compare lint format size clean

help: ## list what there is to do
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## the programs, static, into bin/; gVisor's runsc among them takes minutes, once
	@CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w -X torno/internal/version.Version=$(VERSION)' \
		-o $(BIN)/ $(PROGRAMS:%=./cmd/%)
	@$(if $(RUNSC),GO='$(GO)' scripts/runsc $(BIN))
	@$(if $(LEFT_OUT),echo '$(GOOS)/$(GOARCH): left out what does not work there: $(LEFT_OUT)')

install: ## what was built, into DESTDIR/PREFIX (/usr/local), with units, manual pages, completions and examples
	@test -x $(BIN)/watcher || { echo 'make build comes first, as yourself'; exit 1; }
	@DESTDIR='$(DESTDIR)' PREFIX='$(PREFIX)' scripts/install $(BIN) $(BIN)

dist: ## packages for others, into dist/: .deb, .rpm, archives, sums; runsc for the other processor takes minutes, once
	@VERSION='$(VERSION)' GO='$(GO)' scripts/dist dist

demo: build ## the whole road once, with Docker or else gVisor: spawn, answers, cancel, time-out, refusal, a child with a model
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(GO) run ./test/demo

demo-agents: build ## real agents, by npm: Claude Code in a sandbox delegates to Codex and Claude Code in sandboxes, all without a key
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(GO) run ./test/demo agents

demo-sidecar: build ## the watcher in a container beside the agent's, as contrib/sidecar has it: its image is built without a registry
	@PATH="$(CURDIR)/$(BIN):$$PATH" scripts/engine run $(GO) run ./test/demo sidecar

test: build size vet ## whether it is right: all tests but those of make night, on a real engine, with the race detector
	@test "$$CI" != true || scripts/need git python tmux xfs
	@$(GO) build -o $(BIN)/gate ./test/gate && scripts/engine run --optional $(BIN)/gate test

night: build ## what takes long or measures: emulated machines, packages under systemd, clients from npm, soak, racer; STAGE=name for one
	@scripts/need git python tmux xfs machine systemd rpm
	@$(GO) build -o $(BIN)/gate ./test/gate && CI=true scripts/engine run $(BIN)/gate night $(STAGE)

fresh: build ## the tests that are new or changed since a commit, up to twenty times each under load; SINCE=COMMIT (HEAD)
	@$(GO) build -o $(BIN)/gate ./test/gate && scripts/engine run --optional $(BIN)/gate fresh $(SINCE)

planted: ## whether the tests find ten planted defects
	@scripts/gotest -count=1 -v -timeout 30m -run TestEachDefectIsFound ./test/planted

quick: ## the tests that need no engine; those of what has not changed are not run again
	@env -u DOCKER_HOST scripts/gotest -short -timeout 5m $(TESTFLAGS) ./...

attack: build ## everything that can be tried against Torno, at length, and one table of what held
	@scripts/need git python
	@CI=true scripts/engine run $(GO) run ./test/attack/long

soak: build ## clients and fate let loose on private engines and on gVisor, for SOAK (1h); SOAK_SEED=n has the decisions of a round again
	@CI=true SOAK=$(or $(SOAK),1h) scripts/gotest -count=1 -v -timeout 0 -run TestSoak ./test/soak

bench: build ## how fast it is beside docker run, runsc, bwrap and others, in turn: one report in dist/bench; BENCHFLAGS='-only cold' for a part
	@scripts/need bwrap || true
	@scripts/engine run $(GO) run ./test/bench $(BENCHFLAGS)

fuzz: ## every fuzz test for FUZZTIME (30s)
	@scripts/fuzz $(FUZZTIME)

compare: build ## our build of gVisor's runsc beside gVisor's own, both alive; wanted after each change in runsc/
	@scripts/compare

vet: ## what go vet finds, also in tests
	@$(GO) vet ./...

lint: ## form and rules: gofumpt, golangci-lint, staticcheck (built from tools/go.mod; minutes the first time)
	@unformed=$$($(TOOL) gofumpt -l .); test -z "$$unformed" || { echo "make format would change:"; echo "$$unformed"; exit 1; }
	@$(TOOL) golangci-lint run ./...
	@$(TOOL) staticcheck ./...

format: ## bring all sources into form
	@$(TOOL) gofumpt -w .

size: build ## hold the programs against their bounds
	@scripts/size $(BIN) $(PROGRAMS) $(RUNSC)

clean: ## remove what was built
	@rm -rf $(BIN) dist *.out *.test
