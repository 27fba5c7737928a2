"""The box of a TOML file, of a campaign, or of Python arguments.

    constraints = ["temp + 2*time <= 300", "solvent is THF and temp < 66"]

    [inputs]
    temp = [20, 200]
    time = { low = 1, high = 60, scale = "log" }
    pressure = { low = 1, high = 10, step = 0.5 }
    cycles = { low = 1, high = 8, integer = true }
    solvent = ["THF", "toluene"]

    [mixture]
    parts = ["water", "ethanol", "glycerol"]
    sum = 1
    at_most = 2

A campaign keeps the same structure as JSON, and reads it with the same checks.
"""

import os
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from weal.conditions import Comparison, Condition, parse_condition
from weal.tables.design_inputs import (
    DesignInput,
    Value,
    check_keys,
    input_from_python,
    input_from_table,
)
from weal.tables.design_space import DesignSpace, RowConstraint, check_count
from weal.tables.mixtures import Mixture, mixture_from_table
from weal.tables.table import Table
from weal.tables.typed_columns import Cells
from weal.text import shorten

if TYPE_CHECKING:
    import pandas

DEFAULT_ROWS = 2000
MAX_FILE_BYTES = 1_000_000
FRAME_KEY = "weal box"  # in `attrs` of the frame
BOX_KEYS = ("inputs", "mixture", "mixtures", "constraints")
InputsArgument = Mapping[str, tuple[object, ...] | range | list[Value] | NDArray[np.generic]]
ConstraintArgument = RowConstraint | str | Sequence[str] | None


def box(
    inputs: InputsArgument | str | os.PathLike[str],
    n: int = DEFAULT_ROWS,
    *,
    constraint: ConstraintArgument = None,
    mixture: Mapping[str, object] | Sequence[Mapping[str, object]] = (),
    seed: int = 0,
) -> "pandas.DataFrame":
    """A table of candidates that fill a box of inputs evenly.

    Use it if inputs can be chosen freely, as with a simulator. Numbers follow a scrambled Sobol
    sequence, which covers the box more evenly than random points; values of a list occur equally
    often. The same seed gives the same rows.

    Parameters
    ----------
    inputs : dict of name to range or values, or path of a TOML file
        (20, 200) is a number between the bounds; (1, 60, "log") the same, uniform in logs;
        (1, 10, 0.5) in steps; range(1, 9) whole numbers; ["A", "B"] one of these values.
    n : int
        Number of candidates.
    constraint : str, list of str, function or None
        Conditions such as "x1 + x2 <= 1", which `learner.refine` satisfies too; or a function that
        takes a row as a dict and returns whether it is allowed.
    mixture : dict, or list of dicts
        Inputs with a fixed sum: {"parts": ["water", "oil", "salt"], "sum": 1, "at_most": 2}.
        Parts that are not in `inputs` lie between 0 and the sum.
    seed : int
        Seed of the sequence.

    Returns
    -------
    pandas.DataFrame
        n rows, one column for each input.

    Raises
    ------
    ValueError
        If an input is invalid, there are fewer than n different rows, or almost no row satisfies
        the constraint.

    Examples
    --------
    >>> import weal
    >>> pool = weal.box({"temp": (20, 200), "time": (1, 60, "log"), "catalyst": ["A", "B"]}, n=100,
    ...                 constraint="temp*time < 4000")
    >>> len(pool), list(pool.columns), bool((pool["temp"] * pool["time"] < 4000).all())
    (100, ['temp', 'time', 'catalyst'], True)
    """
    check_count(n, seed)
    texts, function = split_constraint(constraint)
    if isinstance(inputs, str | os.PathLike):
        if texts or mixture:
            raise ValueError("the TOML file holds constraints and mixtures; write them there")
        space = read_box(inputs)
    else:
        space = space_from_python(inputs, [mixture] if isinstance(mixture, Mapping) else mixture,
                                  texts)  # fmt: skip
    return design_frame(space, space.rows(n, seed, function))


def split_constraint(given: ConstraintArgument) -> tuple[list[str], RowConstraint | None]:
    """The texts among the constraints, and the function."""
    if given is None or callable(given):
        return [], given
    return [given] if isinstance(given, str) else list(given), None


def space_from_python(
    inputs: object, mixtures: Iterable[object] = (), constraints: Iterable[str] = ()
) -> DesignSpace:
    """The box of Python arguments; ValueError with the correction."""
    some = isinstance(inputs, Mapping) and (inputs or mixtures)
    if not isinstance(inputs, Mapping) or not some:
        raise ValueError(f'a box is inputs by name, such as {{"temp": (20, 200)}}; got {inputs!r}')
    return _space({name: input_from_python(name, given) for name, given in inputs.items()},
                  mixtures, constraints)  # fmt: skip


def read_box(path: str | os.PathLike[str]) -> DesignSpace:
    """The box of a TOML file; ValueError names the file and the correction."""
    file = Path(path).expanduser()
    try:
        if file.stat().st_size > MAX_FILE_BYTES:
            raise ValueError(
                f"{file} has more than {MAX_FILE_BYTES:,} bytes; is it a box? Name a "
                "TOML file of inputs"
            )
        given = tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise ValueError(f"there is no file {file}; write the inputs into it first") from None
    except OSError as error:
        raise ValueError(f"{file} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(
            f"{file} is not a TOML file: {error}. Write an input as temp = [20, 200] below "
            "[inputs], and "
            "text in quotes"
        ) from None
    try:
        return space_from_json(given)
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from None


def space_from_json(given: object) -> DesignSpace:
    """The box of a table of TOML or JSON; ValueError with the correction."""
    if not isinstance(given, Mapping):
        raise ValueError(
            f"a box is a table with inputs, and this is "
            f"{shorten(repr(given), 60)}; write [inputs] first"
        )
    check_keys(given, BOX_KEYS, "the box")
    inputs, mixtures = given.get("inputs", {}), given.get("mixture", given.get("mixtures", []))
    constraints = given.get("constraints", [])
    if not isinstance(inputs, Mapping):
        raise ValueError(f"inputs is {inputs!r}; write temp = [20, 200] below [inputs]")
    mixtures = mixtures if isinstance(mixtures, list) else [mixtures]
    if not inputs and not mixtures:
        raise ValueError("it has no inputs; write temp = [20, 200] below [inputs]")
    if isinstance(constraints, str):
        constraints = [constraints]
    if not isinstance(constraints, list) or not all(isinstance(one, str) for one in constraints):
        raise ValueError(f'constraints is {constraints!r}; write constraints = ["x1 + x2 <= 1"]')
    _refuse_hidden(inputs)
    return _space({name: input_from_table(name, one) for name, one in inputs.items()},
                  mixtures, constraints)  # fmt: skip


def space_to_json(space: DesignSpace) -> dict[str, object]:
    """The box as `space_from_json` reads it."""
    return {
        "inputs": {one.name: one.to_json() for one in space.inputs},
        "mixtures": [one.to_json() for one in space.mixtures],
        "constraints": [one.text for one in space.constraints],
    }


def _refuse_hidden(inputs: Mapping[str, object]) -> None:
    """Raise ValueError for keys of the box below [inputs], where they would be inputs."""
    for key in ("constraints", "constraint", "mixture", "mixtures"):
        if key in inputs:
            raise ValueError(
                f"{key} is below [inputs], where it would be an input; write it above [inputs]"
            )


def _space(
    inputs: Mapping[str, DesignInput], mixtures: Iterable[object], constraints: Iterable[str]
) -> DesignSpace:
    found, made = dict(inputs), list[Mixture]()
    for given in mixtures:
        mixture, own = mixture_from_table(given, found)
        if twice := {part for one in made for part in one.parts} & set(own):
            raise ValueError(f"{min(twice)!r} is a part of two mixtures; name it in one")
        found |= own
        made.append(mixture)
    conditions = [parse_condition(one, found, "the constraint") for one in constraints]
    for condition in conditions:
        _check_kinds(condition, found)
    return DesignSpace(tuple(found.values()), tuple(made), tuple(conditions))


def _check_kinds(condition: Condition, inputs: Mapping[str, DesignInput]) -> None:
    """Raise ValueError for a word that is compared as a number or is not a value of its input."""
    for part in condition.parts:
        if isinstance(part, Comparison):
            for name in part.names:
                if not inputs[name].is_number:
                    raise ValueError(
                        f"the constraint {part.text!r} compares {name!r}, which is a word; write "
                        f"'{name} is {inputs[name].values[0]}'"
                    )
            continue
        one = inputs[part.name]
        for word in part.words:
            if one.values and not any(str(value) == word for value in one.values):
                raise ValueError(
                    f"the constraint {part.text!r} names {word!r}, which {part.name!r} cannot be; "
                    f"write one of {', '.join(map(str, one.values[:10]))}"
                )


def design_frame(space: DesignSpace, rows: Sequence[Sequence[object]]) -> "pandas.DataFrame":
    """The rows as a frame that carries its box, for `learner.refine`."""
    try:
        import pandas
    except ModuleNotFoundError as error:
        raise ValueError('a box is a pandas frame: pip install "weal[frames]"') from error
    columns = list(zip(*rows, strict=True))
    found = pandas.DataFrame({name: list(columns[k]) for k, name in enumerate(space.names)})
    found.attrs[FRAME_KEY] = space_to_json(space)
    return found


def box_of_frame(frame: object, columns: Iterable[object]) -> DesignSpace | None:
    """The box that a frame carries, if all of its inputs are among the columns."""
    attributes = getattr(frame, "attrs", None)
    kept = attributes.get(FRAME_KEY) if isinstance(attributes, Mapping) else None
    if kept is None:
        return None
    space = space_from_json(kept)
    return space if set(space.names) <= set(columns) else None


def design_table(space: DesignSpace, rows: Sequence[Sequence[Value]]) -> Table:
    """The rows as a table; words that look like numbers stay words."""
    columns: dict[str, Cells] = {}
    for one, cells in zip(space.inputs, zip(*rows, strict=True), strict=True):
        columns[one.name] = np.array(cells) if one.is_number else list(cells)
    return Table(columns, len(rows))


def input_types(space: DesignSpace) -> dict[str, str]:
    """The type of each column, so no type is guessed."""
    return {one.name: _input_type(one) for one in space.inputs}


def _input_type(one: DesignInput) -> str:
    if one.is_number:
        return "number"
    return "flag" if all(isinstance(value, bool) for value in one.values) else "category"
