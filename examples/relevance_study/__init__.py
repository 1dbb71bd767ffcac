"""Keys whose relevance is correlated: what couplings are good for.

priors     which keys are relevant together, and the best that can be done (Bayes)
models     independent weights, couplings, and models that mix keys
training   one model on one prior, all seeds together
report     tables and figures
"""
