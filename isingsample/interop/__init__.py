"""Problems and reads in the forms of other packages.

convert     dicts, edge lists, QUBOs, dimod and NetworkX, both ways, with the change of sign
reads       the rows of a dimod SampleSet as reads
"""
