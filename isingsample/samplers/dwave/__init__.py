"""A D-Wave annealer: many problems in each submission, at a known temperature and cost.

sampler       the sampler
calibration   the temperature of an annealer, and the scale that sets it
estimate      what a batch would cost
readout       chains of qubits to spins
mock          a stand-in for an annealer, offline
errors        what can go wrong with a remote solver
chip/         problems on a chip, settled before anything is sent
service/      settings, connection and failures
call/         what is sent, recorded, and finished later
"""
