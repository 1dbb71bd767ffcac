"""The same samplers on the device of a tensor, by array operations.

chains, ladders    the samplers
sweeps             replicas and their updates
tally              sums over sweeps
"""
