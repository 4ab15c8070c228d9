"""One module per step of the workflow: read files, call the array cores, write files.

The order of the steps: cohort, ingest, variant set (all in `dpgrs.io` and `dpgrs.simulation`), then outcomes,
statistics, noise, fit, evaluate, collect, report.
"""
