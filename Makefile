# For people who work on Redlatch. Users need none of this: go get is enough.
.POSIX:
SHELL = /bin/sh

# A tool, not a dependency: `go run tool@version` leaves go.mod and go.sum alone.
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
APIDIFF = golang.org/x/exp/cmd/apidiff@v0.0.0-20261014143641-f0251eb4aa3e

# The releases of Go that are supported, the last two: README.md says so too. Every target runs
# with the one that is installed; releases tries the other.
RELEASES = go1.26.8 go1.27.0

# The adapters: a directory each. The example for asynq takes as long to compile as they do.
ADAPTERS = adapters/*/ examples/asynqscheduler/

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /\1	/p' Makefile | expand -t 12

# One package at a time: on two cores the bursts of two at once break leases of seconds. What decides (lockstate) has no
# goroutines, and explores millions of states: the race detector would find nothing, and make that five times as long.
# The same goes for the interpreter of Lua in miniredis, which runs scripts one after the other under the server's lock: the
# race detector does not watch its memory, and watches everything else. Vet has been there: go test would do it once more.
test: tools ## vet and run all tests with the race detector; installs redis-server if missing
	go vet ./...
	CGO_ENABLED=1 REDLATCH_REQUIRE_REDIS=1 go test -race -gcflags='github.com/yuin/gopher-lua/...=-race=false' -vet=off -count=1 -p 1 -timeout 15m $$(go list ./... | grep -v /internal/lockstate)
	go test -vet=off -count=1 ./internal/lockstate

# Without the race detector and in short, since the installed release has had all of that: a
# release differs in its runtime, its standard library and its vet. Four at a time: most wait.
releases: tools ## vet all, and test the library in short, with the other release of Go that is supported
	@own=$$(go env GOVERSION | cut -d. -f1,2); for release in $(RELEASES); do \
	  case $$release. in "$$own".*) continue;; esac; \
	  echo "== $$release"; export GOTOOLCHAIN=$$release; \
	  go vet ./... && \
	  REDLATCH_REQUIRE_REDIS=1 go test -short -parallel 4 -count=1 -timeout 5m ./lua ./pubsub ./watchdog ./reentrant ./internal/faulttests ./multilock || exit 1; \
	done

interop: ## test beside Redisson itself; installs a JDK and Maven if missing
	@sh .ci/tools java
	cd examples/redisson && mvn -q -B package
	REDLATCH_REQUIRE_REDIS=1 go test -tags interop -count=1 -timeout 5m ./examples/redisson

spec: tools ## check the models of the protocol in spec/, that each of their mistakes is found, and traces of the library against them: SPEC=Trace TRACES='-samples 60'; installs a JDK and Maven if missing
	@sh .ci/tools java
	@TRACES="$(TRACES)" sh .ci/spec $(SPEC)

# The benchmarks' go.mod alone is compared, with -e: the tests of a dependency there need modules
# that not every proxy serves, so go.sum differs from one machine to another.
lint: ## check the format (gofmt), go.mod of all modules, vet, staticcheck
	@unformatted=$$(gofmt -l .); [ -z "$$unformatted" ] || { \
	  printf 'gofmt would change:\n%s\n' "$$unformatted" >&2; exit 1; }
	go mod tidy -diff
	go mod tidy -C examples/hourlyjob/cron -diff
	go mod tidy -C cmd/redlatch -diff
	@diff=$$(go mod tidy -C benchmarks -e -diff | sed -n '/^diff current.go.mod/,/^diff current.go.sum/p'); \
	  [ -z "$$diff" ] || { printf 'go mod tidy would change benchmarks:\n%s\n' "$$diff" >&2; exit 1; }
	go vet ./...
	go vet -tags interop ./examples/redisson
	go vet -tags mutants ./internal/mutants
	go vet -tags torture ./internal/torture
	go run $(STATICCHECK) -tags interop ./...

chaos: tools ## torment clients and server at random for a minute: CHAOS='-for 1h -seed 42'
	REDLATCH_REQUIRE_REDIS=1 go test ./internal/chaos -run '^TestChaos$$' -count=1 -timeout 0 -v -for 60s $(CHAOS)

leaders: tools ## torment three processes that campaign to lead, for a minute; by hand: LEADERS='-for 1h -seed 42'
	REDLATCH_REQUIRE_REDIS=1 go test ./leader -run '^TestStorm$$' -count=1 -timeout 0 -v -for 60s $(LEADERS)

torture: tools ## four long torments, about five minutes: processes, names, waiters, quorum: TORTURE='-run Quorum'
	REDLATCH_REQUIRE_REDIS=1 go test ./internal/torture -tags torture -count=1 -timeout 15m -v $(TORTURE)

mutants: tools ## show that the tests catch deliberate mistakes: MUTANTS='-only no-poll,no-drift'
	REDLATCH_REQUIRE_REDIS=1 go test ./internal/mutants -tags mutants -run '^TestMutants$$' -parallel 3 -count=1 -timeout 25m -v $(MUTANTS)

# Apart from lint, which has four minutes on a new machine: the peers and the plots make
# it take half as long again to fetch and compile.
smoke: tools ## vet, staticcheck and try the nested modules without a target of their own: the benchmarks, each for a moment, and the cron example
	go vet -C benchmarks ./...
	go run -C benchmarks $(STATICCHECK) ./...
	REDLATCH_REQUIRE_REDIS=1 go test -C benchmarks -short -count=1 -timeout 3m ./...
	go vet -C examples/hourlyjob/cron ./...
	go run -C examples/hourlyjob/cron $(STATICCHECK) ./...
	REDLATCH_REQUIRE_REDIS=1 go test -C examples/hourlyjob/cron -race -count=1 -timeout 90s ./...

command: tools ## vet, staticcheck and test the command redlatch, and build it for other systems
	go vet -C cmd/redlatch ./...
	GOOS=windows go vet -C cmd/redlatch .
	GOOS=darwin go vet -C cmd/redlatch .
	go run -C cmd/redlatch $(STATICCHECK) ./...
	REDLATCH_REQUIRE_REDIS=1 go test -C cmd/redlatch -race -count=1 -timeout 3m ./...

browser: tools ## try the page of redlatchui in a browser without a screen; installs Chromium if there is no browser
	@sh .ci/tools browser
	go mod tidy -C redlatchui/browsertests -diff
	go vet -C redlatchui/browsertests ./...
	go run -C redlatchui/browsertests $(STATICCHECK) ./...
	REDLATCH_REQUIRE_REDIS=1 go test -C redlatchui/browsertests -count=1 -timeout 5m ./...

pictures: tools ## write the documents' pictures anew, into docs/: of a hold, a hand-off, a quorum, and of the page
	go test -count=1 ./internal/pictures -write
	@sh .ci/tools browser font
	REDLATCH_REQUIRE_REDIS=1 go test -C redlatchui/browsertests -count=1 -run TestPictures ./... -pictures "$$PWD/docs"

# The dashboard's module needs Prometheus, which takes minutes to compile, and twice as long with the race detector. It has
# no code but tests. Its go.mod is compared as that of the benchmarks, and here, since lint has four minutes.
otel: tools ## vet, staticcheck and test the metrics and traces of redlatchotel, its dashboard and its alerts
	go mod tidy -C redlatchotel -diff
	go vet -C redlatchotel ./...
	go run -C redlatchotel $(STATICCHECK) ./...
	REDLATCH_REQUIRE_REDIS=1 go test -C redlatchotel -race -count=1 -timeout 2m ./...
	@diff=$$(go mod tidy -C redlatchotel/grafana -e -diff 2>/dev/null | sed -n '/^diff current.go.mod/,/^diff current.go.sum/p'); \
	  [ -z "$$diff" ] || { printf 'go mod tidy would change redlatchotel/grafana:\n%s\n' "$$diff" >&2; exit 1; }
	go vet -C redlatchotel/grafana ./...
	go run -C redlatchotel/grafana $(STATICCHECK) ./...
	go test -C redlatchotel/grafana -count=1 -timeout 2m ./...

# One module after the other: their nodes tick by the wall clock, which a machine that is too busy is late for.
adapters: tools ## vet, staticcheck and test the adapters and the example for asynq, each a module of its own: ADAPTERS='adapters/gocron'
	@for module in $(ADAPTERS); do echo "== $$module"; \
	  go mod tidy -C $$module -diff && go vet -C $$module ./... && go run -C $$module $(STATICCHECK) ./... && \
	  REDLATCH_REQUIRE_REDIS=1 go test -C $$module -race -count=1 -timeout 3m ./... || exit 1; \
	done

# A module of its own: SQLite takes a minute to compile.
fencing: tools ## run the SQL of docs/fencing.md on PostgreSQL and on SQLite; installs PostgreSQL if missing
	@sh .ci/tools servers
	go vet -C benchmarks/fencing ./...
	go run -C benchmarks/fencing $(STATICCHECK) ./...
	REDLATCH_REQUIRE_REDIS=1 go test -C benchmarks/fencing -count=1 -timeout 3m ./...

# A consumer compiles all that the adapters need, into a cache of its own: minutes.
consumer: tools ## publish a version into a directory, and use each module from outside the repository
	go mod tidy -C internal/release -diff
	go vet -C internal/release ./...
	go run -C internal/release $(STATICCHECK) ./...
	REDLATCH_REQUIRE_REDIS=1 go test -C internal/release -count=1 -timeout 20m ./...

release: ## write go.mod of the nested modules for a version, and print its tags: VERSION=v0.9.0
	go run -C internal/release . -version "$(VERSION)"

# Static: without cgo they need no C library. What does not work on Windows is in docs/cli.md.
dist: ## build the command redlatch into dist/, for linux, darwin and windows
	@for target in linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64; do \
	  system=$${target%/*}; machine=$${target#*/}; suffix=; [ $$system != windows ] || suffix=.exe; \
	  CGO_ENABLED=0 GOOS=$$system GOARCH=$$machine go build -C cmd/redlatch -trimpath -ldflags '-s -w' \
	    -o ../../dist/redlatch-$$system-$$machine$$suffix . && ls -l dist/redlatch-$$system-$$machine$$suffix || exit 1; \
	done

bench: tools ## measure everything into docs/benchmarks.md: 15 minutes on a machine that does nothing else
	@sh .ci/tools java servers
	cd examples/redisson && mvn -q -B package
	go run -C benchmarks . -json ../docs/benchmarks/results.json -plots ../docs/benchmarks -markdown ../docs/benchmarks.md

# The last commit, or another: make compare BASE=main
BASE = HEAD

compare: tools ## measure the working tree against a commit: BASE=main COMPARE='-only free'; fails if it is slower
	go run -C benchmarks ./compare -base $(BASE) $(COMPARE)

api: ## show what changes for users in the exported names, against a commit: BASE=main
	@base=$$(mktemp -d) && trap 'rm -rf "$$base"' EXIT && git archive $(BASE) | tar -x -C "$$base" && \
	  (cd "$$base" && go run $(APIDIFF) -m -w "$$base/base.api" github.com/redlatch/redlatch 2>/dev/null) && \
	  go run $(APIDIFF) -m "$$base/base.api" github.com/redlatch/redlatch 2>/dev/null

tables: ## write the plots and the tables of docs/benchmarks.md again, from the JSON
	go run -C benchmarks . -from ../docs/benchmarks/results.json -plots ../docs/benchmarks -markdown ../docs/benchmarks.md

cover: tools ## run all tests and print the coverage; cover.out has the details
	REDLATCH_REQUIRE_REDIS=1 go test -count=1 -timeout 10m -coverpkg=./... -coverprofile=cover.out ./...
	@go tool cover -func=cover.out | tail -n 1

examples: ## run every example, each with a Redis of its own
	@for program in $$(go list -f '{{if eq .Name "main"}}{{.ImportPath}}{{end}}' ./examples/...); do \
	  echo "== $$program"; REDIS_URL= go run "$$program" || exit 1; done
	REDIS_URL= go run -C examples/hourlyjob/cron .
	REDIS_URL= go run -C examples/asynqscheduler .

why: ## climb the ladder of locks and draw the pictures of docs/why.md again
	REDIS_URL= go run ./examples/ladder -svg docs/why

tools: ## install what the tests need and is missing: redis-server, a C compiler
	@sh .ci/tools

.PHONY: adapters browser consumer fencing leaders pictures command otel release dist help test interop spec lint chaos torture mutants smoke bench compare tables cover examples why releases tools
