"""Submit a small batch of problems to a D-Wave annealer, and compare with the exact solution.

On a mock, without an account or a network:

    python examples/leap_submit.py --mock

On Leap, with the token from --token, the variable DWAVE_API_TOKEN or a configuration file
(prefer the last two: a command line stays in the shell's history):

    python examples/leap_submit.py --reads 500 --annealing-time 20 --job job.json

See first what it would cost, and set the temperature before:

    python examples/leap_submit.py --queries 1000 --dry-run
    python examples/leap_submit.py --queries 250 --calibrate

Should that break off, by a timeout, a lost connection or Ctrl-C, then job.json keeps what has been
submitted, and the same command finishes it.
"""

import argparse
import dataclasses
from pathlib import Path

import numpy as np

from isingsample import (
    BackendError,
    DWave,
    DWaveEstimate,
    DWaveJob,
    IsingProblem,
    IsingSampleError,
    SampleResult,
    get_sampler,
)

_FASTEST = 0.005  # microseconds


def main(arguments: list[str] | None = None) -> SampleResult | DWaveEstimate:
    """Submit, wait and print the table; returns what came back, or what it would cost."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mock", action="store_true", help="use a local stand-in for the annealer")
    parser.add_argument("--token", help="Leap API token")
    parser.add_argument("--solver", help="name of a solver (default: the one with most qubits)")
    parser.add_argument("--region", help="such as eu-central-1 (default: na-west-1)")
    parser.add_argument("--reads", type=int, default=200, help="anneals of each problem")
    parser.add_argument("--queries", type=int, default=4, help="problems: queries that share J")
    parser.add_argument("--spins", type=int, default=8, help="of each problem: keys")
    parser.add_argument("--dry-run", action="store_true", help="say the cost, submit nothing")
    parser.add_argument(
        "--calibrate", action="store_true", help="find the scale for beta = 1 first"
    )
    parser.add_argument("--fast-anneal", action="store_true", help="by default of 5 nanoseconds")
    parser.add_argument("--annealing-time", type=float, help="of each read, in microseconds")
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds for an answer")
    parser.add_argument("--job", type=Path, help="file that keeps a call that breaks off")
    parser.add_argument("--seed", type=int, default=0, help="of the problems")
    options = parser.parse_args(arguments)
    if min(options.queries, options.spins, options.reads) < 1:
        parser.error("--queries, --spins and --reads must be at least 1")

    problem = attention_like(options.queries, options.spins, options.seed)
    anneal = options.annealing_time or (_FASTEST if options.fast_anneal else None)
    common = {"num_reads": options.reads, "annealing_time": anneal, "timeout": options.timeout}
    common["fast_anneal"] = options.fast_anneal
    if options.mock:
        from isingsample.samplers.dwave.mock import mock_dwave

        place = {"child": mock_dwave(seed=options.seed)}
    else:
        place = {"token": options.token, "solver": options.solver, "region": options.region}
    try:
        exact = get_sampler("exact").sample(problem)
        with get_sampler("dwave", **common, **place) as sampler:
            if options.dry_run:
                estimate = sampler.estimate(problem)
                print(estimate)
                return estimate
            if options.calibrate:
                sampler = calibrated(sampler, problem, options.seed)
            result = submitted(sampler, problem, options)
    except (IsingSampleError, ValueError) as error:  # no token, no network, out of range
        raise SystemExit(f"{type(error).__name__}: {error}") from None
    report(result, exact)
    return result


def calibrated(sampler: DWave, problem: IsingProblem, seed: int) -> DWave:
    """The sampler with the scale that makes its reads have beta = 1."""
    found = sampler.calibrate(problem, seed=seed)
    for scale, beta, error in found.trials:
        print(f"scale {scale:.4g}: beta_effective {beta:.3f} +- {error:.3f}")
    return dataclasses.replace(sampler, scale=found.scale)


def submitted(sampler: DWave, problem: IsingProblem, options: argparse.Namespace) -> SampleResult:
    """Submit, or finish what was submitted before; keep it in the file of --job if that fails."""
    try:
        if options.job and options.job.exists():
            result = sampler.resume(DWaveJob.load(options.job), problem)
            options.job.unlink()
        else:
            result = sampler.sample(problem, seed=options.seed)
    except (BackendError, KeyboardInterrupt) as error:
        if options.job and getattr(error, "job", None):  # None if nothing had been submitted
            error.job.save(options.job)
        raise
    return result


def attention_like(queries: int, length: int, seed: int) -> IsingProblem:
    """Queries with fields of their own and couplings that they share."""
    rng = np.random.default_rng(seed)
    h = rng.normal(0.0, 0.5, size=(queries, length))
    J = np.triu(rng.normal(0.0, 0.3, size=(length, length)), 1)
    return IsingProblem(h, J + J.T)


def report(result: SampleResult, exact: SampleResult) -> None:
    """Print the magnetizations next to the exact ones, and what the annealer says."""
    info, reads = result.info, result.samples.shape[-2]
    print(f"{info['solver']}: {len(result.magnetization)} problems, {reads} reads each")
    print(
        f"scale {info['scale']:.3g}, chain strength {info['chain_strength']:.3g}, "
        f"longest chain {info['max_chain_length']}"
    )
    estimated = info["qpu_seconds_estimated"]
    print(
        f"{info['num_submissions']} submissions, estimated QPU access time "
        + (f"{estimated:.3g} s" if estimated is not None else "not known: no timing data")
    )
    print(
        f"beta_effective {info['beta_effective']:.3f} +- {info['beta_effective_std_error']:.3f}, "
        f"where 1 was asked for"
    )
    row = "{:>5}  {:>10}  {:>10}  {:>17}  {:>13}  {}"
    print(
        row.format("query", "m[0]", "exact m[0]", "mean |m - exact|", "chain breaks", "problem id")
    )
    errors = np.abs(result.magnetization - exact.magnetization)
    for query, problem_id in enumerate(info["problem_ids"]):
        numbers = (
            f"{result.magnetization[query, 0]:+.3f}",
            f"{exact.magnetization[query, 0]:+.3f}",
            f"{errors[query].mean():.3f}",
            f"{info['chain_break_fraction'][query]:.1%}",
        )
        print(row.format(query, *numbers, problem_id))
    # A normal deviate is 0.8 standard deviations away from its mean, on average.
    noise = 0.8 * np.sqrt((1 - exact.magnetization**2) / reads).mean()
    print(f"mean |m - exact| {errors.mean():.3f}; {reads} exact reads would have {noise:.3f}")
    for name, microseconds in info["qpu_timing"].items():
        print(f"{name}: {microseconds:.0f} us")
    print(f"wall time: {info['timing']['sampling_ns'] / 1e9:.2f} s")


if __name__ == "__main__":
    main()
