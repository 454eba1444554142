"""Side by side with other libraries, as ratios in one run: ``python -m benchmarks list``."""
