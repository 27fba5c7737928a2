"""The description of a pool in files as JSON: names, sizes and hashes of the files, not their rows.

What a learner's file and a store keep of a pool. Who opens it again looks at the files first: one
that changed, or is gone, is named (`files.File.check`), and so is one whose row groups are not
those that were hashed, as soon as they are read (`row_groups`).
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from weal.shards.encoding import Encoder, Numbers, Planned
from weal.shards.files import File
from weal.shards.pool import Shards, parts_of
from weal.shards.row_groups import sums_from_json, sums_to_json
from weal.table.plan import Plan

VERSION = 1


def describe(pool: Shards) -> dict[str, Any]:
    """The pool as JSON."""
    return {
        "version": VERSION,
        "files": [
            {
                "path": one.path,
                "size": one.size,
                "footer": one.footer,
                "groups": list(one.groups),
                "sums": sums_to_json(one.sums),
            }
            for one in pool.files
        ],
        "id": pool.id_column,
        "columns": list(pool.columns),
        "kinds": list(pool.kinds),
        "numbers": pool.numbers,
        "texts": any(getattr(part, "as_text", False) for part in pool.parts),
    }


def described(given: Mapping[str, Any]) -> Shards:
    """The pool that `describe` wrote down."""
    if given.get("version") != VERSION:
        raise ValueError(
            f"the pool was written down by another weal (version {given.get('version')!r} of its "
            f"description, not {VERSION}); use that one, or a newer"
        )
    files = [
        File(
            str(one["path"]),
            int(one["size"]),
            str(one["footer"]),
            tuple(one["groups"]),
            sums=sums_from_json(one.get("sums")),  # weal 0.2 wrote none
        )
        for one in given["files"]
    ]
    columns, kinds = tuple(given["columns"]), tuple(given["kinds"])
    pool = Shards(parts_of(files, given["id"]), columns, given["id"], kinds, given["numbers"])
    return pool.as_text() if given["texts"] else pool


def moved(pool: Shards, paths: Mapping[str, str]) -> Shards:
    """The same pool with files in other places; they must be the same files."""
    files = [replace(one, path=paths.get(one.path, one.path)) for one in pool.files]
    there = replace(pool, parts=parts_of(files, pool.id_column))
    there.check()
    return there


def encoder_to_json(encoder: Encoder) -> dict[str, Any]:
    """How columns become inputs, as JSON."""
    return {"plan": encoder.plan.to_json() if isinstance(encoder, Planned) else None}


def encoder_from_json(given: Mapping[str, Any], pool: Shards) -> Encoder:
    """How columns of this pool become inputs."""
    plan = given["plan"]
    return Numbers(pool.columns) if plan is None else Planned(Plan.from_json(plan))
