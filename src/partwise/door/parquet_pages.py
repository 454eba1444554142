"""The skeleton of a Parquet file, looked at before polars trusts it: a count below zero makes it take 2^61 bytes.

Footer and headers of pages are structs of Thrift's compact protocol; numbers by the ids of their fields, as in
``parquet.thrift`` of the format. Pages themselves are not looked at.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, BinaryIO

from partwise.door.guard import fail

Struct = dict[int, Any]

HEADER_BYTES = 1 << 12  # of a page at first; with statistics of long texts more
MOST_DEPTH = 16
ROW_GROUPS, COLUMNS, META_DATA, GROUP_ROWS = 4, 1, 3, 3  # FileMetaData, RowGroup, ColumnChunk, RowGroup
NUM_VALUES, COMPRESSED, DATA_PAGE, INDEX_PAGE, DICTIONARY_PAGE = 5, 7, 9, 10, 11  # ColumnMetaData
PAGE_SIZE, PAGE_COMPRESSED = 2, 3  # PageHeader
PAGE_KINDS = {5: "data", 7: "dictionary", 8: "data"}  # the part of a PageHeader that counts its values
LENGTHS = {5: (1,), 7: (1,), 8: (1, 2, 3, 5, 6)}  # counts and lengths in each


class _Bytes:
    """Numbers and structs from bytes, one after the other."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def byte(self) -> int:
        value = self.data[self.at]
        self.at += 1
        return value

    def number(self) -> int:
        """Seven bits a byte, the least first."""
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
            if shift > 63:
                raise ValueError("a number of more than 64 bits")

    def signed(self) -> int:
        value = self.number()
        return (value >> 1) ^ -(value & 1)

    def skip(self, count: int) -> None:
        if count > len(self.data) - self.at:
            raise IndexError("ends within a text")
        self.at += count

    def value(self, kind: int, depth: int) -> Any:
        if kind in (1, 2):
            return kind == 1
        if kind == 3:
            return self.byte()
        if kind in (4, 5, 6):
            return self.signed()
        if kind == 7:
            return self.skip(8)
        if kind == 8:
            return self.skip(self.number())
        if kind in (9, 10):
            return self.several(depth)
        if kind == 12:
            return self.struct(depth + 1)
        raise ValueError(f"a field of kind {kind}")

    def several(self, depth: int) -> list[Any]:
        head = self.byte()
        count, kind = head >> 4, head & 0x0F
        count = self.number() if count == 15 else count
        if count > len(self.data):
            raise ValueError(f"a list of {count} in {len(self.data)} bytes")
        if kind in (1, 2):  # of truth values each is a byte
            return [self.byte() for _ in range(count)]
        return [self.value(kind, depth) for _ in range(count)]

    def struct(self, depth: int = 0) -> Struct:
        if depth > MOST_DEPTH:
            raise ValueError("structs within structs without end")
        found: Struct = {}
        field = 0
        while head := self.byte():
            field = field + (head >> 4) if head >> 4 else self.signed()
            found[field] = self.value(head & 0x0F, depth)
        return found


def check_pages(path: Path, file: BinaryIO, footer: bytes, size: int) -> None:
    """Refuse counts and sizes below zero, or that do not go with each other or with the file."""
    try:
        for group in _structs(_Bytes(footer).struct().get(ROW_GROUPS, [])):
            for column in _structs(group.get(COLUMNS, [])):
                found = column.get(META_DATA)
                if isinstance(found, dict):
                    _check_column(file, found, int(group.get(GROUP_ROWS, 0)), size)
    except (ValueError, IndexError, TypeError, KeyError) as error:
        raise fail(path, f"not a readable parquet file ({error})") from error


def _structs(found: Any) -> list[Struct]:
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise ValueError("no list of columns where one must be")
    return found


def _check_column(file: BinaryIO, column: Struct, rows: int, size: int) -> None:
    values, length = int(column[NUM_VALUES]), int(column[COMPRESSED])
    places = [int(column[name]) for name in (DATA_PAGE, INDEX_PAGE, DICTIONARY_PAGE) if column.get(name)]
    start = min(places)
    if values < 0 or rows < 0 or start < 0 or not 0 <= length <= size - start:
        raise ValueError(f"a column of {values} values in {length} bytes from {start} on, of {size}")
    seen, at = 0, start
    while at < start + length:
        at, count = _check_page(file, at, start + length)
        seen += count
    if seen != values:
        raise ValueError(f"a column of {values} values whose pages have {seen}")


def _check_page(file: BinaryIO, at: int, end: int) -> tuple[int, int]:
    """Where the next page begins, and how many values of the column are in this one."""
    page, header = _page_header(file, at, end)
    unpacked, packed = int(page[PAGE_SIZE]), int(page[PAGE_COMPRESSED])
    if unpacked < 0 or not 0 <= packed <= end - at - header:
        raise ValueError(f"a page of {unpacked} bytes, {packed} of them stored, at {at}")
    count = 0
    for part, kind in PAGE_KINDS.items():
        about = page.get(part)
        if about is None:
            continue
        numbers = [int(about.get(name, 0)) for name in LENGTHS[part]]
        if min(numbers) < 0 or max(numbers[3:], default=0) > unpacked:
            raise ValueError(f"a page with the counts {numbers} at {at}")
        if kind == "dictionary" and numbers[0] > unpacked:
            raise ValueError(f"a dictionary of {numbers[0]} values in {unpacked} bytes at {at}")
        count += numbers[0] if kind == "data" else 0
    return at + header + packed, count


def _page_header(file: BinaryIO, at: int, end: int) -> tuple[Struct, int]:
    length = HEADER_BYTES
    while True:
        file.seek(at)
        data = _Bytes(file.read(min(length, end - at)))
        try:
            return data.struct(), data.at
        except IndexError:
            if length >= end - at:
                raise
            length *= 16
