"""The rows of a CSV table, a block at a time, as columns of bytes."""

import csv
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from recrawl.errors import InputError
from recrawl.formats.source import Source

#: A row longer than this many bytes is refused, so that memory stays bounded whatever a file holds.
LONGEST_ROW = 4 * 2**20

#: The header is row 1, as in a text editor.
FIRST_ROW = 2

_TOO_LONG = f"the row is longer than {LONGEST_ROW >> 20} MB (is a quotation mark left open?)"


def read_header(source: Source) -> list[str]:
    """Read the columns' names, leaving the stream at the first row of data.

    Raises:
        InputError: The first row is no header.
    """
    try:
        header = next(csv.reader(_header_lines(source)), [])
    except UnicodeDecodeError:
        raise source.error("this is not UTF-8 text", row=1) from None
    except csv.Error as error:
        raise source.error(f"the header is broken: {error}", row=1) from None
    return [name.strip() for name in header]


def _header_lines(source: Source) -> Iterator[str]:
    """Give the first lines; a name in quotation marks may span several of them."""
    encoding = "utf-8-sig"
    while line := source.stream.readline(LONGEST_ROW + 1):
        if len(line) > LONGEST_ROW:
            raise source.error(_TOO_LONG, row=1)
        yield line.decode(encoding)
        encoding = "utf-8"


def csv_batches(
    source: Source, header: Sequence[str], columns: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """Give some columns of the rows after the header, as bytes; an empty cell is null.

    Raises:
        InputError: A row has too many or too few fields, or is too long.
    """
    invalid: list[Any] = []
    row = FIRST_ROW

    def note(found: Any) -> str:  # noqa: ANN401 - pyarrow has no types
        invalid.append(found)
        return "error"

    try:
        reader = arrow_csv.open_csv(
            source.stream,
            # One thread: only then are rows that do not fit numbered.
            arrow_csv.ReadOptions(
                use_threads=False,
                block_size=LONGEST_ROW,
                column_names=[
                    name if name in columns else str(number) for number, name in enumerate(header)
                ],
            ),
            # Empty lines are kept, so that rows can be counted.
            arrow_csv.ParseOptions(
                newlines_in_values=True, ignore_empty_lines=False, invalid_row_handler=note
            ),
            arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(columns, pa.binary()),
                include_columns=columns,
                null_values=[""],
                strings_can_be_null=True,
            ),
        )
        for batch in reader:
            row += len(batch)
            yield batch
    except pa.ArrowInvalid as error:
        if "Empty CSV file" in str(error):
            return
        raise _explained(source, error, invalid, row) from None


def _explained(
    source: Source, error: pa.ArrowInvalid, invalid: Sequence[Any], row: int
) -> InputError:
    if invalid:
        first = invalid[0]
        fields = f"{first.actual_columns} field{'s' if first.actual_columns != 1 else ''}"
        problem = f"the row has {fields}, the header has {first.expected_columns}"
        return source.error(problem, row=first.number + FIRST_ROW - 1)
    if "straddling" in str(error):
        return source.error(_TOO_LONG, row=row)
    return source.error(f"it cannot be read as CSV: {error}")


def filled_rows(batch: pa.RecordBatch) -> pa.Array:
    """Say which rows of a batch have something in them; empty lines do not."""
    filled = batch.column(0).is_valid()
    for column in batch.columns[1:]:
        filled = pc.or_(filled, column.is_valid())
    return filled
