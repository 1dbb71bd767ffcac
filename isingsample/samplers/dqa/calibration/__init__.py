"""From the anneal's own temperatures to beta.

counterterms    fields and couplings corrected to second order
fitting         one temperature for a whole batch, from running it
validity        where an anneal can be trusted
"""
