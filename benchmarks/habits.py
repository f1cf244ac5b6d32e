"""Times programs written for PyTorch there and here: only imports differ.

    python -m benchmarks.habits                              six of tests/compat/programs, eager and captured
    python -m benchmarks.habits --only vae --seconds 2
    python -m benchmarks.habits --steps                      the 31 steps of tests/compat/steps.py

A step is that of the program's own loop, with its models, losses and optimizers, as a function that can be decorated
with `capture`. Of the actor-critic it is the learning from a finished episode. Each library runs in a process of its
own, in interleaved rounds; a ratio is PyTorch's time / ours, of the medians of a round.
"""

import argparse
import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from tests.compat.test_programs import load, ours

from .process import Worker, need

HABITS = Path(__file__).resolve().parent.parent / "tests" / "compat"
KINDS = ("torch", "eager", "captured")


def lstm_language_model(p: Any, torch: Any) -> tuple:
    model, criterion = p.build()["model"], p.nn.NLLLoss()
    data, targets = p.get_batch(p.batchify(p.Corpus(p.text).ids, 4), 0, 12)

    def step(data, targets, h, c):
        model.zero_grad()
        output, hidden = model(data, (h, c))
        loss = criterion(output, targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        with torch.no_grad():
            for q in model.parameters():
                q.add_(q.grad, alpha=-2.0)
        return loss.detach(), hidden[0].detach(), hidden[1].detach()

    return step, (data, targets, *model.init_hidden(4))


def vae(p: Any, torch: Any) -> tuple:
    model = p.build()["model"]
    optimizer = p.optim.Adam(model.parameters(), lr=1e-3)

    def step(batch):
        optimizer.zero_grad()
        recon_batch, mu, logvar = model(batch)
        loss = p.loss_function(recon_batch, batch, mu, logvar)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step, (p.images(16),)


def pinn(p: Any, torch: Any) -> tuple:
    program = p.PINN(p.build()["net"])
    optimizer = torch.optim.Adam(program.net.parameters(), lr=1e-3)

    def step():
        optimizer.zero_grad()
        loss = program.loss()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step, ()


def wgan_gp(p: Any, torch: Any) -> tuple:
    modules = p.build()
    netG, netD = modules["G"], modules["D"]
    optimizer = p.optim.Adam(netD.parameters(), lr=1e-3, betas=(0.5, 0.9))

    def step(real_data):
        netD.zero_grad()
        with torch.no_grad():
            fake = netG(torch.randn(p.BATCH_SIZE, 2))
        cost = netD(fake).mean() - netD(real_data).mean() + p.calc_gradient_penalty(netD, real_data, fake)
        cost.backward()
        optimizer.step()
        return cost.detach()

    return step, (torch.as_tensor(next(p.inf_train_gen())),)


def vit(p: Any, torch: Any) -> tuple:
    model, criterion = p.build()["model"], p.nn.CrossEntropyLoss(label_smoothing=0.1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.05)

    def step(x, y):
        optimizer.zero_grad(set_to_none=True)
        loss = criterion(model(x), y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        return loss.detach()

    return step, p.images(16)


def actor_critic(p: Any, torch: Any) -> tuple:
    model = p.build()["model"]
    optimizer = p.optim.RMSprop(model.parameters(), lr=1e-6)  # so that it stays as it is, however often it learns

    def step(states, actions, returns):
        probs, values = model(states)
        m = p.Categorical(logits=(probs + 1e-3).log())  # whose probs are checked, which needs their values
        advantage = returns - values.detach()[:, 0]
        loss = -(m.log_prob(actions) * advantage).sum() - 0.01 * m.entropy().mean()
        loss = loss + p.F.smooth_l1_loss(values[:, 0], returns, reduction="sum")
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step, (torch.randn(59, 4), torch.arange(59) % 2, torch.linspace(1, -1, 59))


STEPS = {f.__name__: f for f in (lstm_language_model, vae, pinn, wgan_gp, vit, actor_critic)}


def made(name: str, kind: str, threads: int) -> tuple:
    """The step of a program, and what to call it with."""
    if kind == "torch":
        import torch as library
    else:
        import tinygrad_like as library  # type: ignore[no-redef]
    library.set_num_threads(threads)
    path = HABITS / "programs" / f"{name}.py" if name in STEPS else HABITS / "steps.py"
    source = path.read_text(encoding="utf-8")
    program = load(path, source if kind == "torch" else ours(source))
    step, inputs = STEPS[name](program, library) if name in STEPS else program.PROGRAMS[name]()[:2]
    return (library.capture(step) if kind == "captured" else step), inputs


def serve(name: str, kind: str, threads: int) -> None:
    """Answer lines, each a number of seconds, with the median time of a step in them."""
    step, inputs = made(name, kind, threads)
    for _ in range(8):  # compile, record, fill caches
        step(*inputs)
    for line in sys.stdin:
        times: list[float] = []
        while len(times) < 5 or sum(times) < float(line):
            start = time.perf_counter()
            step(*inputs)
            times.append(time.perf_counter() - start)
        print(statistics.median(times), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
                                     prog="python -m benchmarks.habits")
    parser.add_argument("--only", default="", help="programs whose name contains this")
    parser.add_argument("--steps", action="store_true", help="the programs of tests/compat/steps.py")
    parser.add_argument("--seconds", type=float, default=0.5, help="of one library in a round (default 0.5)")
    parser.add_argument("--rounds", type=int, default=5, help="interleaved rounds that count (default 5)")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="default: all cores")
    parser.add_argument("--serve", choices=KINDS, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve:
        return serve(args.only, args.serve, args.threads)
    need("torch")
    ratios: dict[str, list[float]] = {"eager": [], "captured": []}
    print("| program | PyTorch, ms | ours eager, ms | ratio | captured, ms | ratio |")
    print("| --- | --- | --- | --- | --- | --- |")
    names = load(HABITS / "steps.py", ours((HABITS / "steps.py").read_text(encoding="utf-8"))).PROGRAMS
    for name in [name for name in (names if args.steps else STEPS) if args.only in name]:
        workers = {kind: Worker("benchmarks.habits", "--serve", kind, "--only", name, "--threads", str(args.threads))
                   for kind in KINDS}
        rounds = [{kind: float(worker.ask(str(args.seconds))) for kind, worker in workers.items()}
                  for _ in range(args.rounds + 1)][1:]
        for worker in workers.values():
            worker.close()
        ms = {kind: 1e3 * statistics.median(r[kind] for r in rounds) for kind in KINDS}
        for kind, found in ratios.items():
            found.append(statistics.median(r["torch"] / r[kind] for r in rounds))
        print(f"| {name} | {ms['torch']:.2f} | {ms['eager']:.2f} | {ratios['eager'][-1]:.2f} | {ms['captured']:.2f} "
              f"| {ratios['captured'][-1]:.2f} |", flush=True)
    means = {kind: statistics.geometric_mean(found) for kind, found in ratios.items()}
    print(f"| geometric mean | | | **{means['eager']:.2f}** | | **{means['captured']:.2f}** |")


if __name__ == "__main__":
    main()
