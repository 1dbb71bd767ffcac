"""Train the curves A(s) and B(s) of an anneal until what comes out is near Boltzmann.

    OMP_NUM_THREADS=1 python examples/train_anneal.py trained.csv
    OMP_NUM_THREADS=1 python examples/train_anneal.py monotone.csv --monotone --no-counterterms

made the tables of isingsample/samplers/dqa/trained_curves.py, in a few minutes of one core each.
Every step draws new problems, anneals them on this package's own engine, and follows the gradient
of the total variation back through all Trotter steps. Stop it whenever you like: the same command
goes on from the file beside the table. --quick shows all of it in half a minute.
"""

import csv
from pathlib import Path
from typing import Annotated

import numpy as np
import torch
import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table
from torch import Tensor, nn

from isingsample import DQA, IsingProblem, Schedule, distance_to_boltzmann
from isingsample.samplers.dqa.engines.statevector import energy_table, probabilities_after

TIME, KNOTS, TROTTER_STEPS = 5.0, 21, 200
DRAWS, QUERIES = 12, 4  # of J in each step, and of h for each J
FIELDS, PAIRS = (0.3, 1.0), (0.1, 0.4)  # ranges of their standard deviations
RATE, SAVE_EVERY = 0.03, 50
# Knots come closer towards the end, where the curves are steep.
TIMES = 1 - (1 - torch.linspace(0, 1, KNOTS, dtype=torch.float64)) ** 2
JUDGED = [(0.3, 0.1), (0.5, 0.3), (1.0, 0.3)]


class Curves(nn.Module):
    """A in [0, 1] and B at TIMES, with straight lines between, and two counterterms.

    Args:
        monotone: A falls and B rises, as in an annealer.
        counterterms: whether those are trained too, or are 0.
    """

    def __init__(self, *, monotone: bool, counterterms: bool) -> None:
        super().__init__()
        self.monotone = monotone
        self.options = {"monotone": monotone, "counterterms": counterterms}
        # A start that many trainings led to: on for long, with B/A one over the time that is left.
        A, B = 1 - 0.02 * TIMES - 0.95 * TIMES**16, 0.25 / (1.05 - TIMES)
        if monotone:
            A, B = (-A.diff(append=torch.zeros(1))).log(), B.diff(prepend=torch.zeros(1)).log()
        else:
            A = A.clamp(0.003, 0.997).logit()
        self.A, self.B = nn.Parameter(A), nn.Parameter(B)
        self.terms = nn.Parameter(torch.zeros(2).to(TIMES), requires_grad=counterterms)

    def knots(self) -> tuple[Tensor, Tensor]:
        """A and B at TIMES, B in units of the temperature that it makes: beta_h = 1."""
        A, B = self.A.sigmoid(), self.B
        if self.monotone:
            A, B = self.A.exp().flip(0).cumsum(0).flip(0), self.B.exp().cumsum(0)
            A = A / A[0]
        beta_h, _ = betas(on_lines(A, TROTTER_STEPS), on_lines(B, TROTTER_STEPS))
        return A, B / beta_h

    def forward(self, h: Tensor, J: Tensor) -> tuple[Tensor, Tensor]:
        """Anneal problems h (draws, queries, n), J (draws, n, n).

        Returns:
            P(s) of the outcomes and of Boltzmann's distribution, (2**n, draws * queries) each.
        """
        A, B = (on_lines(values, TROTTER_STEPS) for values in self.knots())
        beta_h, beta_J = betas(A, B)
        of_h, of_J = self.terms.to(h)
        others = 1 - torch.eye(h.shape[-1])
        changed = ((h - of_h * h @ J) / beta_h.to(h), (J - of_J * others * (J @ J)) / beta_J.to(h))
        problem, driver = (-2 * TIME / TROTTER_STEPS * strength for strength in (B, A))
        driver = (driver + torch.cat([driver[1:], torch.zeros(1)])) / 2  # second order
        found = probabilities_after(energies(*changed), problem, driver)
        return found, torch.softmax(-energies(h, J), dim=0)


def betas(A: Tensor, B: Tensor) -> tuple[Tensor, Tensor]:
    """The inverse temperatures of weak fields and couplings, from A and B at midpoints of steps."""
    step = TIME / len(A)
    remaining = step * (A.flip(0).cumsum(0).flip(0) - A / 2)
    beta_h, beta_J = (2 * step * (B * (2 * k * remaining).sin()).sum() for k in (1, 2))
    return beta_h, beta_J


def on_lines(values: Tensor, number: int) -> Tensor:
    """Values at TIMES, at the midpoints of so many steps."""
    s = (torch.arange(number).to(values) + 0.5) / number
    right = torch.searchsorted(TIMES, s, right=True)
    share = (s - TIMES[right - 1]) / (TIMES[right] - TIMES[right - 1])
    return torch.lerp(values[right - 1], values[right], share)


def energies(h: Tensor, J: Tensor) -> Tensor:
    """Of all states: (2**n, draws * queries)."""
    draws, queries, n = h.shape
    return energy_table(h.reshape(-1, n), J, None, np.repeat(np.arange(draws), queries))


def draw(
    n: int, fields: Tensor, pairs: Tensor, queries: int, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Normal h (draws, queries, n) and J (draws, n, n) of these standard deviations (draws,)."""
    h = torch.randn(len(fields), queries, n, generator=generator) * fields[:, None, None]
    J = torch.randn(len(pairs), n, n, generator=generator).triu(1) * pairs[:, None, None]
    return h, J + J.mT


def train(curves: Curves, path: Path, *, steps: int, spins: int, bound: float, seed: int) -> None:
    """Train, going on from path if it is there, and leave path behind.

    Raises:
        ValueError: path holds a training with other options.
    """
    options = {"steps": steps, "spins": spins, "bound": bound, "seed": seed, **curves.options}
    optimizer = torch.optim.Adam(curves.parameters(), lr=RATE)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps, RATE / 30)
    parts = {"curves": curves, "optimizer": optimizer, "schedule": schedule}
    done = 0
    if path.exists():
        saved = torch.load(path)
        if saved["options"] != options:
            raise ValueError(f"{path} is a training with {saved['options']}, not {options}")
        done = saved["done"]
        for name, part in parts.items():
            part.load_state_dict(saved[name])
    for step in track(range(done, steps), "training"):
        generator = torch.Generator().manual_seed(seed * 10**6 + step)
        strengths = (
            low + (high - low) * torch.rand(DRAWS, generator=generator)
            for low, high in (FIELDS, PAIRS)
        )
        found, wanted = curves(*draw(spins, *strengths, QUERIES, generator))
        loss = (found - wanted).abs().sum(0).mean() / 2
        excess = (curves.knots()[1].abs() - bound).clamp_min(0)
        optimizer.zero_grad()
        (loss + excess.square().mean()).backward()
        optimizer.step()
        schedule.step()
        if (step + 1) % SAVE_EVERY == 0 or step + 1 == steps:
            states = {name: part.state_dict() for name, part in parts.items()}
            unfinished = path.with_suffix(".part")  # a kill while it is written does no harm
            torch.save({"options": options, "done": step + 1, **states}, unfinished)
            unfinished.replace(path)


def judge(anneal: DQA, n: int, seed: int) -> Table:
    """Total variation from Boltzmann on problems not trained on, beside the linear schedule's."""
    table = Table("n", "std of h, J", "linear", "trained", "linear / trained")
    linear = DQA(engine="statevector")
    for fields, pairs in JUDGED:
        generator = torch.Generator().manual_seed(-1 - seed)
        strengths = torch.full((20,), fields), torch.full((20,), pairs)
        h, J = draw(n, *strengths, 8, generator)
        problem = IsingProblem(h.double(), J[:, None].double())
        a, b = (distance_to_boltzmann(x, problem).total_variation.mean() for x in (linear, anneal))
        table.add_row(f"{n}", f"{fields}, {pairs}", f"{a:.4f}", f"{b:.4f}", f"{a / b:.2f}")
    return table


def main(
    out: Annotated[Path, typer.Argument(help="where the table goes, a CSV file of s, A and B")],
    monotone: Annotated[bool, typer.Option(help="A falls and B rises")] = False,
    counterterms: Annotated[bool, typer.Option(help="train counterterms too")] = True,
    bound: Annotated[float, typer.Option(help="on B, in units of beta_h = 1", min=0.6)] = 8.0,
    steps: Annotated[int, typer.Option(help="of the optimiser", min=1)] = 600,
    spins: Annotated[int, typer.Option(help="of the problems", min=1, max=16)] = 8,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    quick: Annotated[bool, typer.Option(help="100 steps on 4 spins")] = False,
) -> None:
    """Train, write the table, and compare with the linear schedule."""
    steps, spins, judged = (100, 4, [4]) if quick else (steps, spins, [8, 10, 12])
    curves = Curves(monotone=monotone, counterterms=counterterms)
    try:
        train(curves, out.with_suffix(".pt"), steps=steps, spins=spins, bound=bound, seed=seed)
    except ValueError as error:
        raise typer.BadParameter(f"{error}; choose another table") from None
    rows = torch.stack([TIMES, *curves.knots()]).detach().numpy().round(4)
    with open(out, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("s", "A", "B"), *rows.T.tolist()])
    terms = [round(term, 4) for term in curves.terms.tolist()] if counterterms else None
    console = Console()
    console.print(f"{out} goes with counterterms={terms}")
    schedule = Schedule.from_csv(out)
    anneal = DQA(schedule=schedule, trotter_order=2, counterterms=terms, engine="statevector")
    for n in judged:
        console.print(judge(anneal, n, seed))


if __name__ == "__main__":
    typer.run(main)
