# make test   everything, with the race detector; needs Go, fetches the rest on Debian and Ubuntu
# make run    the example program, which needs no server
# make torture MINUTES=10   processes, a real server and faults of all kinds; SEED=n for other schedules
# make simulate SEEDS=100000   many more of the simulated clusters that make test runs
# make ci     what a change has to pass

GO      ?= go
TIMEOUT ?= 10m
MINUTES ?= 10
SEED    ?= 1

SEEDS   ?= 100000
FIRST   ?= 1

.PHONY: test run simulate torture ci tools

test: tools
	$(GO) test -race -timeout $(TIMEOUT) ./...

run:
	$(GO) run ./examples/rebuild

torture: tools
	cd torture && $(GO) test -v -count 1 -timeout $$(($(MINUTES) + 10))m . -for $(MINUTES)m -seed $(SEED)

# Without the race detector it covers several times as much; make simulate
# RACE=-race has it. FIRST is the first seed.
simulate:
	$(GO) test $(RACE) -v -count 1 -timeout 0 -run 'TestSimulation$$' ./simulation -seeds $(SEEDS) -first $(FIRST)

ci:
	.ci/run

# The tests start redis-server processes of their own, on free ports; a service
# that the package may start is left alone. The race detector needs a C compiler
# on Linux.
tools:
	@set -e; missing=; \
	command -v redis-server >/dev/null || missing="redis-server"; \
	if [ "$$(uname -s)" = Linux ]; then \
		set -- $$($(GO) env CC); \
		command -v "$$1" >/dev/null || missing="$$missing gcc libc6-dev"; \
	fi; \
	[ -n "$$missing" ] || exit 0; \
	if [ "$$(uname -s)" = Darwin ]; then \
		echo "redis-server is missing; install it with: brew install redis" >&2; exit 1; \
	fi; \
	if ! command -v apt-get >/dev/null; then \
		echo "missing: $$missing; install them with this system's package manager" >&2; exit 1; \
	fi; \
	sudo=; [ "$$(id -u)" = 0 ] || sudo=sudo; \
	apt="apt-get -o DPkg::Lock::Timeout=120"; \
	$$sudo $$apt update; \
	$$sudo env DEBIAN_FRONTEND=noninteractive $$apt install -y --no-install-recommends $$missing
