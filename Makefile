# Everything a newcomer, a developer and CI type. `make` alone says what there is.
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory
unexport PYTHONPATH PYTHONHOME VIRTUAL_ENV
# Some container images forbid compiled modules; every process of ours would compile its imports anew, at twice the start.
unexport PYTHONDONTWRITEBYTECODE

BIN := .venv/bin
SANDBOX := $(BIN)/mailroom-sandbox
STAMP := .venv/.set-up
PYPROJECTS := $(wildcard libs/*/pyproject.toml services/*/pyproject.toml cli/pyproject.toml sandbox/pyproject.toml)

# Three run side by side, each file whole in one of them, on two cores: some always wait for a server (testkit/module_order.py).
# What `k` selects is mostly little: one process then, since each further one collects all tests by itself.
jobs := $(if $(k),0,3)

# `s=sync-engine` narrows test, lint, types and fmt to one package; a name that is none is refused, not ignored.
PACKAGES := $(patsubst %/pyproject.toml,%,$(PYPROJECTS)) tests bench deploy
FOLDERS := $(if $(s),$(strip $(foreach package,$(PACKAGES),$(if $(filter $(notdir $(package)),$(s)),$(package)))),libs services cli sandbox tests bench deploy)
# An option typed as `k=name` reaches the recipe as an environment variable, whatever quotes it holds.
chosen = $(if $(s),$(FOLDERS)) $(if $(k),-k "$$k")
OWN_PACKAGES := mailroom-common mailroom-outlook mailroom-gmail mailroom-webhook-gateway mailroom-sync-engine \
	mailroom-ingestion mailroom-subscription-manager
COMPILE := $(BIN)/uv pip compile -q --universal --python-version 3.11 --no-emit-index-url --no-emit-find-links \
	--no-header --no-annotate $(addprefix --no-emit-package ,$(OWN_PACKAGES))

# What an image holds: the folder of its package. `build` is what builds them.
IMAGES := webhook-gateway subscription-manager sync-engine ingestion cli sandbox
package-of = $(or $(wildcard services/$1),$1)

# `known-package` comes before `setup`: a wrong name is refused before anything is installed.
.PHONY: known-package help setup run up down logs test restore-test fault-test fault-mix bulk-test lint types fmt check reference chart mutate bench eval lock \
	images container-test compose-test stand-ins clean

help: ## this page
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  \033[1mmake %-14s\033[0m %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@printf '\nexamples\n'
	@printf '  make run ONCE=1                    ends with 0 when every sample mail has become its documents\n'
	@printf '  make run MAILS=~/mails             the .eml files of a folder instead of the sample mails; ends\n'
	@printf '  make test s=sync-engine k=zip      the tests of one package whose names match\n'
	@printf '  MAILROOM_HOME=~/m make run         state elsewhere than in .mailroom; Ctrl-C stops it, the same line resumes it\n'

known-package:
	@$(if $(s),$(if $(FOLDERS),:,echo "s=$(s) names no package; there are $(notdir $(PACKAGES))" >&2; exit 2),:)

setup: $(STAMP) ## what the machine lacks, and the Python environment in .venv
	@:

$(STAMP): sandbox/set-up.sh requirements-dev.txt requirements-uv.txt deploy/helm/requirements-tools.txt $(PYPROJECTS)
	@./sandbox/set-up.sh
	@touch $@

run: setup ## the sandbox: mailboxes connected, mails delivered, documents shown as they appear; SECURE=1: with TLS, passwords and access rules
	@exec $(SANDBOX) run $(if $(ONCE),--once) $(if $(MAILS),--mails "$$MAILS") $(if $(SECURE),--secure)

up: setup ## Kafka, Postgres, services and reverse proxy on the settings of the environment or .env
	@exec $(SANDBOX) up --without-providers $(if $(SECURE),--secure)

down: setup ## stops what make run or make up started elsewhere
	@$(SANDBOX) down

logs: ## follows the logs of a running site, in columns; level=warning hides what is below
	@$(SANDBOX) logs $(if $(level),--level $(level))

test: known-package setup ## every test, real Kafka and Postgres included, with branch coverage; then the slowest 20
	@$(BIN)/coverage erase
	@$(BIN)/coverage run -m pytest -n $(jobs) --dist loadfile --no-loadscope-reorder --durations=20 --durations-min=1 \
		$(chosen) || { code=$$?; [ $$code != 5 ] || \
		echo "no test of $(or $(s),any package) is selected$(if $(k), by k=$$k)" >&2; exit $$code; }
	@$(BIN)/coverage combine -q
	@$(BIN)/coverage report $(if $(s)$(k),,--fail-under=85)

restore-test: setup ## a whole site whose Postgres is set back to a backup (3 minutes; not part of make test)
	@$(BIN)/python -m pytest -q tests/restore/restored_site.py

fault-test: setup ## every fault of the providers at once on one site, a mailbox each (some minutes; not part of make test)
	@$(BIN)/python -m pytest -q -n0 tests/chaos/every_fault.py

fault-mix: setup ## faults of 20 mailboxes at random, processes killed and paused (SEED=7, SECONDS=180; not part of make test)
	@FAULT_MIX_SEED="$(SEED)" FAULT_MIX_SECONDS="$(SECONDS)" $(BIN)/python -m pytest -q -s -n0 tests/chaos/fault_mix.py

bulk-test: setup ## what 50,000 removals and 10,000 changed labels at once cost (some minutes; not part of make test)
	@$(BIN)/python -m pytest -q -s -n0 services/sync-engine/tests/bulk/many_changes.py

lint: known-package setup ## ruff: rules and format
	@$(BIN)/ruff check $(FOLDERS)
	@$(BIN)/ruff format --check $(FOLDERS)

types: known-package setup ## mypy, strict, tests included
	@$(BIN)/mypy $(FOLDERS)

check: lint types ## what CI runs beside the tests

fmt: known-package setup ## puts everything into the one format
	@$(BIN)/ruff check -q --fix-only $(FOLDERS)
	@$(BIN)/ruff format $(FOLDERS)

reference: setup ## the generated pages in docs/, and .env.example, anew from the code
	@cd tests/support && ../../$(BIN)/python -m reference

chart: setup ## the chart's generated files anew: values, schema, README, components, topics, dashboards
	@cd deploy/helm && ../../$(BIN)/python -m chart_source

mutate: setup ## single changes that no test notices (occasional, takes an hour); m=outbox for one target
	@$(BIN)/python tests/mutation/mutate.py $(m)

eval: setup ## how well samples are read, into docs/quality.md; SAMPLES=folder for others than ../shared/samples (not part of make test)
	@MAILROOM_OCR_PROCESSES=$${MAILROOM_OCR_PROCESSES:-1} PYTHONPATH=tests/support $(BIN)/python -m reading_quality --write docs/quality.md $(if $(SAMPLES),--samples "$(SAMPLES)")

bench: setup ## the figures of docs/performance.md
	@for bench in bench/*/; do PYTHONPATH=tests/support $(BIN)/python "$$bench"; done

lock: $(STAMP) ## compiles requirements*.txt, and what each image installs of them, from the pyproject files
	@$(COMPILE) --generate-hashes $(PYPROJECTS) -o requirements.txt
	@$(COMPILE) --generate-hashes $(PYPROJECTS) requirements-dev.in -o requirements-dev.txt
	@$(foreach image,$(IMAGES),$(COMPILE) $(call package-of,$(image))/pyproject.toml $(if $(filter cli,$(image)),--extra services) \
		-c requirements.txt -o deploy/images/requirements/$(image).txt &&) :
	@echo hatchling | $(COMPILE) - -c requirements-dev.txt -o deploy/images/requirements/build.txt

images: ## container images, by Docker or podman, one per service; i=sync-engine for one
	@deploy/images/build-images.sh $(i)

container-test: setup images ## what images hold, and the parser's confinement in one, by podman; not part of make test
	@$(BIN)/python -m pytest -q -n0 tests/containers/check_images.py

compose-test: setup images ## docker-compose.yml for real, each container killed while mail flows (SEED=7, KEEP=1; root; not part of make test)
	@PYTHONPATH=tests/compose:tests/support $(BIN)/python -m mailroom_compose $(if $(SEED),--seed $(SEED)) $(if $(KEEP),--keep)

stand-ins: ## what replaces the public base images where no registry is reached (podman; root)
	@deploy/images/make-stand-ins.sh

# Modules of the tests' own, which no package brings.
CLUSTER = PYTHONPATH=tests/cluster:tests/support $(BIN)/python -m mailroom_cluster
.PHONY: cluster-build cluster-test cluster-up cluster-exec

cluster-build: setup ## what the two below need: Kubernetes' programs and the images (root, Go; not in make test)
	@$(CLUSTER) build

cluster-test: setup ## the chart on a real Kubernetes, faults while mail flows (SEED=7; see tests/cluster/README.md, State)
	@$(CLUSTER) test $(if $(SEED),--seed $(SEED)) $(if $(PUSHES),--least-pushes $(PUSHES)) $(if $(FAULTS),--most-faults $(FAULTS)) $(if $(BUILT),--built)

cluster-up: setup ## the same site without faults, until Ctrl-C
	@$(CLUSTER) up $(if $(BUILT),--built)

cluster-exec: ## a command inside of a running one: make cluster-exec c='kubectl get pods -A'
	@$(CLUSTER) exec $(c)

clean: ## forgets the state under .mailroom; the environment in .venv stays
	@if [ -x $(SANDBOX) ]; then $(SANDBOX) clean; else rm -rf '$(or $(MAILROOM_HOME),.mailroom)'; fi
