"""Monte Carlo at a target temperature, compiled, and on the device of a tensor.

gibbs, annealing, tempering    the samplers
chains            what a run of many chains is, with initial_states (where they start)
chain_moments     averages over them
diagnostics       how sure the averages are (R-hat), with mixing (reads that came from elsewhere)
schedules         temperatures over the sweeps of an anneal
ladders           temperatures of the replicas of tempering
compiled/         the loops over sweeps and spins, compiled by numba
device/           the same samplers on the device of a tensor
"""
