"""Fields and couplings fitted to data.

fit           fit_couplings
statistics    moments of the data, and what they leave open
ascent        steps uphill
"""
