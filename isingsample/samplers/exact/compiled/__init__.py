"""The exact solver's loops, compiled by numba: one pass over the table of couplings per query.

tables.py       what the queries of one J share, and what each has by itself, by doubling
kernels.py      moments of queries and their gradients
dispatch.py     when to use them, and how work is shared out

The array code of prefix_moments.py is what they are tested against. It serves where numba is not
installed, on a GPU and for tables that no cache holds.
"""
