"""Samplers, one package each, and what they share.

base             the interface: Sampler, Minimizer, HasDistribution
block_sampler    the template that makes a sampler of one method, with solution (what that method
                 returns) and assembly (solutions put together into a result)
registry         samplers by name
effective_beta   the temperature of reads
exact/           all states, in matrix products
transfer/        banded couplings at any length
mean_field/      fixed points of mean-field equations
monte_carlo/     gibbs, annealing and tempering
dimod/           any dimod sampler, and ours as dimod's
dqa/             diabatic quantum anneals
dwave/           a D-Wave annealer
wrappers/        samplers around samplers
_shared/         pairs of spins, tables, compiled loops, threads
"""
