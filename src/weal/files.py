"""Write files and folders atomically, and never over a file that weal did not write.

    atomic_file      a draft beside the path, written, synced and then moved to the path
    atomic_folder    the same for a folder of files that is read as one thing
    write_files      several files in a folder that may hold other files too

A reader finds the old content or the new content, never a part. A draft has a random name
(`.weal-0123456789abcdef.draft`) and is created exclusively, so it is a new file.

Folders carry a mark, the file `.weal-folder`: JSON with the kind of the folder and the size and
SHA-256 of every file that weal wrote into it. Only files that the mark lists, in a folder whose
mark has the expected kind, are ever removed or overwritten. (In a folder of Parquet files that the
user named, each file carries the mark instead, in its metadata.) Any other file, folder, link or
pipe at the path stays, and the error ForeignFile names it.
"""

import hashlib
import json
import os
import re
import secrets
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from weal.errors import ForeignFile

FilePath = str | os.PathLike[str]

FOLDER_MARK = ".weal-folder"
MARK_VERSION = 1
OUTPUT = "output"  # kind of a folder that `write_files` writes to
MAX_MARK_BYTES = 64 * 2**20  # a larger file is not a mark


class FolderMark(TypedDict):
    """The content of a mark: the kind of the folder, and its files."""

    weal: str
    files: "Sums"


Replace = bool | Callable[[Path], bool]  # or a test of whether weal wrote the file that is there
Sums = dict[str, list[str]]  # name of a file -> "SIZE SHA-256", one or more that are accepted


@contextmanager
def atomic_file(path: Path, replace: Replace = True, mode: int = 0o666) -> Iterator[Path]:
    """A draft that becomes the file at the path, once it is written and on disk.

    `replace` is False where nothing may be at the path (FileExistsError), True where the user
    named the file and wants it replaced, and a test where only a file that weal wrote may be.
    Rights are `mode` under the umask.
    """
    _check_replaceable(path, replace)
    draft = path.with_name(f"{_random_name()}.draft")
    os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode))
    try:
        yield draft
        sync_file(draft)
        _check_replaceable(path, replace)
        _move(draft, path, replace is False)
    except OSError as error:  # a full disk, say: name the file that the user knows
        if error.filename == str(draft):
            error.filename = str(path)
        raise
    finally:
        draft.unlink(missing_ok=True)
    sync_folder(path.parent)


def write_atomically(
    path: Path, data: bytes | memoryview, replace: Replace = True, mode: int = 0o666
) -> None:
    """Write a file completely, or leave the old one."""
    with atomic_file(path, replace, mode) as draft:
        draft.write_bytes(data)


def sync_file(path: Path) -> None:
    """Wait until the content of this file is on disk."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Wait until the names in this folder are on disk."""
    if os.name == "nt":  # folders cannot be opened there
        return
    try:
        handle = os.open(folder, os.O_RDONLY)
    except PermissionError:  # a folder that may be written and not listed
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def kind_of_path(path: Path) -> str:
    """The kind of file at a path, for messages.

    >>> kind_of_path(Path(os.devnull))
    'a device'
    """
    if path.is_symlink():
        return "a link" if path.exists() else f"a link to {os.readlink(path)}, which is not there,"
    mode = path.stat().st_mode
    kinds = {
        "a file": stat.S_ISREG, "a folder": stat.S_ISDIR, "a named pipe": stat.S_ISFIFO,
        "a socket": stat.S_ISSOCK,
    }  # fmt: skip
    return next((name for name, test in kinds.items() if test(mode)), "a device")


def is_plain_file(path: Path) -> bool:
    """Whether a regular file is at the path itself: no link, folder, pipe or device."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


@dataclass(frozen=True, slots=True)
class FolderKind:
    """A kind of folder that weal creates and may replace."""

    name: str
    files: re.Pattern[str]  # names that its files have
    made_by_0_2: Callable[[Path], bool] = lambda _: False  # whether it is one without a mark
    fills_empty: bool = False  # whether the user may name an empty folder for it
    carries_mark: Callable[[Path], bool] | None = None  # each file has a mark, instead of MARK

    def is_made(self, folder: Path) -> bool:
        """Whether the folder as a whole has the mark of this kind, or is one that 0.2 made."""
        if self.carries_mark is not None or read_mark(folder, self.name) is not None:
            return True
        return self.made_by_0_2(folder)

    def is_written(self, path: Path) -> bool:
        """Whether a file in such a folder is one that weal wrote."""
        if not is_plain_file(path):
            return False
        if self.carries_mark is not None:
            return self.files.fullmatch(path.name) is not None and self.carries_mark(path)
        sums = read_mark(path.parent, self.name)
        known = self.files.fullmatch(path.name) if sums is None else path.name in sums
        return bool(known) or path.name == FOLDER_MARK


def check_folder(place: Path, kind: FolderKind) -> bool:
    """Whether a replaceable folder exists; ForeignFile if something else is in its place.

    False if nothing is there, or an empty folder that the user may have named for it.
    """
    if not os.path.lexists(place) or (kind.fills_empty and _is_empty_folder(place)):
        return False
    if place.is_symlink() or not place.is_dir():
        raise ForeignFile(
            f"there is {kind_of_path(place)} {place}, where weal would write a {kind.name}; it "
            "was left as it is: move it away, or work in another folder"
        )
    if not kind.is_made(place):
        raise ForeignFile(
            f"there is a folder {place} already, and it has no mark that weal made it as a "
            f"{kind.name}; it was left as it is: move it away, or work in another folder"
        )
    for one in sorted(place.iterdir()):
        if not kind.is_written(one):
            raise ForeignFile(
                f"{one} is not a file that weal wrote, so the {kind.name} in that folder cannot "
                "be replaced; it was left as it is: move it away, and try again"
            )
    return True


@contextmanager
def atomic_folder(
    place: Path, kind: FolderKind, is_current: Callable[[], bool] = lambda: False
) -> Iterator[Path]:
    """A draft folder that becomes the folder at the place, once its files are on disk.

    A folder of this kind that is there is replaced, and every other thing is left as it is
    (ForeignFile). Where `is_current` says at the end that another process has done the same work
    already, the draft is dropped.
    """
    check_folder(place, kind)
    draft = place.with_name(f"{_random_name()}.draft")
    draft.mkdir()
    try:
        yield draft
        sums = {one.name: [file_sum(one)] for one in _sync_files(draft)}
        if kind.carries_mark is None:
            _write_mark(draft, kind.name, sums)
        sync_folder(draft)
        if not is_current():
            _replace_folder(draft, place, kind)
    finally:
        remove_folder(draft, os.listdir(draft) if draft.is_dir() else ())
    sync_folder(place.parent)


def changed_file(folder: Path, kind: FolderKind) -> str | None:
    """The first file of a marked folder that is missing or has changed, or None."""
    sums = read_mark(folder, kind.name)
    if sums is None:
        return FOLDER_MARK
    return next((name for name in sums if not _is_written(folder / name, sums[name])), None)


def write_files(folder: Path, files: Mapping[str, bytes], made_by_0_2: bool = False) -> None:
    """Write files into a folder, each whole; ForeignFile, before any, where one is not weal's.

    Names may have folders in them. The mark keeps the files that were written here before.
    """
    sums = check_files(folder, list(files), made_by_0_2)
    new = {name: _sum_of(data) for name, data in files.items()}
    folder.mkdir(parents=True, exist_ok=True)
    both = {name: [*sums.get(name, ()), one] for name, one in new.items()}
    _write_mark(folder, OUTPUT, {**sums, **both})
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        write_atomically(folder / name, data, is_plain_file)
    _write_mark(folder, OUTPUT, {**sums, **{name: [one] for name, one in new.items()}})


def check_files(folder: Path, names: Collection[str], made_by_0_2: bool = False) -> Sums:
    """The files in the mark of the folder; ForeignFile if weal did not write one of these names.

    Without a mark, plain files of these names in a folder that weal 0.2 made are taken as weal's.
    """
    mark, sums = folder / FOLDER_MARK, read_mark(folder, OUTPUT)
    if os.path.lexists(mark) and sums is None:
        raise _foreign(mark)
    for name in names:
        path = folder / name
        if not os.path.lexists(path) or (sums is None and made_by_0_2 and is_plain_file(path)):
            continue
        if not _is_written(path, (sums or {}).get(name, [])):
            raise _foreign(path)
    return sums or {}


def _foreign(path: Path) -> ForeignFile:
    return ForeignFile(
        f"there is {kind_of_path(path)} {path} already that weal has no record of writing; it was "
        "left as it is: move it away, or choose another folder"
    )


def is_mark(path: Path) -> bool:
    """Whether this file is a mark, of any kind of folder."""
    return _read_mark_file(path) is not None


def read_mark(folder: Path, kind: str) -> Sums | None:
    """The files that the mark of this kind lists; None if the folder has no such mark."""
    found = _read_mark_file(folder / FOLDER_MARK)
    return None if found is None or found["weal"] != kind else found["files"]


def _read_mark_file(path: Path) -> FolderMark | None:
    if not is_plain_file(path) or path.stat().st_size > MAX_MARK_BYTES:
        return None
    try:
        found = json.loads(path.read_bytes())
        sums = {str(name): [str(one) for one in some] for name, some in found["files"].items()}
        return {"weal": str(found["weal"]), "files": sums}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def file_sum(path: Path) -> str:
    """Size and SHA-256 of a file."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return f"{file.tell()} {digest}"


def _sum_of(data: bytes) -> str:
    return f"{len(data)} {hashlib.sha256(data).hexdigest()}"


def _is_written(path: Path, sums: list[str]) -> bool:
    if not is_plain_file(path) or not any(
        one.startswith(f"{path.stat().st_size} ") for one in sums
    ):
        return False
    return file_sum(path) in sums


def _sync_files(draft: Path) -> Iterator[Path]:
    for one in sorted(draft.iterdir()):
        sync_file(one)
        yield one


def _write_mark(folder: Path, kind: str, sums: Sums) -> None:
    text = json.dumps({"weal": kind, "version": MARK_VERSION, "files": sums}, indent=1)
    write_atomically(folder / FOLDER_MARK, f"{text}\n".encode(), is_mark)


def _check_replaceable(path: Path, replace: Replace) -> None:
    if not os.path.lexists(path):
        return
    if replace is False:
        raise FileExistsError(path)
    if replace is True and path.is_symlink():  # the link is replaced, not its target
        return
    if is_plain_file(path) and (replace is True or replace(path)):
        return
    raise ForeignFile(
        f"there is {kind_of_path(path)} {path} already that weal did not write; it was left as it "
        "is: choose another name, or move it away"
    )


def _move(draft: Path, path: Path, exclusive: bool) -> None:
    """Move the draft to its place; if exclusive, FileExistsError if a file exists."""
    if exclusive:
        try:
            os.link(draft, path, follow_symlinks=False)
            return
        except FileExistsError:
            raise
        except OSError:  # a drive without hard links
            if os.path.lexists(path):
                raise FileExistsError(path) from None
    draft.replace(path)


def _replace_folder(draft: Path, place: Path, kind: FolderKind) -> None:
    if not check_folder(place, kind):
        if place.is_dir():
            place.rmdir()
        draft.rename(place)
        return
    old = place.with_name(f"{_random_name()}.old")
    try:
        place.rename(old)
    except FileNotFoundError:  # another process is between its two moves
        _replace_folder(draft, place, kind)
        return
    try:
        draft.rename(place)
    except OSError:
        if not os.path.lexists(place):
            old.rename(place)
            raise
        check_folder(place, kind)  # another process was faster, and its folder stays
    remove_folder(old, [one.name for one in old.iterdir() if kind.is_written(one)])


def _is_empty_folder(place: Path) -> bool:
    return not place.is_symlink() and place.is_dir() and not any(place.iterdir())


def remove_folder(folder: Path, names: Iterable[str]) -> None:
    """Remove these files, and the folder if nothing else is in it."""
    for name in names:
        (folder / name).unlink(missing_ok=True)
    with suppress(OSError):  # it is gone, or it holds other files
        folder.rmdir()


def _random_name() -> str:
    return f".weal-{secrets.token_hex(8)}"
