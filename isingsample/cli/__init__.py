"""The command line.

main        the command and its errors
commands    solve, compare, samplers
dwave       the commands about a D-Wave annealer
console     where it is printed
"""
