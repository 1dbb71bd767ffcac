"""What runs an anneal.

choose         an engine by name
aer            exact outcome probabilities, by Qiskit Aer
primitive      reads, by any of Qiskit's sampler primitives, with primitive_checks (seeds, gates)
statevector    outcome probabilities by this package, from arrays of NumPy or PyTorch
amplitudes     the evolution behind it, with qubits (rotations of every qubit)
adjoint        its gradient in PyTorch
kernels, kernels_adjoint, kernel_tasks    the same, compiled
"""
