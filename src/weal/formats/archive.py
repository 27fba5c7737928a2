"""One safe file format: an uncompressed ZIP file of a JSON header and plain `.npy` arrays.

    header.json    {"format": "weal", "format_version": 2, "weal_version": ..., "kind": ...,
                    "arrays": [NAME, ...], ...}
    NAME.npy       one for each array

No pickle is written or read. Nothing is compressed, so that no small file unpacks into a large one,
and an array is read only if its header agrees with its size on disk; the checksums of the ZIP file
cover every byte. Writing is atomic and replaces only files of weal (`weal.files`).
"""

import json
import math
import re
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

import numpy as np

from weal import __version__
from weal.core.arrays import Array
from weal.errors import UnreadableFile
from weal.files import FilePath, atomic_file, is_plain_file
from weal.formats.codec import Arrays, Header

FORMAT_VERSION = 2
OLDEST_FORMAT = 2  # format 1 was that of weal 0.1, which was never released
_HEADER_FILE = "header.json"
# The .npy headers that we write, numbers only; numpy's own reader would evaluate the text.
_NPY_MAGIC = b"\x93NUMPY\x01\x00"
_NPY_HEADER = re.compile(
    r"\{'descr': '([<|>](?:f4|f8|b1|[iu][1248]))', 'fortran_order': (True|False), "
    r"'shape': \(([0-9, ]*)\), \} *\n"
)


def write(
    path: FilePath,
    kind: str,
    header: Mapping[str, object],
    arrays: Mapping[str, Array],
    replaces_any_file: bool = False,
) -> None:
    """Write a file of this kind; `header` holds JSON values.

    A file that weal wrote is replaced; ForeignFile if another's is there. At a path that weal
    itself chose, under a hash, any plain file counts as a damaged weal file (`replaces_any_file`).
    """
    path = Path(path)
    stamp = {"format": "weal", "format_version": FORMAT_VERSION, "weal_version": __version__}
    about = {**stamp, "kind": kind, "arrays": sorted(arrays)}
    text = json.dumps({**about, **header}, allow_nan=False, indent=1)
    with (
        atomic_file(path, is_plain_file if replaces_any_file else may_replace) as draft,
        zipfile.ZipFile(draft, "w", zipfile.ZIP_STORED) as bundle,
    ):
        bundle.writestr(_HEADER_FILE, text)
        for name, array in arrays.items():
            with bundle.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asarray(array), allow_pickle=False)


def may_replace(path: Path) -> bool:
    """Whether a file is empty, or begins as the files that weal writes do."""
    with path.open("rb") as file:
        start = file.read(30 + len(_HEADER_FILE))
    return not start or (start[:4] == b"PK\3\4" and start[30:] == _HEADER_FILE.encode())


def read(path: FilePath, *kinds: str) -> tuple[Header, Arrays]:
    """Header and arrays of a file of these kinds; UnreadableFile when it is anything else."""
    with open(path, "rb") as file:  # a path that is missing or not for us raises its own error
        try:
            with zipfile.ZipFile(file) as bundle:
                return _read_bundle(path, bundle, kinds)
        except UnreadableFile:
            raise
        except (zipfile.BadZipFile, EOFError, OSError, RuntimeError, ValueError) as error:
            raise UnreadableFile(
                f"{path} is not a weal file, or it was cut short or damaged ({error}); "
                "restore it from a copy, or save it again"
            ) from error


def _read_bundle(
    path: FilePath, bundle: zipfile.ZipFile, kinds: Sequence[str]
) -> tuple[Header, Arrays]:
    members = {info.filename: info for info in bundle.infolist()}
    header = _read_header(path, bundle, members, kinds)
    arrays = {
        name.removesuffix(".npy"): _read_array(path, bundle, info)
        for name, info in members.items()
        if name != _HEADER_FILE
    }
    if sorted(arrays) != header.get("arrays"):  # the list of members has no checksum
        raise UnreadableFile(
            f"{path} has arrays {sorted(arrays)}, but its header names {header.get('arrays')}; "
            "it was damaged: restore it from a copy, or save it again"
        )
    return header, arrays


def _read_header(
    path: FilePath,
    bundle: zipfile.ZipFile,
    members: Mapping[str, zipfile.ZipInfo],
    kinds: Sequence[str],
) -> Header:
    if _HEADER_FILE not in members:
        raise UnreadableFile(
            f"{path} is a zip file, but weal did not write it: no {_HEADER_FILE} in it"
        )
    _refuse_compressed(path, members[_HEADER_FILE])
    try:
        header = json.loads(bundle.read(_HEADER_FILE))
    except ValueError as error:
        raise UnreadableFile(f"{path} has a header that is not JSON ({error})") from error
    if not isinstance(header, dict) or header.get("format") != "weal":
        raise UnreadableFile(f"{path} has a {_HEADER_FILE}, but not one of weal's")
    version = header.get("format_version")
    if not isinstance(version, int) or version > FORMAT_VERSION:
        raise UnreadableFile(
            f"{path} was written by weal {header.get('weal_version')} in format {version}; "
            f"this is weal {__version__}, which reads formats up to {FORMAT_VERSION}: upgrade weal"
        )
    if version < OLDEST_FORMAT:
        raise UnreadableFile(
            f"{path} was written by weal {header.get('weal_version')} in format {version}, which "
            "was never released; open it with weal 0.2.0 and save it again"
        )
    if header.get("kind") not in kinds:
        raise UnreadableFile(f"{path} holds a {header.get('kind')}, not a {kinds[0]}")
    return header


def _read_array(path: FilePath, bundle: zipfile.ZipFile, info: zipfile.ZipInfo) -> Array:
    _refuse_compressed(path, info)
    with bundle.open(info) as member:
        try:
            shape, fortran, dtype = _read_npy_header(member)
            expected = math.prod(shape) * dtype.itemsize
            if expected != info.file_size - member.tell():
                raise ValueError("its size is not what its header says")
            flat = np.frombuffer(member.read(), dtype=dtype)
            return flat.reshape(shape, order="F" if fortran else "C").copy()
        except ValueError as error:
            raise UnreadableFile(f"{path} has an array {info.filename!r}, but {error}") from error


def _read_npy_header(member: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[np.generic]]:
    magic = member.read(len(_NPY_MAGIC))
    text = member.read(int.from_bytes(member.read(2), "little")).decode("latin1")
    found = _NPY_HEADER.fullmatch(text)
    if magic != _NPY_MAGIC or not found:
        raise ValueError(f"not of numbers as weal writes it: its header is {text[:80]!r}")
    shape = tuple(int(n) for n in found[3].replace(",", " ").split())
    return shape, found[2] == "True", np.dtype(found[1])


def _refuse_compressed(path: FilePath, info: zipfile.ZipInfo) -> None:
    if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size:
        raise UnreadableFile(f"{path} has a compressed {info.filename!r}: weal wrote no such file")
