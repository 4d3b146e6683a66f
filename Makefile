# make build | demo | test | race | tools | fuzz | delays | campaign | bench | kernels | vet | staticcheck | cross | install |
# uninstall | dist — no logic of its own.

GO         ?= go
PREFIX     ?= /usr/local
PROGRAM_PREFIX ?=
DESTDIR    ?=
FUZZTIME   ?= 5s
FLAGS      := -trimpath -buildvcs=false -ldflags '-s -w'

export CGO_ENABLED := 0

.PHONY: all build demo test vet staticcheck unit scripts race race-all tools real-client fuzz delays campaign kernels bench cross install uninstall dist clean

all: build

build:
	$(GO) build $(FLAGS) -o bin/ ./cmd/host ./cmd/shim

demo: build
	sh testscript/demo.sh bin

test: vet unit scripts race

vet:
	$(GO) vet ./...
	GOOS=darwin GOARCH=arm64 $(GO) vet ./shim ./host/... ./cmd/...

staticcheck:
	sh testscript/staticcheck.sh

unit:
	CGO_ENABLED=1 $(GO) test -race ./shim ./host/... ./cmd/...

scripts: build
	$(GO) test -count=1 -timeout 1h -parallel 6 ./testscript

# One more pass, with the race detector in both programs, of the scripts of what runs long and at once: the shim, the
# host and its proxy. Each program sleeps a second at its end then, hence more at a time. make race-all tries more of them.
RACE ?= s15|h0[47]|p1[014]|b02
race:
	CGO_ENABLED=1 $(GO) build -race -trimpath -buildvcs=false -o bin/race/ ./cmd/host ./cmd/shim
	HOSTSHIM_BIN=$(CURDIR)/bin/race $(GO) test -count=1 -timeout 1h -short -parallel 20 ./testscript -run 'TestRules/^($(RACE))'

race-all:
	$(MAKE) race RACE='s|h0[2-8]|h15|p|n0|b0[1-4]|t0.-served'

# What a script says takes long, [slow]: real compilers and package managers that work for seconds.
tools: build
	HOSTSHIM_SLOW=only $(GO) test -count=1 -timeout 1h -parallel 4 ./testscript -run '^(TestRules|TestDist)$$'

# The real agents, from npm into a cache outside the tree: the scripts of those that are not there are skipped.
real-client:
	sh testscript/real-client.sh

delays:
	sh testscript/delays.sh $(DELAYS)

fuzz:
	CGO_ENABLED=1 sh testscript/fuzz.sh $(FUZZTIME)

# Thousands of launches, killed at random moments, and what they left: some minutes, as root. SCALE=0.1 for less.
SCALE ?= 1
campaign: build
	$(GO) build $(FLAGS) -o bin/ ./testscript/campaign
	bin/campaign -bin bin -scale $(SCALE)

# Other kernels in a virtual machine: some minutes each, the first time with a download.
kernels:
	sh testscript/kernels.sh $(SUITES)

# Measurements beside tini, bwrap and nginx: five minutes, best on a machine that does nothing else.
bench: build
	$(GO) build $(FLAGS) -o bin/ ./testscript/bench
	sh testscript/bench.sh bin

cross:
	for os in linux darwin; do for arch in amd64 arm64; do \
		GOOS=$$os GOARCH=$$arch $(GO) build $(FLAGS) -o bin/$$os-$$arch/ ./cmd/host ./cmd/shim || exit 1; \
	done; done

# Programs, man pages, and completion for bash, zsh and fish.
install: build
	BIN=bin PREFIX='$(PREFIX)' PROGRAM_PREFIX='$(PROGRAM_PREFIX)' DESTDIR='$(DESTDIR)' GO='$(GO)' sh cmd/dist/install.sh install

uninstall:
	PREFIX='$(PREFIX)' PROGRAM_PREFIX='$(PROGRAM_PREFIX)' DESTDIR='$(DESTDIR)' sh cmd/dist/install.sh uninstall

# Archives for linux and darwin, amd64 and arm64, Debian packages and checksums, in bin/dist.
dist:
	GO='$(GO)' sh cmd/dist/dist.sh bin/dist

clean:
	rm -rf bin
