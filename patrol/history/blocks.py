"""The inside of a block: for each measure, columns of whole numbers of 16 bits, compressed each by itself.

A column is dense: `slots` values for each of the `SHARD` numbers of the shard, number after number. What is not
there is `MISSING`. Bytes of high and low order stand apart: neighbours that differ little then share most bytes.
"""

import sys
import zlib
from array import array
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import msgspec

from patrol.history.model import Measure, Point

SHARD = 1024
MISSING = -32768
SCALES = {measure: 100 if measure in {Measure.DISK, Measure.INODES, Measure.USAGE} else 10 for measure in Measure}
"""Steps of a percent. What fills up does so slowly; in what goes up and down the second decimal is only noise."""

LARGEST = 300
"""Values beyond are no percentages, whatever the source says."""
HIGHEST = 32767
_COMPRESSION = 6


class Column(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """The packed values of one measure. Empty: minima and maxima as the average, counts 1, windows 0."""

    averages: bytes
    minima: bytes = b""
    maxima: bytes = b""
    counts: bytes = b""
    windows: bytes = b""


Block = Mapping[str, Column]
"""Columns by measure. Measures that this version does not know are left alone."""

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(dict[str, Column]).decode


def encode_block(block: Block) -> bytes:
    """The block as it is stored."""
    return _encode(block)


def decode_block(data: bytes) -> dict[str, Column]:
    """The columns of a stored block, still packed."""
    return _decode(data)


def empty(slots: int = 1) -> "array[int]":
    """Values of one column, none of them there."""
    return array("h", [MISSING]) * (SHARD * slots)


def scaled(measure: Measure, value: float) -> int | None:
    """The stored form of a value; None for one that cannot be a percentage."""
    return round(value * SCALES[measure]) if -LARGEST < value < LARGEST else None  # NaN fails both


def whole(number: float) -> int:
    """A count or a number of seconds as far as a column holds it."""
    return min(int(number), HIGHEST)


def pack(values: "array[int]") -> bytes:
    """The compressed form of a column."""
    plain = _little_endian(values).tobytes()
    return zlib.compress(plain[1::2] + plain[::2], _COMPRESSION)


def unpack(data: bytes) -> "array[int]":
    """The values of a packed column."""
    planes = zlib.decompress(data)
    half = len(planes) // 2
    joined = bytearray(len(planes))
    joined[1::2], joined[::2] = planes[:half], planes[half:]
    values = array("h")
    values.frombytes(bytes(joined))
    return _little_endian(values)


def _little_endian(values: "array[int]") -> "array[int]":
    if sys.byteorder == "little":
        return values
    swapped = array("h", values)
    swapped.byteswap()
    return swapped


class Unpacked(NamedTuple):
    """One column for reading. None: not stored, see `Column`."""

    averages: "array[int]"
    minima: "array[int] | None"
    maxima: "array[int] | None"
    counts: "array[int] | None"
    windows: "array[int] | None"


def unpack_column(column: Column, *, extremes: bool = True) -> Unpacked:
    """The values of a column. Without `extremes` minima and maxima are left packed, which is twice as fast."""
    return Unpacked(
        unpack(column.averages),
        unpack(column.minima) if column.minima and extremes else None,
        unpack(column.maxima) if column.maxima and extremes else None,
        unpack(column.counts) if column.counts else None,
        unpack(column.windows) if column.windows else None,
    )


def points_of(
    measure: Measure, column: Unpacked, place: int, slots: int, begin_seconds: float, bucket_seconds: int
) -> list[Point]:
    """The points of the number at `place` of the shard, in the order of time."""
    averages, scale = column.averages, SCALES[measure]
    minima, maxima = column.minima or averages, column.maxima or averages
    return [
        Point(
            begin_seconds + (index - place * slots) * bucket_seconds,
            averages[index] / scale,
            minima[index] / scale,
            maxima[index] / scale,
            1 if column.counts is None else column.counts[index],
            bucket_seconds if column.windows is None else column.windows[index],
        )
        for index in range(place * slots, (place + 1) * slots)
        if averages[index] != MISSING
    ]


def known_measures(block: Block) -> Iterator[tuple[Measure, Column]]:
    """The columns whose measure this version knows."""
    for word, column in block.items():
        if word in _MEASURES:
            yield Measure(word), column


_MEASURES = frozenset(Measure)
