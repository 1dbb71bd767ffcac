"""Exact moments by summing over all states.

halves.py       the spins in two halves, whose tables of states meet in a matrix product
marginals.py    moments of single spins and pairs, and reads, from these tables
chunk.py        as many queries as fit into memory
prefix_moments.py    causal masks: queries of many lengths that share one set of tables
prefix_gradients.py  their gradient in PyTorch
sampler.py      the sampler
"""
