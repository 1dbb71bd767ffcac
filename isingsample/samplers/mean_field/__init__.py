"""Mean-field approximations.

equation.py     naive and TAP
fixed_point.py  damped iteration
sampler.py      the sampler
"""
