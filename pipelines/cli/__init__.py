"""The command line: a Hydra app whose first bare word picks a verb. Nothing here imports torch, numba or anything else that is slow."""
