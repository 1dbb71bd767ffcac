"""Samplers around samplers.

refine        heat-bath sweeps from the reads of any sampler
metropolis    independence Metropolis with a sampler's distribution as proposal
gauge_spin    fields as couplings to one more spin
"""
