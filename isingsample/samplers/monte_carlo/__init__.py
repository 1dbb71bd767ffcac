"""Monte Carlo at a target temperature, compiled, and on the device of a tensor.

gibbs.py, annealing.py, tempering.py   the samplers
chains.py       what a run of many chains is
initial_states.py   where they start
chain_moments.py    averages over them
diagnostics.py  how sure its averages are
schedules.py    temperatures over the sweeps of an anneal
ladders.py      temperatures of the replicas of tempering
kernels.py      loops over sweeps and spins, which numba compiles
kernel_inputs.py    problems as the kernels take them
kernel_runs.py      batches through the kernels, on all cores
ladder_runs.py, anneal_runs.py   the same for tempering and for `minimize`
on_device.py, ladders_on_device.py   the samplers on the device of a tensor
device_sweeps.py    their sweeps
device_tally.py     their sums over sweeps
"""
