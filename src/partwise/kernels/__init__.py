"""Compiled leaves on small arrays: no classes, no data of unknown kind, no printing. Numba is here only."""
