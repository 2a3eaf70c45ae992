# `make demo` and `make test` do all of their own set-up.

GO ?= go
BUILD := build
COMMANDS := sbatch srun squeue scancel sinfo scontrol sacct sacctmgr seff sdiag devcluster
DAEMONS := ctld noded stepd sackd
PREFIX ?= /usr/local
DESTDIR ?=
# Slurm's names of the daemons, for scripts that expect them.
ALIASES := slurmctld:ctld slurmd:noded slurmstepd:stepd

export CGO_ENABLED ?= 0
# The command line library's manual page writer is not wanted at every start.
GOFLAGS_BUILD := -trimpath -tags urfave_cli_no_docs -ldflags=-s

.PHONY: help
help: ## what can be made
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 22

.PHONY: build
build: ## the commands in build/bin, the daemons in build/sbin
	@mkdir -p $(BUILD)/bin $(BUILD)/sbin
	$(GO) build $(GOFLAGS_BUILD) -o $(BUILD)/bin/ $(COMMANDS:%=./cmd/%)
	$(GO) build $(GOFLAGS_BUILD) -o $(BUILD)/sbin/ $(DAEMONS:%=./cmd/%)
	@for a in $(ALIASES); do ln -sf $${a#*:} $(BUILD)/sbin/$${a%:*}; done

.PHONY: demo
demo: setup build ## a cluster of 4 nodes with 8 GPUs each runs the examples
	test/demo

.PHONY: shell
shell: setup build ## leave such a cluster up and open a shell in it
	test/demo --shell

.PHONY: test
test: setup build ## every test that this machine can run
	test/run

.PHONY: test-race
test-race: setup build ## the unit tests under the race detector
	CGO_ENABLED=1 $(GO) test -race ./cmd/... ./internal/...

.PHONY: lint
lint: ## formatting, vet, staticcheck
	@out=$$(gofmt -l cmd internal test); test -z "$$out" || { echo "not gofmt-ed: $$out"; exit 1; }
	$(GO) vet ./...
	$(GO) tool staticcheck ./...

.PHONY: fuzz
fuzz: ## each fuzz target for 10 seconds
	test/fuzz 10s

.PHONY: conformance
conformance: setup build ## the cases against Debian's Slurm too; writes docs/conformance.md
	test/conformance/run

.PHONY: bench-slurm
bench-slurm: setup build ## speed beside Debian's Slurm
	test/bench/run

.PHONY: proto
proto: ## the Go files of internal/wire/*.proto
	internal/wire/gen.sh

.PHONY: verify
verify: proto ## generated files are up to date
	git diff --exit-code -- internal/wire

.PHONY: setup
setup: ## install the Debian packages that are missing (as root)
	@test/setup

.PHONY: install
install: build ## into DESTDIR/PREFIX: bin, sbin, manual pages, completions, systemd units, samples
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/sbin $(DESTDIR)$(PREFIX)/lib/systemd/system $(DESTDIR)$(PREFIX)/share/doc/muster/examples
	for c in $(filter-out devcluster,$(COMMANDS)); do install -m 755 $(BUILD)/bin/$$c $(DESTDIR)$(PREFIX)/bin/ || exit 1; done
	for d in $(DAEMONS); do install -m 755 $(BUILD)/sbin/$$d $(DESTDIR)$(PREFIX)/sbin/ || exit 1; done
	for a in $(ALIASES); do ln -sf $${a#*:} $(DESTDIR)$(PREFIX)/sbin/$${a%:*}; done
	for u in etc/systemd/*.service; do \
	    sed 's|/usr/local/|$(PREFIX)/|' $$u >$(DESTDIR)$(PREFIX)/lib/systemd/system/$${u##*/} && \
	    chmod 644 $(DESTDIR)$(PREFIX)/lib/systemd/system/$${u##*/} || exit 1; done
	$(GO) run ./internal/command/manual/generate $(DESTDIR)$(PREFIX)/share
	@for a in $(ALIASES); do echo ".so man8/$${a#*:}.8" >$(DESTDIR)$(PREFIX)/share/man/man8/$${a%:*}.8; done
	install -m 644 LICENSE README.md etc/*.conf $(DESTDIR)$(PREFIX)/share/doc/muster/
	install -m 755 etc/examples/*.sh $(DESTDIR)$(PREFIX)/share/doc/muster/examples/

.PHONY: clean
clean: ## what was built
	rm -rf $(BUILD)
