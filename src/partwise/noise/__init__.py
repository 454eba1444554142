"""What kind of noise a table has, and the scales of rows and columns that make it one."""

from partwise.noise.measuring import measure_noise, name_noise
from partwise.noise.model import KINDS, Noise, NoiseKind
from partwise.noise.telling import sentence

__all__ = ["KINDS", "Noise", "NoiseKind", "measure_noise", "name_noise", "sentence"]
