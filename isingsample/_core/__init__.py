"""What everything else stands on: problems, results, blocks, streams of randomness.

problem          IsingProblem, with problem_inputs (what it accepts) and sparse (couplings by edge)
states           energies of states, tables of all states
result           SampleResult, with info (facts, some computed only when read)
sampleset        one problem's reads as a dimod SampleSet
blocks           a batch cut into blocks that share couplings; prefix_blocks (causal masks, padding)
streams          random numbers that depend on seed and place, never on the size of a batch
arrays           NumPy and PyTorch behind one set of functions; autograd (what only PyTorch needs)
checks           bad input to one clear error
memory, progress, extras, plain   free memory; progress bars; optional packages; values for JSON
"""
