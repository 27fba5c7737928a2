"""Hashes of ids and rows, for lookup and for samples that do not depend on order.

An id has a hash of 64 bits that depends on the id alone: whole numbers are mixed, texts are hashed
by their UTF-8 bytes, anything else by its `repr`. A sample of a pool consists of the ids whose
hashes, mixed with the seed, are least: it depends neither on the order of the rows nor on how the
pool is divided, and the sample of two pools follows from their samples.

The mixing is splitmix64's: a bijection, so that different hashes stay different.
[1] Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014.
"""

from collections.abc import Hashable, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weal.core.arrays import Array


def least_hashes(rows: Array, most: int) -> NDArray[np.intp]:
    """Positions of the rows (t, n) with the least hashes of their content, by ascending hash."""
    keys = [blake2b(row.tobytes(), digest_size=8).digest() for row in rows + 0.0]
    return np.array(sorted(range(len(rows)), key=keys.__getitem__)[:most], dtype=np.intp)


Hashes = NDArray[np.uint64]
MAX_HASHED_BYTES = 64  # bytes of a text that are hashed as words; longer ones by blake2b
_HASH_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_TEXT_SALT = np.uint64(0xD1B54A32D192ED03)  # so that "7" and 7 have different hashes
_HASH_BLOCK_IDS = 1 << 16


def mix_bits(numbers: Hashes) -> Hashes:
    """Mix the bits of 64-bit numbers (splitmix64)."""
    x = numbers + _HASH_STEP
    x = (x ^ (x >> np.uint64(30))) * _FIRST
    x = (x ^ (x >> np.uint64(27))) * _SECOND
    return np.asarray(x ^ (x >> np.uint64(31)))


def mix_with_seed(hashes: Hashes, seed: int) -> Hashes:
    """Hashes of ids mixed with a seed; the ids with the least ones are a random sample."""
    return mix_bits(hashes ^ mix_bits(np.array([seed], np.uint64)))


def hash_numbers(ids: NDArray[Any]) -> Hashes:
    """Hashes of integers of at most 64 bits."""
    return mix_bits(ids.astype(np.int64, copy=False).view(np.uint64))


def hash_texts(data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> Hashes:
    """Hashes of n texts in one byte array; text i has the bytes offsets[i] to offsets[i + 1].

    A text is read as words of 8 bytes, the last one padded with zeros, and its length is hashed
    too.
    """
    lengths = np.diff(offsets)
    found = np.empty(len(lengths), np.uint64)
    for start in range(0, len(lengths), _HASH_BLOCK_IDS):
        rows = slice(start, start + _HASH_BLOCK_IDS)
        found[rows] = _hash_words(data, offsets[:-1][rows], lengths[rows])
    for n in np.flatnonzero(lengths > MAX_HASHED_BYTES).tolist():
        found[n] = _digest(data[offsets[n] : offsets[n + 1]].tobytes())
    return found


def hash_ids(ids: Sequence[Hashable]) -> Hashes:
    """Hashes of ids of any kind."""
    kinds = {type(name) for name in ids}
    if kinds == {int} and all(-(2**63) <= name < 2**63 for name in (min(ids), max(ids))):  # type: ignore[type-var,operator]
        return hash_numbers(np.array(ids, dtype=np.int64))
    if kinds == {str}:
        texts = [str(name).encode("utf-8", "surrogatepass") for name in ids]
        offsets = np.zeros(len(texts) + 1, np.int64)
        np.cumsum([len(text) for text in texts], out=offsets[1:])
        return hash_texts(np.frombuffer(b"".join(texts), np.uint8), offsets)
    return np.array([_hash_one(name) for name in ids], dtype=np.uint64)


def least(hashes: Hashes, most: int) -> NDArray[np.intp]:
    """Positions, ascending, of the `most` least hashes; all positions if there are fewer."""
    if len(hashes) <= most:
        return np.arange(len(hashes))
    return np.sort(np.argpartition(hashes, most)[:most])


def _hash_one(name: Hashable) -> int:
    if type(name) is str or (type(name) is int and -(2**63) <= name < 2**63):
        return int(hash_ids([name])[0])
    return _digest(repr(name).encode("utf-8", "surrogatepass"))


def _digest(data: bytes) -> int:
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "little")


def _hash_words(
    data: NDArray[np.uint8], starts: NDArray[np.int64], lengths: NDArray[np.int64]
) -> Hashes:
    n, longest = len(lengths), int(min(lengths.max(initial=0), MAX_HASHED_BYTES))
    words = max(1, -(-longest // 8))
    at = np.arange(8 * words)
    inside = at < np.minimum(lengths, MAX_HASHED_BYTES)[:, None]
    cells = np.zeros((n, 8 * words), np.uint8)
    if len(data):
        cells[inside] = data[(starts[:, None] + at)[inside]]
    found = mix_bits(lengths.astype(np.uint64) ^ _TEXT_SALT)
    filled = lengths[:, None] > 8 * np.arange(words)
    for word, there in zip(cells.view("<u8").T, filled.T, strict=True):
        found = np.where(there, mix_bits(found ^ word), found)
    return found
