"""Loaders of real data; see `partwise.datasets`."""
