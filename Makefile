# `make demo` shows what Chandler does; `make test` proves it. `make help` lists the rest.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

CLUSTER ?= dev
ARGS ?= get nodes
LOCAL := deploy/local/cluster

# Binaries are static, so that an image needs nothing else. A target is named even when it is this
# machine's own: without that, the flags would reach build scripts and macros, which cannot be
# static. Every call of cargo here uses the same, or everything would be compiled twice.
export CARGO_BUILD_TARGET ?= $(shell rustc -vV | sed -n 's/^host: //p')
ifneq (,$(findstring linux-gnu,$(CARGO_BUILD_TARGET)))
export CARGO_TARGET_$(shell echo $(CARGO_BUILD_TARGET) | tr a-z- A-Z_)_RUSTFLAGS ?= -C target-feature=+crt-static
endif
TARGET_DIR := $(or $(CARGO_TARGET_DIR),target)

# What looks whether everybody can use the page. The version is in the path, so that another one is fetched.
AXE_VERSION := 4.14.0
AXE := $(TARGET_DIR)/axe-$(AXE_VERSION)/node_modules/axe-core/axe.min.js

PROFILE ?= release
PROFILE_DIR = $(TARGET_DIR)/$(CARGO_BUILD_TARGET)/$(if $(filter dev,$(PROFILE)),debug,$(PROFILE))

.PHONY: help
help: ## List what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo demo-down
demo: ## A cluster with the fleet: gopher and Harbor installed, used and upgraded; PROFILE=release for fast programs
	@PROFILE=$(if $(filter command line environment,$(origin PROFILE)),$(PROFILE),dev) deploy/demo/run
demo-down: ## Take the demo down
	@PROFILE=$(if $(filter command line environment,$(origin PROFILE)),$(PROFILE),dev) deploy/demo/down

.PHONY: test check test-needs test-programs test-kubernetes test-others test-unit test-registry test-browser test-cluster \
  test-tutorials test-local
# First all is built that tests need, with all cores: Kubernetes by Go, the rest by cargo, whose locks would have one test wait
# for what another one compiles. Then all tests run side by side: those on clusters mostly wait, and leave the others room.
TESTS := test-cluster test-tutorials test-others
test: ## All tests, on a real Kubernetes and a real registry
	@$(MAKE) --no-print-directory -j3 test-needs
	@$(MAKE) --no-print-directory -j3 $(TESTS)
	@echo "all tests passed"
check: ## What CI does: lint, and all tests
	@$(MAKE) --no-print-directory -j4 lint test-needs
	@$(MAKE) --no-print-directory test
	@echo "all checks passed"
test-needs: test-kubernetes test-programs $(AXE)
test-programs:
	cargo build --lib --bins --examples --tests
	cargo test --no-run --lib --bins --examples --test '*'
# Nothing is started where a cluster of one's own takes its place. The tools share most packages with Kubernetes.
test-kubernetes:
	@[ -n "$${KUBECONFIG:-}" ] || { $(LOCAL) build && $(LOCAL) tool opm && $(LOCAL) tool kubectl-operator; } >/dev/null
test-others:
	@$(MAKE) --no-print-directory test-unit
	@$(MAKE) --no-print-directory test-registry
	@$(MAKE) --no-print-directory test-browser
	@$(MAKE) --no-print-directory test-local
test-unit: ## Only the tests that need no cluster
	cargo test --lib --bins --examples --test it
test-registry: ## Only the tests on a real registry
	cargo test --test registry
test-browser: $(AXE) ## Only the tests of the page in Chromium; TEST=name for one of them
	@tests/browser/needs.sh
	cargo build --example fleet
	CHANDLER_AXE=$(abspath $(AXE)) cargo test --test browser $(TEST)
$(AXE):
	@tests/browser/needs.sh
	npm install --silent --no-save --no-audit --no-fund --ignore-scripts --prefix $(TARGET_DIR)/axe-$(AXE_VERSION) axe-core@$(AXE_VERSION)
test-local: ## Only the tests of the local cluster's own tool
	# Not from the cache: what it looks at is the machine.
	cd deploy/local && go test -count=1 ./...
# One cluster serves the whole run, and goes when it is over, however it ends. Its tests mostly wait for it, so there are more
# of them at once than a machine has cores.
test-cluster: ## Only the tests on a real cluster; TEST=name for one of them
	cargo build --example stand-in --example fleet
	@trap '$(LOCAL) down --name test' EXIT; $(LOCAL) up --name test && RUST_TEST_THREADS=4 cargo test --test cluster $(TEST)
# On a cluster of their own: Chandler looks after all of it.
test-tutorials: ## Only the tests that do what the tutorials say, and the demo; TEST=name for one of them
	cargo build --bin chandler --example fleet --example pack-image
	@trap '$(LOCAL) down --name tutorials' EXIT; $(LOCAL) up --name tutorials && \
	  CHANDLER_TEST_CLUSTER=tutorials cargo test --test tutorials $(TEST)

.PHONY: soak bench parity fuzz-api
soak: ## Long runs: many more random cases, everything killed again and again (from write FIRST=n on), ten quiet minutes
	PROPTEST_CASES=100000 cargo test --release --lib
	CASES=1000000 cargo test --release --test it resolver_oracle
	cd deploy/local && CHANDLER_SOAK=1 go test -count=1 -timeout 60m -v ./...
	cargo build --release --bin chandler
	@trap '$(LOCAL) down --name test' EXIT; $(LOCAL) up --name test && \
	  CHANDLER_SOAK=1 cargo test --test cluster -- --test-threads=1 --nocapture killed:: steady:: && \
	  CHANDLER_SOAK=1 CHANDLER_BINARY=$(abspath $(TARGET_DIR)/$(CARGO_BUILD_TARGET)/release/chandler) \
	    cargo test --test cluster -- --test-threads=1 --nocapture crowd:: && \
	  CHANDLER_ALONE=1 cargo test --test cluster -- --test-threads=1 uninstall::
fuzz-api: ## The API beside its OpenAPI document, by schemathesis
	cargo build --bin chandler
	tests/fuzz-api.sh $(TARGET_DIR)/$(CARGO_BUILD_TARGET)/debug/chandler $(abspath $(TARGET_DIR)/schemathesis)
bench: $(TARGET_DIR)/parity ## Benchmarks, those of the resolver beside OLM's
	CHANDLER_PARITY=$(abspath $(TARGET_DIR)/parity) cargo bench
parity: $(TARGET_DIR)/parity ## Ask OLM's resolver the same questions; CASES=n random ones (5000), from seed FIRST=n (0)
	CHANDLER_PARITY=$(abspath $(TARGET_DIR)/parity) cargo test --test it resolver_parity
$(TARGET_DIR)/parity: $(wildcard tests/parity/*.go tests/parity/go.*)
	cd tests/parity && go build -o $(abspath $@) .

.PHONY: lint fmt
lint: ## Everything that is checked without being run
	cargo fmt --check
	cargo clippy --all-targets -- -D warnings
	@cd deploy/local && test -z "$$(gofmt -l .)" || { echo "error: run \`make fmt\`"; exit 1; }
	cd deploy/local && go vet ./...
	@if command -v shellcheck >/dev/null; then shellcheck -x $(LOCAL) deploy/demo/run deploy/demo/down \
	  deploy/demo/publish deploy/demo/forward .ci/run tests/browser/needs.sh tests/fuzz-api.sh; \
	  else echo "shellcheck is not installed: scripts not checked"; fi
fmt: ## Format all code
	cargo fmt
	cd deploy/local && gofmt -w .

.PHONY: crds
crds: ## Write the CustomResourceDefinitions to deploy/crds
	cargo run --quiet -- crds --output-dir deploy/crds

.PHONY: image
image: ## Build the image; PUSH=registry/name:tag pushes it, PLAIN_HTTP=1 without TLS, PROFILE=dev is faster
	cargo build $(if $(filter dev,$(PROFILE)),,--profile $(PROFILE)) --bin chandler
	cargo run --quiet --example pack-image -- --binary $(PROFILE_DIR)/chandler --layout $(TARGET_DIR)/image \
	  $(if $(PUSH),--push $(PUSH)) $(if $(PLAIN_HTTP),--plain-http)

.PHONY: cluster-up cluster-down kubectl
cluster-up: ## A real Kubernetes on this machine; CLUSTER=name for another one
	@$(LOCAL) up --name $(CLUSTER)
cluster-down: ## Take it down
	@$(LOCAL) down --name $(CLUSTER)
kubectl: ## kubectl on that cluster: make kubectl ARGS="get pods -A"
	@$(LOCAL) kubectl --name $(CLUSTER) -- $(ARGS)
