# Entry points for people and for continuous integration. `make` alone lists them.

SHELL := /bin/sh
# Finds a toolchain that rustup has just installed, before the next login.
export PATH := $(or $(CARGO_HOME),$(HOME)/.cargo)/bin:$(PATH)

# Continuous integration builds exactly the lock file.
locked := $(if $(CI),--locked)

.PHONY: help run test deb docs soak attack miri bench lint deny audit format clean web web-test web-lint python-test

help: ## list these targets
	@echo "Tandem: which radio should carry which byte, and what does that cost?"
	@echo
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1	\2/p' $(MAKEFILE_LIST) | expand -t 16

# With the tests' profile, which is built in less than half of the time of a release, and which they share.
run: ## build, then reproduce the eMTCP paper: the table here, the report in tandem-out/emtcp
	@sh scripts/prerequisites.sh build
	cargo build $(locked) --workspace --bin tandem
	@"$${CARGO_TARGET_DIR:-target}"/debug/tandem reproduce emtcp

test: ## build and run all tests, and list those that this machine cannot run
	@sh scripts/prerequisites.sh test
	@sh scripts/test.sh

deb: ## a Debian package in target/debian, with cargo-deb
	@sh scripts/prerequisites.sh deb
	cargo build --release $(locked) -p tandem-cli
	@sh scripts/deb.sh

docs: ## build the site of the documentation into target/site; needs mdBook
	@sh scripts/prerequisites.sh build
	@sh scripts/docs.sh

soak: ## a million connections against the adversary, on all cores; TANDEM_SEEDS=N for another number
	@sh scripts/prerequisites.sh build
	cargo test $(locked) -p tandem-mptcp --test adversary soak -- --ignored --nocapture

attack: ## every attack in its long form, for hours; scripts/attack.sh lists parts and variables
	@sh scripts/prerequisites.sh build
	@sh scripts/attack.sh

miri: ## the tests of the crate with unsafe code under Miri, where it is installed; some minutes
	@sh scripts/miri.sh

bench: ## measure speed, memory and cost, beside ns-3 if installed and htsim if HTSIM=<built checkout>
	@sh scripts/prerequisites.sh build
	cargo bench --workspace $(locked) --bench '*'
	@cargo run --quiet --release $(locked) -p tandem-sim --example peers
	@cargo run --quiet --release $(locked) -p tandem-sweep --example scaling
	@if [ "$$(id -u)" = 0 ] && [ -c /dev/net/tun ]; then \
		cargo run --quiet --release $(locked) -p tandem-emulator --example accuracy; \
		else echo "not run: the emulator's accuracy needs root and /dev/net/tun"; fi
	@if [ "$$(id -u)" = 0 ] && [ -c /dev/net/tun ]; then \
		cargo run --quiet --release $(locked) -p tandem-stack --example wire; \
		else echo "not run: the endpoint over TUN needs root and /dev/net/tun"; fi
	@cargo run --quiet --release $(locked) -p tandem-agent --example cost
	@cargo run --quiet --release $(locked) -p tandem-proxy --example rivals
	@if sh scripts/prerequisites.sh python; then sh scripts/python-bench.sh; \
		else echo "not run: the cost of the Python package"; fi

lint: ## formatting, clippy and documentation, with warnings as errors
	@sh scripts/prerequisites.sh lint
	@for crate in crates/*/Cargo.toml examples/*/Cargo.toml python/Cargo.toml; do [ $$crate = crates/linux/Cargo.toml ] || \
		grep -A1 '^\[lints\]' $$crate | grep -qx 'workspace = true' || \
		{ echo "$$crate does not use the workspace's lints, which forbid unsafe code" >&2; exit 1; }; done
	cargo fmt --all --check
	cargo clippy --workspace --all-targets $(locked) -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps $(locked)
	@$(MAKE) --no-print-directory web-lint

deny: ## licences and sources of all dependencies, where cargo-deny is installed
	@if command -v cargo-deny >/dev/null 2>&1; then cargo deny --all-features check licenses bans sources; \
		else echo "not run: cargo-deny is missing; cargo install cargo-deny --locked takes some minutes"; fi

audit: ## known weaknesses of dependencies, where the databases of RustSec and npm can be reached
	@sh scripts/audit.sh

format: ## format the code
	@sh scripts/prerequisites.sh lint
	cargo fmt --all
	@if [ -d web/node_modules ]; then cd web && npm run --silent format; fi

web: ## build the player's page into web/dist
	@sh scripts/prerequisites.sh web
	@$(MAKE) --no-print-directory web/node_modules/.package-lock.json
	cd web && npm run --silent build

web-test: ## test the player's page; needs Node, and Chromium and ffmpeg for most tests
	@sh scripts/prerequisites.sh web
	@$(MAKE) --no-print-directory web/node_modules/.package-lock.json
	cd web && npm test

python-test: ## test the Python package; needs Python 3.10 or newer with venv
	@sh scripts/prerequisites.sh python
	@sh scripts/python-test.sh

# Without Node a person may still lint the Rust code; continuous integration may not skip a part.
web-lint:
	@if sh scripts/prerequisites.sh web; then \
		$(MAKE) --no-print-directory web/node_modules/.package-lock.json && cd web && npm run --silent lint; \
		else echo "not run: the lints of the player's page"; [ -z "$(CI)" ]; fi

web/node_modules/.package-lock.json: web/package.json web/package-lock.json
	cd web && npm ci --ignore-scripts --no-audit --no-fund
	@touch $@

clean: ## remove build output and the results in tandem-out
	rm -rf tandem-out web/node_modules web/dist web/.build web/.cache
	cargo clean
