# What contributors run. `make help` lists it.
.DEFAULT_GOAL := help
.PHONY: help quick types lint contract unit test live ci nightly docs release

# Python's and pytest's compiled files are what makes a second run fast; some containers switch them off.
unexport PYTHONDONTWRITEBYTECODE

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/\1|\2/p' $(MAKEFILE_LIST) | while IFS='|' read -r name text; do printf '%-10s %s\n' "$$name" "$$text"; done

quick: ## lint and import contract, then types and tests without a cluster or the program: about a minute
	@$(MAKE) --no-print-directory --output-sync=target --jobs 2 lint contract
	@$(MAKE) --no-print-directory --output-sync=target --jobs 2 unit types

types: ## mypy --strict on code, tests and benchmarks
	@mypy --no-error-summary

lint: ## ruff and shellcheck
	@ruff check --quiet .
	@ruff format --quiet --check .
	@shellcheck .ci/fresh .ci/run .ci/renew .ci/release hooks/*.sh hookrunner/shell/*.sh hookrunner/testing/starters/module/hooks/*.sh

contract: ## rooms import downwards only
	@out=$$(lint-imports 2>&1) || { printf '%s\n' "$$out"; exit 1; }

unit: ## quick tests that need neither a cluster nor a process of hookrunner
	@pytest --quiet --no-header -n 3 --hypothesis-profile=quick \
		-m "not cluster and not story and not slow and not nightly and not soak"

test: ## all tests but the soaks, on a control plane too; live ones where their inputs have changed
	@pytest --cluster

live: ## compare the sandbox with Kubernetes again, and keep that it passed (tests/live.json)
	@pytest --cluster --live=always -m "live and not soak"
	@python -m tests.live

ci: ## what CI runs, in a fresh virtual environment
	@.ci/run

nightly: ## what CI runs at night: every live test, all examples, full scale, and the soaks
	@.ci/run --nightly

docs: ## write the generated pages and tables of docs/
	@python -m tests.reference_pages

release: ## build sdist and wheel, check both in fresh environments, tag (DRY=1: no tag)
	@.ci/release $(if $(DRY),--dry-run)
