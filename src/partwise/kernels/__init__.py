"""Compiled leaves on small arrays: no classes, no data of unknown kind, no printing. The only place for numba."""
