# Laari needs Python 3.11 or newer and make; everything else goes into .venv.
# PYTHON=… names the Python to use, ARGS=… is handed on to the command a target runs.

BIN := .venv/bin
READY := .venv/.ready
READY_DEV := .venv/.ready-dev
VERSIONS := pyproject.toml constraints.txt

# What the tests use that pip does not install: Debian's names.
NODE_PACKAGES := nodejs node-typescript
TEST_PACKAGES := chromium-headless-shell curl jq
# What `make test-all` uses besides.
CI_PACKAGES := pgbouncer php-cli php-curl php-sqlite3 postgresql wrk $(NODE_PACKAGES)
# What the campaigns use besides; the last three compile generated clients.
FAULT_PACKAGES := nginx-light haproxy caddy etcd-server iproute2 faketime \
	buildah debootstrap docker-compose systemd \
	golang-go golang-golang-x-oauth2-dev golang-gopkg-validator.v2-dev

# Tests wait for services and the database: more workers than two processors, but each start costs
# eight seconds of work.
PARALLEL := -n 3 --dist worksteal -rs

# Each of the many processes that a target starts would compile all modules again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help run test test-all lint mutants bench bench-peers faults docs clients screenshots release format lock clean

help: ## list these targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1	\2/p' Makefile

run: $(READY) ## start Laari with a demo merchant on http://127.0.0.1:8000
	@exec $(BIN)/laari serve --demo $(ARGS)

test: $(READY_DEV) ## run the tests, except the long ones and those of tools and packages
	@tools/debian-packages $(TEST_PACKAGES)
	@$(BIN)/python -m pytest $(PARALLEL) -m 'not ci and not campaign' $(ARGS)

test-all: $(READY_DEV) ## run all tests, and a part of them on another PostgreSQL too, as CI does
	@tools/debian-packages $(TEST_PACKAGES) $(CI_PACKAGES)
	@$(if $(ARGS),,tools/test-other-postgres)
	@$(BIN)/python -m pytest $(PARALLEL) $(ARGS)

lint: $(READY_DEV) ## check style, types and the directions of imports
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@cd clients/python && ../../$(BIN)/mypy
	@tools/debian-packages $(NODE_PACKAGES)
	@tools/check-typescript
	@$(BIN)/lint-imports --no-logo

mutants: $(READY_DEV) ## plant known mistakes one by one and check that the tests catch them
	@tools/debian-packages $(TEST_PACKAGES) $(CI_PACKAGES)
	@$(BIN)/python -m tools.mutants $(ARGS)

bench: $(READY_DEV) ## measure throughput and latency on this machine
	@tools/debian-packages wrk
	@$(BIN)/python -m bench $(ARGS)

bench-peers: $(READY_DEV) ## install the peers that `make bench` compares with
	@$(BIN)/python -m bench.peers

faults: $(READY_DEV) ## run the long fault campaigns that `make test` leaves out
	@tools/debian-packages $(TEST_PACKAGES) $(CI_PACKAGES) $(FAULT_PACKAGES)
	@command -v java >/dev/null || tools/debian-packages default-jre-headless
	@command -v npm >/dev/null || tools/debian-packages nodejs npm
	@$(BIN)/python -m pytest -m campaign -rs $(ARGS)

docs: $(READY_DEV) ## generate the pages of docs/ that are made from the code
	@$(BIN)/python -m tools.generate_docs

clients: $(READY_DEV) ## generate the parts of the client packages that come from the OpenAPI document
	@$(BIN)/python -m tools.clients

screenshots: $(READY_DEV) ## take pictures of all pages, to build/screenshots and docs/img/pages
	@tools/debian-packages chromium-headless-shell
	@$(BIN)/python -m tools.screenshots.take $(ARGS)

release: $(READY_DEV) ## build all packages of this commit into dist/, and try each of them
	@tools/debian-packages $(NODE_PACKAGES) php-cli php-curl
	@$(BIN)/pip install -qq --disable-pip-version-check -c constraints.txt -e '.[release]' --no-build-isolation
	@$(BIN)/python -m tools.release

format: $(READY_DEV) ## put the code into the project's style
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

lock: ## choose the newest allowed versions and write constraints.txt
	@tools/lock

clean: ## remove what was installed and built; laari-data stays
	rm -rf .venv build src/*.egg-info clients/python/src/*.egg-info clients/python/.mypy_cache clients/typescript/dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find src tests campaigns bench tools clients -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

# Set-up runs when a version changed, not each time.
$(READY): $(VERSIONS)
	@tools/set-up
	@touch $@

# With the tools for development everything that `run` needs is there too.
$(READY_DEV): $(VERSIONS)
	@tools/set-up dev
	@touch $(READY) $@
