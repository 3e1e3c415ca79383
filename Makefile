# For people who work on Redlatch. Users need none of this: go get is enough.
.POSIX:
SHELL = /bin/sh

# A tool, not a dependency: `go run tool@version` leaves go.mod and go.sum alone.
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /\1	/p' Makefile | expand -t 12

test: tools ## vet and run all tests with the race detector; installs redis-server if missing
	go vet ./...
	CGO_ENABLED=1 REDLATCH_REQUIRE_REDIS=1 go test -race -count=1 -timeout 10m ./...

interop: ## test beside Redisson itself; installs a JDK and Maven if missing
	@sh .ci/tools java
	cd examples/redisson && mvn -q -B package
	REDLATCH_REQUIRE_REDIS=1 go test -tags interop -count=1 -timeout 5m ./examples/redisson

lint: ## check the format (gofmt), vet, staticcheck
	@unformatted=$$(gofmt -l .); [ -z "$$unformatted" ] || { \
	  printf 'gofmt would change:\n%s\n' "$$unformatted" >&2; exit 1; }
	go vet ./...
	go vet -tags interop ./examples/redisson
	go vet -tags mutants ./internal/mutants
	go run $(STATICCHECK) -tags interop ./...

chaos: tools ## torment clients and server at random for a minute: CHAOS='-for 1h -seed 42'
	REDLATCH_REQUIRE_REDIS=1 go test ./internal/chaos -run '^TestChaos$$' -count=1 -timeout 0 -v -for 60s $(CHAOS)

mutants: tools ## show that the tests catch deliberate mistakes: MUTANTS='-only no-poll,no-drift'
	REDLATCH_REQUIRE_REDIS=1 go test ./internal/mutants -tags mutants -run '^TestMutants$$' -parallel 3 -count=1 -timeout 15m -v $(MUTANTS)

# Apart from lint, which has three minutes on a new machine: the peers and the plots make
# it take half as long again to fetch and compile.
smoke: tools ## vet, staticcheck and try the nested modules: the benchmarks, each for a moment, and the cron example
	go vet -C benchmarks ./...
	go run -C benchmarks $(STATICCHECK) ./...
	REDLATCH_REQUIRE_REDIS=1 go test -C benchmarks -short -count=1 -timeout 3m ./...
	go vet -C examples/hourlyjob/cron ./...
	go run -C examples/hourlyjob/cron $(STATICCHECK) ./...
	REDLATCH_REQUIRE_REDIS=1 go test -C examples/hourlyjob/cron -race -count=1 -timeout 90s ./...

bench: tools ## measure everything into docs/benchmarks.md: 10 minutes on a machine that does nothing else
	@sh .ci/tools java
	cd examples/redisson && mvn -q -B package
	go run -C benchmarks . -for 2s -rounds 3 -json ../docs/benchmarks/results.json -plots ../docs/benchmarks -markdown ../docs/benchmarks.md

tables: ## write the plots and the tables of docs/benchmarks.md again, from the JSON
	go run -C benchmarks . -from ../docs/benchmarks/results.json -plots ../docs/benchmarks -markdown ../docs/benchmarks.md

cover: tools ## run all tests and print the coverage; cover.out has the details
	REDLATCH_REQUIRE_REDIS=1 go test -count=1 -timeout 10m -coverpkg=./... -coverprofile=cover.out ./...
	@go tool cover -func=cover.out | tail -n 1

examples: ## run every example, each with a Redis of its own
	@for program in $$(go list -f '{{if eq .Name "main"}}{{.ImportPath}}{{end}}' ./examples/...); do \
	  echo "== $$program"; REDIS_URL= go run "$$program" || exit 1; done
	REDIS_URL= go run -C examples/hourlyjob/cron .

why: ## climb the ladder of locks and draw the pictures of docs/why.md again
	REDIS_URL= go run ./examples/ladder -svg docs/why

tools: ## install what the tests need and is missing: redis-server, a C compiler
	@sh .ci/tools

.PHONY: help test interop lint chaos mutants smoke bench tables cover examples why tools
