"""A call under way: sent, recorded, given up with a job and finished later.

submissions    what is sent, and waited for
batch          the submissions of a plan
journal        what has been sent
job            the same in a file
calls          sample, minimize and resume
"""
