"""A plain sheet of an Excel workbook, read with the standard library: quicker than openpyxl starts.

Only what is sure to be read as openpyxl would: numbers, texts and truth values, without formulas,
dates or anything else. None for all others, damaged and huge ones included: then openpyxl is asked.
"""

import io
import re
from typing import Any
from xml.etree import ElementTree
from zipfile import BadZipFile, ZipFile
from zlib import error as ZlibError

from weal.limits import read_limits
from weal.table.text_records import check_cells, too_many_rows

_MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_LINK = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_PLACE = re.compile(r"([A-Z]{1,3})[1-9][0-9]*")
_GENERAL = {*range(14), *range(37, 45), 48, 49}  # numbers of formats that come with Excel: no dates
LARGEST = 4 << 20  # bytes of a sheet or of its texts; larger ones are worth a slower start
MOST_TAGS = 400_000  # of such a part, which is held in memory whole

# What openpyxl, zipfile and the reader of XML can end with, such as on entities that grow.
FAILS = (
    *(ArithmeticError, AttributeError, EOFError, LookupError, MemoryError, NotImplementedError),
    *(OSError, RecursionError, SyntaxError, TypeError, ValueError, BadZipFile, ZlibError),
)
Rows = list[tuple[int, list[Any]]]  # that are not empty, with their numbers


def plain_rows(data: bytes, wanted: str | None) -> tuple[list[str], Rows] | None:
    """Titles of the sheets, and the rows of one of them (None: the first); or None."""
    try:
        with ZipFile(io.BytesIO(data)) as bundle:
            return _rows(bundle, wanted)
    except FAILS:  # whatever is the matter, openpyxl says it
        return None


def _rows(bundle: ZipFile, wanted: str | None) -> tuple[list[str], Rows] | None:
    book, links = _tree(bundle, "xl/workbook.xml"), _tree(bundle, "xl/_rels/workbook.xml.rels")
    sheets = {one.attrib["name"]: one.attrib[_LINK] for one in book.iter(f"{_MAIN}sheet")}
    targets = {one.attrib["Id"]: one.attrib for one in links}
    title = next(iter(sheets), "") if wanted is None else wanted
    kinds = [targets[link]["Type"].rsplit("/", 1)[-1] for link in sheets.values()]
    if title not in sheets or set(kinds) != {"worksheet"}:
        return None
    target = targets[sheets[title]]["Target"]
    place = target.lstrip("/") if target.startswith("/") else f"xl/{target}"
    names = bundle.namelist()
    texts = _texts(_tree(bundle, "xl/sharedStrings.xml")) if "xl/sharedStrings.xml" in names else []
    sheet, general = _tree(bundle, place), _general(_tree(bundle, "xl/styles.xml"))
    limits, rows, width = read_limits(), Rows(), 0
    for row in sheet.iter(f"{_MAIN}row"):
        line = int(row.attrib["r"])
        rows.append((line, _cells(row, texts, general)))
        width = max(width, len(rows[-1][1]))
        check_cells("", len(rows), width, limits.sheet_cells)
        if line > limits.rows:
            raise too_many_rows("", limits.rows)
    if [line for line, _ in rows] != sorted({line for line, _ in rows}):
        return None
    filled = [(line, cells) for line, cells in rows if any(c not in (None, "") for c in cells)]
    return list(sheets), filled


def _tree(bundle: ZipFile, name: str) -> Any:
    if bundle.getinfo(name).file_size > LARGEST:
        raise ValueError(name)
    with bundle.open(name) as part:
        text = part.read(LARGEST + 1)  # never all: what an archive says of its sizes may be wrong
    if len(text) > LARGEST or text.count(b"<") > MOST_TAGS:
        raise ValueError(name)
    if b"<!" in text:  # entities, or sections that are no element
        raise ValueError(name)
    return ElementTree.fromstring(text)


def _texts(tree: Any) -> list[str]:
    return [_text(one) for one in tree.iter(f"{_MAIN}si")]


def _text(one: Any) -> str:
    """A text without formats; one that has them is not ours."""
    [only] = one
    if only.tag != f"{_MAIN}t":
        raise ValueError(only.tag)
    found = only.text or ""
    if "_x" in found:  # characters that are spelt
        raise ValueError(found)
    return str(found)


def _general(styles: Any) -> set[str]:
    """Styles of cells that are shown as plain numbers or texts."""
    [formats] = styles.iter(f"{_MAIN}cellXfs")
    return {str(n) for n, one in enumerate(formats) if int(one.get("numFmtId", "0")) in _GENERAL}


def _cells(row: Any, texts: list[str], general: set[str]) -> list[Any]:
    found: list[Any] = []
    for cell in row:
        place = _PLACE.fullmatch(cell.attrib["r"])
        at = 0
        for letter in place[1] if place else "":
            at = 26 * at + ord(letter) - 64
        if at <= len(found) or cell.get("s", "0") not in general:
            raise ValueError(cell.attrib["r"])
        found += [None] * (at - 1 - len(found))
        found.append(_cell(cell, texts))
    return found


def _cell(cell: Any, texts: list[str]) -> Any:
    kind, parts = cell.get("t", "n"), list(cell)
    if not parts:
        return None
    [only] = parts
    if kind == "inlineStr" and only.tag == f"{_MAIN}is":
        return _text(only)
    if only.tag != f"{_MAIN}v" or only.text is None:
        raise ValueError(only.tag)
    if kind == "s":
        return texts[int(only.text)]
    if kind == "b":
        return bool(int(only.text))
    if kind != "n":
        raise ValueError(kind)
    return float(only.text) if re.search("[.eE]", only.text) else int(only.text)
