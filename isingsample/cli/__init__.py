"""The command line.

main        the command and its errors
commands    compare, samplers
solve       the command solve
dwave       the commands about a D-Wave annealer
options     options that several commands have
console     where it is printed
"""
