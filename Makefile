# make build | demo | test | race | tools | fuzz | delays | campaign | bench | vet | staticcheck | cross | install — no logic of its own.

GO         ?= go
PREFIX     ?= /usr/local
PROGRAM_PREFIX ?=
DESTDIR    ?=
FUZZTIME   ?= 5s
FLAGS      := -trimpath -buildvcs=false -ldflags '-s -w'

export CGO_ENABLED := 0

.PHONY: all build demo test vet staticcheck unit scripts race tools real-client fuzz delays campaign bench cross install clean

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
# host and its proxy. Each program sleeps a second at its end then, hence more at a time.
race:
	CGO_ENABLED=1 $(GO) build -race -trimpath -buildvcs=false -o bin/race/ ./cmd/host ./cmd/shim
	HOSTSHIM_BIN=$(CURDIR)/bin/race $(GO) test -count=1 -timeout 1h -short -parallel 20 ./testscript -run 'TestRules/^(s|h0[2-8]|p|b0[1-4]|t0.-served)'

# What a script says takes long, [slow]: real compilers and package managers that work for seconds.
tools: build
	HOSTSHIM_SLOW=only $(GO) test -count=1 -timeout 1h -parallel 4 ./testscript -run TestRules

# The real Claude Code, from npm into a cache outside the tree: its scripts are skipped without it.
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

# Measurements beside tini, bwrap and nginx: one to three minutes, best on a machine that does nothing else.
bench: build
	$(GO) build $(FLAGS) -o bin/ ./testscript/bench
	sh testscript/bench.sh bin

cross:
	for os in linux darwin; do for arch in amd64 arm64; do \
		GOOS=$$os GOARCH=$$arch $(GO) build $(FLAGS) -o bin/$$os-$$arch/ ./cmd/host ./cmd/shim || exit 1; \
	done; done

# By rename: macOS kills a program that was overwritten after it had run.
install: build
	install -d $(DESTDIR)$(PREFIX)/bin
	for p in host shim; do \
		install -m 0755 bin/$$p $(DESTDIR)$(PREFIX)/bin/.$(PROGRAM_PREFIX)$$p.new && \
		mv -f $(DESTDIR)$(PREFIX)/bin/.$(PROGRAM_PREFIX)$$p.new $(DESTDIR)$(PREFIX)/bin/$(PROGRAM_PREFIX)$$p || exit 1; \
	done

clean:
	rm -rf bin
