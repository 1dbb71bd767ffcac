"""The way to a solver, and what comes back when it fails.

connect              a client of Ocean's, configured in Ocean's order: where the token goes in
connection           a solver in use, with the layouts found on it
settings             how the connection is configured, and where each part comes from
arguments            what a submission is called with, with qubit_arguments (by qubit and moment)
failures             errors in plain words, and the token kept out of messages and logs
"""
