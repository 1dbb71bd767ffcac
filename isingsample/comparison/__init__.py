"""Samplers side by side.

compare               moments and histograms of several samplers on one problem
contenders            the samplers that the command line compares
attention_problems    problems as an attention layer poses them, made from text
distance              distance of reads or a distribution to Boltzmann
table, figure         the comparison, printed and drawn
"""
