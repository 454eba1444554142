"""Sums held in vector registers, which numba cannot be made to do: it keeps an array's entries in memory."""

from __future__ import annotations

from typing import Any

import numba.np.arrayobj
from llvmlite import ir
from numba import types
from numba.core import cgutils as _cgutils
from numba.extending import intrinsic

LINE_BYTES = 64  # of a cache line

cgutils: Any = _cgutils  # numba publishes no types
make_array: Any = numba.np.arrayobj.make_array
_INT = ir.IntType(64)
# A product may be added without being rounded first where the chip can do so, as in every kernel.
_FLAGS = ("contract", "nsz")


def _add_rows(
    _: Any,
    indices: Any,
    data: Any,
    start: Any,
    stop: Any,
    M: Any,
    out: Any,
    row: Any,
    column: Any,
    vectors: Any,
    share: Any,
) -> Any:
    """``out[row, c] = sum_t data[t] * M[indices[t], c]`` for neighbouring columns ``c``, in the order of ``t``.

    The columns from ``column`` on fill so many ``vectors`` of a cache line each, or of its half (``share`` is 2).
    """
    if not (isinstance(vectors, types.IntegerLiteral) and isinstance(share, types.IntegerLiteral)):
        return None
    if not M.layout == out.layout == "C":  # vectors are neighbours in memory
        return None
    signature = types.void(indices, data, start, stop, M, out, row, column, vectors, share)
    return signature, _sums_of_rows


add_rows: Any = intrinsic(_add_rows)


def _sums_of_rows(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    kinds = signature.args
    entry, real = kinds[1].dtype, kinds[5].dtype
    bytes_each = real.bitwidth // 8
    count, lanes = kinds[8].literal_value, LINE_BYTES // bytes_each // kinds[9].literal_value
    vector = ir.VectorType(context.get_value_type(real), lanes)
    # splat of a number: put into the first lane, then shuffled into all
    none, first = ir.Constant(vector, ir.Undefined), ir.Constant(ir.IntType(32), 0)
    spread = ir.Constant(ir.VectorType(ir.IntType(32), lanes), None)

    def array(i: int) -> Any:
        return make_array(kinds[i])(context, builder, arguments[i])

    def integer(i: int) -> Any:
        return context.cast(builder, arguments[i], kinds[i], types.intp)

    def place(i: int, *at: Any) -> Any:
        """The address of an entry, whatever the strides: SciPy keeps the arrays that it is given."""
        return cgutils.get_item_pointer(context, builder, kinds[i], array(i), at)

    def lane(pointer: Any, number: int) -> Any:
        pointer = builder.gep(pointer, [ir.Constant(_INT, number * lanes)])
        return builder.bitcast(pointer, vector.as_pointer())

    start, stop, row, column = integer(2), integer(3), integer(6), integer(7)
    sums = [cgutils.alloca_once_value(builder, ir.Constant(vector, None)) for _ in range(count)]
    with cgutils.for_range_slice(builder, start, stop, ir.Constant(_INT, 1), intp=_INT) as (t, _):
        x = context.cast(builder, builder.load(place(1, t)), entry, real)
        x = builder.shuffle_vector(builder.insert_element(none, x, first), none, spread)
        at = context.cast(builder, builder.load(place(0, t)), kinds[0].dtype, types.intp)
        values = place(4, at, column)
        for number, total in enumerate(sums):
            term = builder.fmul(x, builder.load(lane(values, number), align=bytes_each), flags=_FLAGS)
            builder.store(builder.fadd(builder.load(total), term, flags=_FLAGS), total)
    found = place(5, row, column)
    for number, total in enumerate(sums):
        builder.store(builder.load(total), lane(found, number), align=bytes_each)
    return context.get_dummy_value()
