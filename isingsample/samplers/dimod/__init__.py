"""dimod, both ways.

sampler     any dimod sampler as a sampler of this package
children    what is known of dimod samplers, and how each is made to sample at beta
adapter     a sampler of this package as a dimod sampler
"""
