# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0

SHELL := /bin/bash
BIN := .venv/bin

# Settings of another environment must not leak in; the ROS wheels set up their own.
ifneq ($(AMENT_PREFIX_PATH)$(_ROS_WHEELS_BOOTSTRAP_COMPLETE),)
unexport LD_LIBRARY_PATH
endif
unexport AMENT_PREFIX_PATH CMAKE_PREFIX_PATH COLCON_PREFIX_PATH _ROS_WHEELS_BOOTSTRAP_COMPLETE
unexport PYTHONPATH PYTHONHOME VIRTUAL_ENV

.PHONY: help setup demo quick test test-all soak lint docs notebooks lock base vllm llamacpp model clean

help:
	@echo 'make demo [PROBLEM=path.pddl]  plan, prove and execute one task on the simulated arm'
	@echo 'make quick [ARGS=...]          the pure tests, in a minute: no ROS, no torch'
	@echo 'make test [ARGS=...]           linters, types, layers, all tests but the nightly ones'
	@echo 'make test-all [ARGS=...]       the same and the nightly tests, which take an hour'
	@echo 'make soak [RUNS=20] [ARGS=...] the tests again and again, until something fails'
	@echo 'make lint                      linters, types and layers only'
	@echo 'make setup                     make .venv (the others do it when needed)'
	@echo 'make docs                      build the site of docs/ in .cache/site'
	@echo 'make notebooks                 run examples/notebooks from top to end'
	@echo 'make lock [ARGS=--upgrade]      resolve requirements/*.in to requirements/lock.txt again'
	@echo 'make vllm                      make .cache/vllm, vLLM for the CPU'
	@echo 'make llamacpp                  make .cache/llama.cpp, llama-server and its converter'
	@echo 'make base                      make models/base, the pretrained model, as it was and fine-tuned'
	@echo 'make model                     train models/safegen-mini again, which takes hours'
	@echo 'make clean                     remove what was built and installed here'

setup:
	@scripts/setup.sh

# PROBLEM reaches the recipe through the environment, so that a path may hold any character.
demo: setup
	@$(BIN)/safegen demo $${PROBLEM:+"$$PROBLEM"}

# The rooms without ROS, torch and long waits. `-p quick` fails a run that imports one of them.
QUICK := $(addprefix test/,pddl verify search planning tasks language record/test_replay.py keys) \
  test/test_docs.py test/test_golden.py test/test_house.py test/test_untrusted.py test/test_verdict.py
# Three on two cores: many tests wait for an arm that moves in real time. A file stays whole, as many
# share a stack.
WORKERS := -n 3 --dist loadfile --no-loadscope-reorder

quick: setup
	$(BIN)/python -m pytest --quiet -n 2 --dist worksteal -p support.quick -m 'not slow and not nightly' $(QUICK) $(ARGS)

test: lint
	@scripts/test_needs.sh
	$(BIN)/python -m pytest $(WORKERS) $(ARGS)

test-all: lint
	@scripts/test_needs.sh
	$(BIN)/python -m pytest $(WORKERS) -m '' $(ARGS)

# A test that fails once in twenty runs is worse than none.
soak: setup
	@for run in $$(seq $${RUNS:-20}); do \
	  echo "run $$run of $${RUNS:-20}"; $(BIN)/python -m pytest --quiet $(WORKERS) $(ARGS) || exit 1; \
	done

lint: setup
	$(BIN)/ruff check --quiet .
	$(BIN)/ruff format --check --quiet .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache --no-logo

docs: setup
	@scripts/docs_env.sh
	@NO_MKDOCS_2_WARNING=1 .cache/docs/bin/mkdocs build --quiet
	@echo 'open .cache/site/index.html'

notebooks: setup
	@scripts/docs_env.sh
	@cd examples/notebooks && for each in $(or $(NOTEBOOKS),*.ipynb); do \
	  HF_HUB_OFFLINE=1 ../../.cache/docs/bin/jupyter-execute --timeout 1800 $$each || exit 1; done

lock:
	@scripts/lock.sh $(ARGS)

base: setup
	@scripts/base_model.sh

vllm: setup
	@scripts/vllm_env.sh

llamacpp: setup
	@scripts/llama_cpp.sh

model: setup
	@scripts/train_mini.sh

clean:
	rm -rf .venv .tools .cache models/base build install log dist *.egg-info
	rm -rf .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
