"""partwise: the true parts of non-negative mixtures."""

__version__ = "0.1.0"
