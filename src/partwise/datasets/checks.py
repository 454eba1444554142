"""Argument checks and random streams shared by the generators."""

from __future__ import annotations

from collections.abc import Collection
from numbers import Integral, Real
from typing import Any

import numpy as np

from partwise.exceptions import InputError

__all__ = ["as_generator", "check_choice", "check_integer", "check_matrix", "check_real", "check_share"]

RandomState = int | np.integer | np.random.Generator | np.random.RandomState | None


def as_generator(random_state: RandomState) -> np.random.Generator:
    """Turn scikit-learn's ``random_state`` into a NumPy generator.

    Parameters
    ----------
    random_state : None, int, numpy.random.Generator or numpy.random.RandomState
        A generator is used as it is (and moves on); a ``RandomState`` gives one seed.

    Returns
    -------
    numpy.random.Generator
        The stream of random numbers.

    Examples
    --------
    >>> bool(as_generator(3).random() == as_generator(3).random())
    True
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**32, size=4, dtype=np.uint64))
    if random_state is None:
        return np.random.default_rng()
    if isinstance(random_state, Integral) and not isinstance(random_state, bool) and random_state >= 0:
        return np.random.default_rng(int(random_state))
    raise InputError(
        f"random_state={random_state!r} is not a seed: give None, a non-negative integer, "
        "a numpy Generator or a RandomState.",
        parameter="random_state",
    )


def check_integer(name: str, value: Any, minimum: int = 1, maximum: int | None = None) -> int:
    """Return ``value`` as an int within the bounds, or say what is wrong.

    Examples
    --------
    >>> check_integer("n_samples", 5)
    5
    """
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if whole and value >= minimum and (maximum is None or value <= maximum):
        return int(value)
    bound = f"of at least {minimum}" if maximum is None else f"between {minimum} and {maximum}"
    raise InputError(f"{name}={value!r} cannot be used: give an integer {bound}.", parameter=name)


def check_real(name: str, value: Any, minimum: float = 0.0, *, strict: bool = False) -> float:
    """Return ``value`` as a finite float at (or, strictly, above) ``minimum``.

    Examples
    --------
    >>> check_real("level", 1)
    1.0
    """
    if isinstance(value, Real) and not isinstance(value, bool) and np.isfinite(float(value)):
        number = float(value)
        if number > minimum or (number == minimum and not strict):
            return number
    bound = "above" if strict else "of at least"
    raise InputError(f"{name}={value!r} cannot be used: give a finite number {bound} {minimum:g}.", parameter=name)


def check_share(name: str, value: Any) -> float:
    """Return ``value`` as a float from 0 to 1.

    Examples
    --------
    >>> check_share("pure", 1)
    1.0
    """
    number = check_real(name, value)
    if number > 1.0:
        raise InputError(f"{name}={value!r} cannot be used: give a number between 0 and 1.", parameter=name)
    return number


def check_choice(name: str, value: Any, choices: Collection[Any]) -> None:
    """Say which values ``name`` can take when ``value`` is none of them.

    Examples
    --------
    >>> check_choice("kind", "dir", ("dir", "ctm"))
    """
    if not any(value is choice or value == choice for choice in choices):
        listed = ", ".join(repr(choice) for choice in choices)
        raise InputError(f"{name}={value!r} is unknown: choose one of {listed}.", parameter=name)


def check_matrix(name: str, value: Any, shape: tuple[int | None, int | None] = (None, None)) -> np.ndarray:
    """Return ``value`` as a finite float matrix of the wanted shape (None: any length).

    Examples
    --------
    >>> check_matrix("components", [[1, 2]]).shape
    (1, 2)
    """
    matrix = np.array(value, dtype=float)
    if matrix.ndim != 2 or matrix.size == 0:
        raise InputError(f"{name} has shape {matrix.shape}: give a non-empty two-dimensional array.", parameter=name)
    wanted = tuple("any" if size is None else size for size in shape)
    if any(size is not None and size != got for size, got in zip(shape, matrix.shape, strict=True)):
        raise InputError(f"{name} has shape {matrix.shape} where ({wanted[0]}, {wanted[1]}) is needed.", parameter=name)
    if not np.isfinite(matrix).all():
        raise InputError(f"{name} contains NaN or infinity: replace or remove those entries.", parameter=name)
    return matrix
