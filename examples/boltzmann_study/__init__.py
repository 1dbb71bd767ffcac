"""The experiments of Boltzmann attention (Kim & Park 2026, arXiv 2606.12478), to be repeated.

One single-layer, single-head decoder; one ensemble of it per length T, in which every kind of
attention and every seed trains at once on the same data; the statistics of the differences.

modes.py, samplers.py   what is compared: kinds of attention, and samplers inside them
text.py, brackets.py    what is learned, as questions (task.py)
model.py, attention.py  the ensemble
training.py             the protocol, and a loop that can be killed at any moment
study.py                all lengths of a study: cost, runs, results
statistics.py, report.py, plots.py, options.py
"""
