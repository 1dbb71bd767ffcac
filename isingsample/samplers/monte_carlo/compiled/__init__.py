"""Loops over sweeps and spins, compiled by numba.

kernels       one lane of replicas: seeding, sweeps, measurements
records       what kernels are given and give back
inputs        blocks of problems in that form
chain_runs, ladder_runs, anneal_runs    batches of chains, of ladders, of anneals, on all cores
"""
