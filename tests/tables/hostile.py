"""Files that are small, or say little, and would fill the memory of whoever reads them.

python hostile.py FOLDER    reads each file of the folder as a table and as results, and prints
                            [[file, reader, error, seconds of the processor, words], ...] and,
                            last, the peak of its memory in bytes
"""

import io
import json
import struct
import sys
import time
import zipfile
from pathlib import Path

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
TYPES = "application/vnd.openxmlformats-officedocument.spreadsheetml"
PARTS = {
    "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types"><Default Extension="rels" '
    'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    f'<Override PartName="/xl/workbook.xml" ContentType="{TYPES}.sheet.main+xml"/>'
    f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{TYPES}.worksheet+xml"/></Types>',
    "_rels/.rels": f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="rId1" '
    f'Type="{OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><sheets><sheet name="a" '
    'sheetId="1" r:id="rId1"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship '
    f'Id="rId1" Type="{OFFICE}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
}
SHEET = "xl/worksheets/sheet1.xml"
HEAD = f'<worksheet xmlns="{MAIN}"><sheetData>'.encode()
TAIL = b"</sheetData></worksheet>"
TITLES = b'<row r="1"><c r="A1" t="str"><v>id</v></c><c r="B1" t="str"><v>y</v></c></row>'


def workbook(*pieces, head=HEAD, tail=TAIL):
    """The bytes of a workbook whose sheet has these pieces, each a pair of bytes and a count."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as book:
        for name, text in PARTS.items():
            book.writestr(name, text)
        with book.open(SHEET, "w", force_zip64=True) as sheet:
            sheet.write(head)
            for piece, count in pieces:
                step = max(1, 2**20 // len(piece))
                for start in range(0, count, step):
                    sheet.write(piece * min(step, count - start))
            sheet.write(tail)
    return file.getvalue()


def lying():
    """A workbook whose sheet unpacks to 300 MB and says that it has 1,000 bytes."""
    data = bytearray(workbook((TITLES, 1), (b" ", 300_000_000)))
    with zipfile.ZipFile(io.BytesIO(data)) as book:
        part = book.getinfo(SHEET)
    at = data.rindex(SHEET.encode()) - 46  # of the entry in the list of parts
    assert data[at : at + 4] == b"PK\1\2"
    crc = zipfile.crc32((HEAD + TITLES + b" " * 1000)[:1000])
    data[at + 16 : at + 20] = struct.pack("<I", crc)
    data[at + 24 : at + 28] = struct.pack("<I", 1000)
    assert part.file_size > 1000
    return bytes(data)


def column_xfd(rows):
    return b"".join(b'<row r="%d"><c r="XFD%d"><v>1</v></c></row>' % (n, n) for n in rows)


MAKERS = {
    "far-row.xlsx": lambda: workbook(
        (TITLES, 1), (b'<row r="1000000000"><c r="A1000000000"><v>1</v></c></row>', 1)
    ),
    "empty-rows.xlsx": lambda: workbook((TITLES, 1), (b"<row/>", 3_000_000)),
    "long-cell.xlsx": lambda: workbook(
        (TITLES + b'<row r="2"><c r="A2" t="str"><v>', 1), (b"x", 180_000_000),
        (b"</v></c></row>", 1),
    ),
    "wide.xlsx": lambda: workbook((TITLES, 1), (column_xfd(range(2, 20_000)), 1)),
    "cells.xlsx": lambda: workbook((TITLES, 1), (b"<row>" + b"<c/>" * 16_000 + b"</row>", 1_000)),
    "elements.xlsx": lambda: workbook((TITLES, 1), (b"<x/>", 8_000_000)),
    "lying.xlsx": lying,
    "bomb.xlsx": lambda: workbook((TITLES, 1), (b" " * 2**20, 600)),
    "rows.csv": lambda: b"id\n" + b"a\n" * 15_000_000,
    "old-mac-rows.csv": lambda: b"id\r" + b"a\r" * 15_000_000,
    "columns.csv": lambda: b"a," * 3_000_000 + b"a\n" + b"1\n",
    "long-cell.csv": lambda: b"id,y\na," + b"x" * 30_000_000 + b"\n",
    "endless-record.csv": lambda: b"id,y\n" + (b'"' + b"x" * 90 + b'\n",') * 300_000,
}  # fmt: skip
LIMITS = {
    "far-row.xlsx": "ROWS", "empty-rows.xlsx": "ROWS", "long-cell.xlsx": "CELL_LENGTH",
    "wide.xlsx": "SHEET_CELLS", "cells.xlsx": "SHEET_CELLS",
    "bomb.xlsx": "WORKBOOK_BYTES", "rows.csv": "ROWS", "old-mac-rows.csv": "ROWS",
    "columns.csv": "COLUMNS", "long-cell.csv": "CELL_LENGTH", "endless-record.csv": "COLUMNS",
}  # fmt: skip
WORDS = {
    "elements.xlsx": "elements that are not cells",
    "lying.xlsx": "does not have its 1,000 byte",
}
SLOW = ("cells.xlsx", "empty-rows.xlsx", "elements.xlsx")  # both readers scan a workbook alike


def tried(read, path):
    """Error, seconds of the processor, and what is said."""
    begun = time.process_time()
    try:
        read(path)
    except ValueError as error:
        return type(error).__name__, time.process_time() - begun, str(error)
    return None, time.process_time() - begun, ""


def every(folder):
    """What came of each file."""
    from weal.tables.results_reader import ResultColumns, read_results
    from weal.tables.table import read_table

    readers = {
        "table": read_table,
        "results": lambda path: read_results(path, ResultColumns("id", "y")),
    }
    return [
        [path.name, name, *tried(read, path)]
        for path in sorted(Path(folder).iterdir())
        for name, read in readers.items()
        if name == "table" or path.name not in SLOW
    ]


def peak_memory():
    """Bytes that this process has had at most (getrusage counts those of its parent too)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


if __name__ == "__main__":
    json.dump([every(sys.argv[1]), peak_memory()], sys.stdout)
