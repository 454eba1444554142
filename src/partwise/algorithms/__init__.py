"""Pure programs, one paper a file: generators of ``Progress``, driven by ``algorithms.loop.run``."""
