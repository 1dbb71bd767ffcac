"""Problems on a chip, settled before anything is sent.

structure             which spins of a problem are coupled
tiles, tile_store     room for many problems on one chip, found once
layout                problems on qubits, and back
groups                problems that share a layout
gauge                 problems without fields, for fast anneals
ranges                what a solver accepts
plan                  a whole call
"""
