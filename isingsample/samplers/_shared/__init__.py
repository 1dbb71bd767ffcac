"""What several samplers use: pairs of spins and their errors, tables, compiled loops, threads."""
