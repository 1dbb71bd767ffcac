"""Samplers, one package or file each, and what they share.

base.py         the contract: options, `sample`, `minimize`, and all that samplers have in common
exact/          all states, in matrix products
transfer/       banded couplings at any length
mean_field/     fixed points of mean-field equations
monte_carlo/    gibbs, annealing and tempering
dqa/            diabatic quantum anneals
ocean.py        any sampler of dimod's, with _children.py
qpu/            a D-Wave annealer
_pairs.py       products of pairs of spins in samples, and their errors
_inverse_cdf.py samples from tables of probabilities
_compiling.py, _threads.py   compiled loops, and how they are shared out
"""
