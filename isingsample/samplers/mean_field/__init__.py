"""Mean-field approximations.

equation.py     naive and TAP
fixed_point.py  damped iteration
gradient.py     derivatives of its solutions in PyTorch
sampler.py      the sampler
"""
