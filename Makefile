# Every target that stands here with a "##" is listed by "make".
GO      ?= go
FUZZ    ?= 1m
# Where the race detector makes tests too slow to be of use, they run without it; "make race" runs all with it. TIMED run one
# package after the other, SEEN (browsers, programs) side by side.
TIMED   := /cmd/|/internal/bench|/internal/chaos|/internal/demo|/internal/replay
SEEN    := /dashboards|/admin/console|/gate/page|/deploy/|/examples/
UNRACED := $(TIMED)|$(SEEN)
# Nodes that talk to each other in real time: they run with nothing beside them, and raced by "make race".
NODES   := /internal/app

.DEFAULT_GOAL := help
.PHONY: help build run demo test race redis fuzz bench cases chaos cover lint fmt gen golden verify vuln ci deps

help: ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/\1\t\2/' | awk -F'\t' '{printf "%-8s %s\n", $$1, $$2}'

build: ## build bin/sluice
	$(GO) build -o bin/sluice ./cmd/sluice

run: ## run one node, the line in this process
	$(GO) run ./cmd/sluice serve

demo: ## show the whole thing in one process, in under a minute
	$(GO) run ./cmd/sluice demo

deps:
	@deploy/install-test-deps.sh

test: ## install what tests need (it says what), lint, run all tests
	@$(MAKE) --no-print-directory -j 2 deps lint
	$(GO) test -race $$($(GO) list ./... | grep -Ev '$(UNRACED)|$(NODES)')
	$(GO) test -parallel 3 ./internal/app
	$(GO) test -p 1 $$($(GO) list ./... | grep -E '$(TIMED)')
	$(GO) test $$($(GO) list ./... | grep -E '$(SEEN)')

race: deps ## all tests under the race detector
	$(GO) test -race -timeout 30m ./...

redis: deps ## the tests of the packages that speak to Redis, again and again
	$(GO) test -race -count=5 ./queue/redisline/... ./detector/redistraffic/... ./internal/redisurl

fuzz: ## every fuzz test for FUZZ (1m; 20000x: so many inputs) each, six side by side
	@.ci/fuzz $(FUZZ)

bench: deps ## the benchmark suite, both sides of every ratio
	$(GO) test -run '^$$' -bench . -benchmem ./...
	$(GO) run ./cmd/sluice bench all

cases: deps ## the fault cases in full length (minutes each)
	CASES=full $(GO) test -count=1 -timeout 2h ./...

chaos: deps ## every fault of docs/reliability.md, or those whose name holds ONLY, on real processes, and a soak of ten minutes (half an hour)
	$(GO) test -count=1 -timeout 2h -v $(if $(ONLY),-run '^TestFaults$$') ./internal/chaos -args -full $(if $(ONLY),-only '$(ONLY)',-table $(CURDIR)/docs/reliability.md)

cover: deps ## coverage of the whole, by function
	$(GO) test -coverpkg=./... -coverprofile=cover.out ./...
	$(GO) tool cover -func=cover.out | tail -n 1

lint: ## format, vet, staticcheck, forbidden imports
	@bad=$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go')); test -z "$$bad" || { echo "not gofmt-ed (make fmt):"; echo "$$bad"; exit 1; }
	$(GO) vet ./...
	$(GO) tool staticcheck ./...
	$(GO) test ./internal/archtest

fmt: ## format the source
	gofmt -w $$(git ls-files -co --exclude-standard '*.go')

gen: ## write what is made from the source: docs/configuration.md
	$(GO) test ./internal/config -run '^TestDocument$$' -update

golden: ## write every golden file anew; read the difference before you commit it
	$(GO) test $$(grep -rl --include='*_test.go' 'flag.Bool("update"' . | xargs -n1 dirname | sort -u) -update

verify: gen ## generated files and go.mod leave no difference
	$(GO) mod tidy -diff
	git diff --exit-code -- docs go.mod go.sum

vuln: ## known weaknesses in what we import; asks vuln.go.dev, or takes the copy that the Go module proxy has
	@.ci/vuln

ci: ## all that CI does
	.ci/run
