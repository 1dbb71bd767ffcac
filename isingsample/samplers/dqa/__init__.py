"""Diabatic quantum annealing, on Qiskit's simulators and primitives or on our own.

sampler         the sampler, with presets (its named settings)
solve           blocks of problems through an engine
anneal          the angles of each Trotter step
circuit         the circuit of a problem, or of a block of problems at once
schedule        A(s) and B(s), with schedule_file (files that hold them) and trained_curves
temperatures    the inverse temperature of each body order that a schedule ends at
readout         moments and reads from probabilities
engines/        what runs an anneal
calibration/    from the anneal's own temperatures to beta
"""
