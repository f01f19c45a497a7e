"""What threads need that share arrays in compiled code: numba has no words for it.

Integers lie on a `Board`, an int64 array that all of them see.
"""

import platform
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
from numba import extending, types
from numba.core import cgutils as typed_cgutils
from numba.np import arrayobj

Board: TypeAlias = npt.NDArray[np.int64]

# Numba says no types for these.
make_array: Any = arrayobj.make_array
cgutils: Any = typed_cgutils
ir: Any = cgutils.ir

# The instruction that tells a core that it waits in a loop; others do without.
_PAUSE: Final = {"x86_64": "llvm.x86.sse2.pause", "AMD64": "llvm.x86.sse2.pause"}


def intrinsic(function: Callable[..., Any]) -> Any:
    """What a function gives, the types of a call and its code, as a function of compiled code."""
    return extending.intrinsic(function)


def _place(context: Any, builder: Any, board_type: Any, board: Any, index: Any) -> Any:
    return builder.gep(make_array(board_type)(context, builder, board).data, [index])


def _changing(operation: str, board: Any) -> tuple[Any, Callable[..., Any]]:
    """Types and code of what changes an integer on a board, and gives what it was before."""
    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = _place(context, builder, signature.args[0], *arguments[:2])
        return builder.atomic_rmw(operation, place, arguments[2], "acq_rel")

    return types.int64(board, types.intp, types.int64), code


@intrinsic
def atomic_load(_: Any, board: Any, index: Any) -> Any:
    """board[index]; all that was written before it was stored is seen after this."""
    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = _place(context, builder, signature.args[0], *arguments)
        return builder.load_atomic(place, "acquire", 8)

    return types.int64(board, types.intp), code


@intrinsic
def atomic_add(_: Any, board: Any, index: Any, number: Any) -> Any:
    """Add to board[index], and give what it was before."""
    return _changing("add", board)


@intrinsic
def atomic_exchange(_: Any, board: Any, index: Any, number: Any) -> Any:
    """Store a number in board[index], and give what it was before."""
    return _changing("xchg", board)


@intrinsic
def pause(_: Any) -> Any:
    """Wait for some hundredths of a microsecond."""
    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if platform.machine() in _PAUSE:
            nothing = ir.FunctionType(ir.VoidType(), [])
            builder.call(cgutils.get_or_insert_function(
                builder.module, nothing, _PAUSE[platform.machine()]), [])
        return context.get_dummy_value()

    return types.none(), code


@intrinsic
def address_of(_: Any, arrays: Any) -> Any:
    """Where a tuple of arrays lies until the calling function returns."""
    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = cgutils.alloca_once_value(builder, arguments[0])
        return builder.ptrtoint(place, ir.IntType(64))

    return types.int64(arrays), code


@intrinsic
def arrays_at(_: Any, address: Any, like: Any) -> Any:
    """The tuple of arrays at an address, which are of the types of those in `like`.

    They count no references, for which threads would wait for each other.
    """
    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = context.get_value_type(signature.args[1])
        arrays = builder.load(builder.inttoptr(arguments[0], kind.as_pointer()))
        for number, array_type in enumerate(signature.args[1]):
            array = make_array(array_type)(context, builder, builder.extract_value(arrays, number))
            array.meminfo = cgutils.get_null_value(array.meminfo.type)
            arrays = builder.insert_value(arrays, array._getvalue(), number)
        return arrays

    return like(types.int64, like), code
