"""dimod, both ways.

sampler     any dimod sampler as a sampler of this package
children    what is known of dimod samplers, and how each is made to sample at beta
as_dimod    a sampler of this package as a dimod sampler, by the class in adapter
"""
