PYTHON ?= python3
OUT ?= runs
BIN := .venv/bin
STAMP := .venv/.installed
KERNELS := .venv/.kernels

.PHONY: help venv train train-conv train-vit train-language train-sort train-distributed demos explore puzzles test wheel \
        rings bench lint docs clean

help:  ## show this help
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 20

venv: $(STAMP)  ## make .venv with the package (editable), for train, test and lint

$(STAMP): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo 'installing into .venv (0.9 GB), which takes one to three minutes ...'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --editable '.[dev]'
	@touch $@

# The first `make train` would compile these kernels on one core; here all cores do.
$(KERNELS): $(STAMP) $(wildcard tinygrad_like/kernels/*.py)
	@$(BIN)/python -m tinygrad_like.kernels.ship blocks. threads. program._ table_suits ._uniform gemm. .columns .relu_ \
	  .add_each ._accumulate ._cross_entropy .adamw_ .count_float32 unchanged.
	@touch $@

train: $(KERNELS)  ## train an MLP, then a ResNet-S, on the embedded digits; pictures and curves go to runs/
	$(BIN)/python -m demos.train --out $(OUT)

train-conv: $(STAMP)  ## train a convolutional ResNet on three splits of the digits; pictures and curves go to runs/
	$(BIN)/python -m demos.train --model resnet8 --repeat-splits 0,1,2 --out $(OUT)

train-vit: $(STAMP)  ## train a Vision Transformer on three splits of the digits, and draw its attention
	$(BIN)/python -m demos.train --model vit --repeat-splits 0,1,2 --out $(OUT)

train-language: $(STAMP)  ## train a small GPT on the source of Python's standard library; it beats a 5-gram
	$(BIN)/python -m demos.language --out $(OUT)

train-sort: $(STAMP)  ## train a Transformer to sort strings of digits, and draw its attention
	$(BIN)/python -m demos.sort --out $(OUT)

train-distributed: $(STAMP)  ## train a convolutional ResNet on the digits with two MPI ranks, which share each batch
	$(BIN)/mpiexec -n 2 $(BIN)/python -m demos.train --model resnet8 --out $(OUT)/distributed

DEMOS := moons activations vectorization convolution sobel filters linear_collapse depth gradient_depth warmup \
         dead_relu paths lesion neural_ode norm_axes normalization scale_invariance uncertainty norm_geometry noise \
         overfitting regularization scaling positions attention_pictures grokking finetune

demos: $(STAMP)  ## run all short demos; pictures go to runs/
	set -e; for demo in $(DEMOS); do $(BIN)/python -m demos.$$demo --out $(OUT)/$$demo.png; done
	$(BIN)/python -m demos.augmentations --out $(OUT)/augmentations

explore: $(STAMP)  ## make pages that step through the graphs of an MLP, a ResNet-S and a GPT block, in runs/explore
	$(BIN)/python -m tinygrad_like.learn explore --out $(OUT)/explore

puzzles: $(STAMP)  ## write 24 ops without their rules into runs/puzzles, and check each file when you save it
	$(BIN)/python -m tinygrad_like.learn puzzles $(OUT)/puzzles --watch

wheel: $(STAMP)  ## make a wheel with compiled kernels in dist/, whose first run compiles nothing
	$(BIN)/python -m tinygrad_like.kernels.ship --wheel dist

rings: $(STAMP)  ## delete rings of the package in a copy, and run the tests of the rest
	$(BIN)/python -m tests.rings

test: $(STAMP)  ## run the tests, except those that compare with PyTorch
	$(BIN)/python -m pytest -n 2

bench: $(STAMP)  ## time training steps side by side with PyTorch (installs it); leave the machine alone meanwhile
	$(BIN)/python -m pip install --quiet --disable-pip-version-check torch==2.13.0
	$(BIN)/python -m benchmarks.run --out $(OUT)/bench

lint: $(STAMP)  ## check style (ruff), English, types (mypy) and layers (import-linter)
	$(BIN)/ruff check .
	$(BIN)/python -m handbook.english
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache --no-logo

docs: $(STAMP)  ## build the handbook, offline, into build/site, and check it: open build/site/index.html
	$(BIN)/python -m handbook

clean:  ## remove .venv, pictures and caches; keep compiled kernels in your cache folder, which other clones share
	rm -rf .venv runs build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
