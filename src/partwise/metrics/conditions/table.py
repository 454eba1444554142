"""Results as tables, one quantity or condition a line."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, NamedTuple

# relative: one at a bound is meant to be within it, and sums of thousands of numbers are rounded by 1e-13
SLACK = 1e-12
NAN = float("nan")


class Condition(NamedTuple):
    """One line of a table: a quantity that was ``found`` and has to be in ``relation`` to what was ``asked`` for.

    Without a relation it is a quantity alone. What is asked is NaN if it is a constant that the paper does not give.
    """

    condition: str
    relation: str
    asked: float
    found: float
    holds: bool | None

    @classmethod
    def quantity(cls, name: str, found: float) -> Condition:
        """A number that nothing is asked of."""
        return cls(name, "", NAN, float(found), None)

    @classmethod
    def check(cls, name: str, relation: str, asked: float, found: float) -> Condition:
        """Compare; inequalities that are not strict hold up to rounding."""
        room = found - asked if relation.startswith(">") else asked - found
        holds = room >= -SLACK * abs(asked) if relation.endswith("=") else room > 0.0
        return cls(name, relation, float(asked), float(found), bool(holds))

    @classmethod
    def constant(cls, name: str, asked: float, found: float) -> Condition:
        """Compare a constant of the model, for which any positive number will do unless one is asked for."""
        return cls.check(name, ">=" if asked else ">", asked, found)

    @classmethod
    def bounded(cls, name: str, found: float) -> Condition:
        """Compare with a constant that the paper does not give: only 0 is below, and infinity above, any such."""
        return cls(name, "<=", NAN, float(found), {0.0: True, float("inf"): False}.get(found))

    @classmethod
    def fact(cls, name: str, holds: bool) -> Condition:
        """What is or is not so: 1 or 0, where 1 is asked for."""
        return cls(name, ">=", 1.0, float(holds), bool(holds))

    def __str__(self) -> str:
        if not self.relation:
            return f"{self.found:10.4g}"
        asked = "?" if self.asked != self.asked else f"{self.asked:.4g}"
        holds = {True: "holds", False: "fails", None: "undecided"}[self.holds]
        return f"{self.found:10.4g} {self.relation:<2} {asked:<10} {holds}"


def verdict(conditions: Iterable[Condition]) -> bool | None:
    """Whether all conditions hold; None if none fails but one could not be decided, or if there are none."""
    verdicts = {line.holds for line in conditions if line.relation}
    return False if False in verdicts else None if None in verdicts or not verdicts else True


class ConditionTable(ABC):
    """Quantities and conditions that print as a table, one a line."""

    @property
    @abstractmethod
    def conditions(self) -> tuple[Condition, ...]:
        """The lines of the table."""

    @property
    def holds(self) -> bool | None:
        """Whether all conditions hold; None if none fails but one could not be decided, or if there are none."""
        return verdict(self.conditions)

    def to_native(self, backend: Any = "polars") -> Any:
        """Return the table as a data frame, one line a row.

        Parameters
        ----------
        backend : {"polars", "pandas", "pyarrow"}, default="polars"
            The library.

        Returns
        -------
        DataFrame
            With the columns condition, relation, asked, found and holds.
        """
        import narwhals

        columns = zip(*self.conditions, strict=True)
        return narwhals.from_dict(dict(zip(Condition._fields, columns, strict=True)), backend=backend).to_native()

    def __str__(self) -> str:
        width = max(len(line.condition) for line in self.conditions)
        return "\n".join(f"{line.condition:<{width}} {line}" for line in self.conditions)

    def __repr__(self) -> str:
        return f"{type(self).__name__}:\n{self}"
