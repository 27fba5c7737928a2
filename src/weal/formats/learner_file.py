"""The state of a learner as a header and arrays, for `weal.formats.archive`.

The file has the whole state, and the selected experts, which follow from it: a loaded learner
computes the rest and asks what the unbroken one would have asked. A function of the user's own
cannot be kept and is given again. A learner saved with the six functions of an earlier "auto"
continues with the present default and warns, unless they are given again.
"""

import dataclasses
import math
import warnings

import numpy as np

from weal.core.arrays import Array
from weal.core.extensions.acquisition_registry import AcquisitionArgument, is_registered
from weal.errors import UnreadableFile
from weal.files import FilePath
from weal.formats import archive, candidates_file, model_file
from weal.formats.codec import (
    BROKEN,
    Arrays,
    Header,
    Json,
    add_prefix,
    id_from_json,
    id_to_json,
    with_prefix,
)
from weal.goals.learn import DEFAULT_ACQUISITION
from weal.learner.candidates import CostFunction
from weal.learner.config import (
    EARLIER_AUTO,
    NOW_AUTO,
    resolve_acquisition,
    settings_of,
)
from weal.learner.labels import Label, Labels
from weal.learner.state import (
    LearnerConfig,
    QuantityState,
    SelectionPoint,
    SourcePoint,
    State,
    part_parameters,
    with_bound_goal,
)
from weal.model.parameters import parameters_of
from weal.quantities.kinds import WORKED, quantity_from_json, quantity_of_column
from weal.quantities.protocol import Quantity, QuantityBody

LEARNER_KIND = "ActiveLearner"
JOINT_LEARNER_KIND = "ActiveLearner of several quantities"
_PART_PREFIX = "part{}_"  # prefix of arrays of the n-th part; the first one has none
_EXPERTS_PREFIX = "experts_"  # prefix of arrays of the experts
_SELECTION_ARRAYS = ("settled_x", "settled_y", "settled_noise")  # labels of the last selection
_TRUSTED_ARRAY = "settled_sure"  # the trusted ones; no array: none
_SETTINGS = ("eta", "score_scaling", "n_start", "seed")


def save(state: State, memory: int, path: FilePath) -> None:
    """Write the state.

    A learner of several parts is another kind of file, which weal 0.2 refuses: it would take the
    first part for all.
    """
    settings = state.settings
    pool, arrays = candidates_file.pack_candidates(state.candidates)
    first, *others = state.quantities.values()
    header = {
        "pool": pool,
        "acquisition": list(settings.functions),
        "auto": DEFAULT_ACQUISITION,  # what it stood for: files without this have an earlier one
        "own": [name for name, f in settings.functions.items() if not is_registered(name, f)],
        **{name: getattr(settings, name) for name in _SETTINGS},
        "goal": settings.goal.text,
        "by_goal": settings.by_goal,
        "repeats": settings.repeats,
        "memory": memory,
        "asked": [[id_to_json(name), row] for name, row in state.asked.items()],
        "skipped": [id_to_json(name) for name in state.skipped],
        "batch": [id_to_json(name) for name in state.batch],
        "weighed": state.weighed,
        "history": [_finite({**row, "id": id_to_json(row["id"])}) for row in state.history],
        "params": model_file.pack_params(settings.parameters.to_dict()),
    }
    arrays |= _arrays(state)
    kind = LEARNER_KIND
    for n, part in enumerate((first, *others)):
        body, more = _pack_part(part, state.candidates.n_inputs)
        if n == 0:
            header |= body
        else:
            header.setdefault("others", []).append(body)
        arrays |= add_prefix(_PART_PREFIX.format(n) if n else "", more)
    if others or len(state.measured) > 1 or state.measured[0] != first.quantity:
        kind = JOINT_LEARNER_KIND
        header["measured"] = [one.to_json() for one in state.measured]
        header["given"] = [one.to_json() for one in state.given]
    archive.write(path, kind, header, arrays)


def _pack_part(part: QuantityState, d: int) -> tuple[Header, Arrays]:
    """The labels and the selection point of a part."""
    selection, arrays = _pack_selection(part.selection, d)
    X, y, noise = part.labels.arrays()
    arrays |= {"label_x": X.reshape(len(y), d), "label_y": y, "label_noise": noise}
    if (sure := part.labels.sure()).any():
        arrays["label_sure"] = sure
    header = {
        "quantity": part.quantity.to_json(),  # not in files of weal 0.2
        "label_ids": [id_to_json(label.name) for label in part.labels],
        "settlement": selection,
    }
    return header, arrays


def _arrays(state: State) -> Arrays:
    arrays: Arrays = {"log_omega": state.log_omega}
    if state.reference is not None:
        arrays["reference"] = state.reference
    if state.settings.validation is not None:
        arrays["validation_x"], arrays["validation_y"] = state.settings.validation
    return arrays


def _pack_selection(selection: SelectionPoint | None, d: int) -> tuple[Header | None, Arrays]:
    if selection is None:
        return None, {}
    arrays = {
        **model_file.scaling_to_arrays(selection.scaling),
        **dict(zip(_SELECTION_ARRAYS, selection.labels, strict=True)),
    }
    if selection.trusted is not None and selection.trusted.any():
        arrays[_TRUSTED_ARRAY] = selection.trusted
    experts = None
    if selection.experts is not None:
        header, more = model_file.pack_experts(selection.experts)
        experts = {**header, "n_inputs": selection.experts.X.shape[1]}
        arrays |= add_prefix(_EXPERTS_PREFIX, more)
    header = {"n": selection.n, "together": selection.n_joint, "experts": experts}
    if selection.source is not None:
        header["source"] = selection.source.part
    return header, arrays


def load(
    path: FilePath,
    acquisition: AcquisitionArgument | None = None,
    cost: CostFunction | None = None,
) -> tuple[State, int]:
    """The state that `save` wrote, and the memory limit of its learner."""
    header, arrays = archive.read(path, LEARNER_KIND, JOINT_LEARNER_KIND)
    if _has_earlier_auto(header, acquisition):
        header, arrays = _with_auto(header, arrays, path)
    chosen = _resolve_acquisition(header, acquisition)
    try:
        return _with_cost(_state(header, arrays, chosen), cost), int(header["memory"])
    except UnreadableFile:
        raise
    except BROKEN as error:
        raise UnreadableFile(
            f"{path} is a weal file, but not a complete learner ({type(error).__name__}: {error}); "
            "restore it from a copy, or save it again"
        ) from error


def _has_earlier_auto(header: Header, acquisition: AcquisitionArgument | None) -> bool:
    """Whether a file has an earlier meaning of "auto", and no functions are given by name."""
    six = list(EARLIER_AUTO)
    wanted = acquisition is not None and list(resolve_acquisition(acquisition)) == six
    return "auto" not in header and header.get("acquisition") == six and not wanted


def _with_auto(header: Header, arrays: Arrays, path: FilePath) -> tuple[Header, Arrays]:
    """The content of a learner file with its earlier "auto" replaced by the present one."""
    warnings.warn(f"{path}: {NOW_AUTO}", stacklevel=4)
    changed = {"acquisition": list(resolve_acquisition("auto")), "own": []}
    return {**header, **changed}, {**arrays, "log_omega": np.zeros(1)}


def _resolve_acquisition(
    header: Header, acquisition: AcquisitionArgument | None
) -> AcquisitionArgument:
    """The acquisition functions of a file, or the given ones."""
    names, own = header.get("acquisition", []), header.get("own", [])
    if acquisition is None and own:
        raise ValueError(
            f"the learner uses your own acquisition functions ({', '.join(own)}), which a file "
            "cannot store; give them again: load(path, acquisition=...)"
        )
    given = names if acquisition is None else resolve_acquisition(acquisition)
    if acquisition is not None and list(given) != names:
        raise ValueError(
            f"the learner uses {names}, but {list(given)} was given; "
            "give the same functions in the same order, since their weights are in the file"
        )
    return names if acquisition is None else acquisition


def _state(header: Header, arrays: Arrays, acquisition: AcquisitionArgument) -> State:
    candidates = candidates_file.unpack_candidates(header["pool"], arrays)
    params = model_file.unpack_params(header["params"])
    validation = None
    if "validation_x" in arrays:
        validation = (arrays["validation_x"], arrays["validation_y"])
    named = {name: header[name] for name in _SETTINGS}
    goal, repeats = header.get("goal", "learn"), _truth(header.get("repeats", True))
    settings = settings_of(
        candidates, params, acquisition, **named, validation=validation, goal=goal, repeats=repeats
    )
    by_goal = header.get("by_goal", header["acquisition"] == [DEFAULT_ACQUISITION])
    settings = dataclasses.replace(settings, by_goal=_truth(by_goal))
    reference = arrays.get("reference")
    parts = _unpack_parts(header, arrays, params, candidates.target)
    measured, given = _measured(header, parts)
    state = State(
        settings=settings,
        candidates=candidates,
        quantities={one.quantity.name: one for one in parts},
        log_omega=_weights(settings, arrays["log_omega"]),
        weighed=_truth(header["weighed"]),
        asked={id_from_json(name): int(row) for name, row in header["asked"]},
        skipped=frozenset(id_from_json(name) for name in header["skipped"]),
        batch=tuple(id_from_json(name) for name in header["batch"]),
        reference=None if reference is None else candidates.like(reference),
        history=tuple(_unfinite(row) for row in header["history"]),
        measured=measured,
        given=given,
    )
    _check(state)
    return with_bound_goal(state)


def _unpack_parts(
    header: Header, arrays: Arrays, params: Header, target: str | None
) -> list[QuantityState]:
    """The parts of the learner, in their order."""
    found = []
    bodies = [header, *header.get("others", [])]
    for n, body in enumerate(bodies):
        own = with_prefix(_PART_PREFIX.format(n), arrays) if n else arrays
        quantity = _quantity(body.get("quantity"), target)
        labels = _labels(body["label_ids"], own)
        selection = _unpack_selection(body["settlement"], quantity, params, own)
        found.append(QuantityState(quantity, labels, selection))
    sources = [(body["settlement"] or {}).get("source") for body in bodies]
    return _with_sources(found, sources)


def _with_sources(parts: list[QuantityState], sources: list[str | None]) -> list[QuantityState]:
    """The parts with the sources that the file names: those with more labels first."""
    by_name = {one.quantity.name: one for one in parts}
    order = sorted(zip(parts, sources, strict=True), key=lambda one: -len(one[0].labels))
    for part, source in order:
        if source is not None and part.selection is not None:
            other = by_name[source].selection
            if other is None:
                raise ValueError(f"{source} is the source of another quantity, and has no model")
            point = dataclasses.replace(part.selection, source=SourcePoint(source, other))
            by_name[part.quantity.name] = dataclasses.replace(part, selection=point)
    return [by_name[one.quantity.name] for one in parts]


def _measured(
    header: Header, parts: list[QuantityState]
) -> tuple[tuple[Quantity, ...], tuple[Quantity, ...]]:
    """The measured quantities and those from elsewhere; a file of one part has that one."""
    if "measured" not in header:
        return (parts[0].quantity,), ()
    measured = tuple(quantity_from_json(body) for body in header["measured"])
    given = tuple(quantity_from_json(body) for body in header["given"])
    wanted = {part.name for one in (*measured, *given) for part in one.parts()}
    if not measured or wanted != {one.quantity.name for one in parts} - {WORKED}:
        raise ValueError("its quantities differ from the quantities of its labels")
    return measured, given


def _quantity(body: QuantityBody | None, target: str | None) -> Quantity:
    """The quantity of the file; files of weal 0.2 have the target column alone."""
    return quantity_of_column(target) if body is None else quantity_from_json(body)


def _truth(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{value!r} is neither true nor false")
    return value


def _weights(settings: LearnerConfig, log_omega: Array) -> Array:
    if log_omega.shape != settings.even.shape or not np.isfinite(np.exp(log_omega)).all():
        raise ValueError(f"{len(settings.functions)} functions cannot have the weights {log_omega}")
    return log_omega


def _labels(ids: list[Json], arrays: Arrays) -> Labels:
    columns = [arrays[name] for name in ("label_x", "label_y", "label_noise")]
    if not all(np.isfinite(column).all() for column in columns) or (columns[2] < 0.0).any():
        raise ValueError("a label, its inputs or its noise is not a finite number")
    columns.append(arrays.get("label_sure", np.zeros(len(ids))))  # not there: none is
    told = [
        Label(id_from_json(name), x, float(y), float(noise), bool(sure))
        for name, x, y, noise, sure in zip(ids, *columns, strict=True)
    ]
    return Labels().after([], told)


def _unpack_selection(
    kept: Header | None, quantity: Quantity, params: Header, arrays: Arrays
) -> SelectionPoint | None:
    if kept is None:
        return None
    X, y, noise = (arrays[name] for name in _SELECTION_ARRAYS)
    experts = None
    if kept["experts"] is not None:
        own = with_prefix(_EXPERTS_PREFIX, arrays)
        of_part = part_parameters(parameters_of(params, X.shape[1]), quantity).to_dict()
        experts = model_file.unpack_experts(of_part, kept["experts"], own)
    scaling, counts = model_file.scaling_from_arrays(arrays), (int(kept["n"]), kept["together"])
    return SelectionPoint(scaling, (X, y, noise), *counts, experts, arrays.get(_TRUSTED_ARRAY))


def _check(state: State) -> None:
    """Raise ValueError unless the content can be the state of a learner."""
    index, rows = state.candidates.index, len(state.history)
    d = state.candidates.n_inputs
    named = [*state.taken, *state.batch]
    unknown = [name for name in named if name not in index]
    if unknown:
        raise ValueError(f"it refers to {unknown[0]!r}, which is not a candidate")
    if any(not 0 <= row < rows for row in state.asked.values()):
        raise ValueError("a candidate that was asked has no row in the history")
    for one in state.quantities.values():
        if any(label.x.shape != (d,) for label in one.labels):
            raise ValueError(f"a labelled point does not have the {d} inputs of the pool")
        folded = 0 if one.selection is None else one.selection.n_joint
        if not 0 <= folded <= len(one.labels):
            raise ValueError(f"{folded} labels were folded in together, of {len(one.labels)}")


def _finite(row: Header) -> Header:
    """Values for JSON, with "nan" instead of NaN."""
    return {name: "nan" if value != value else value for name, value in row.items()}


def _unfinite(row: Header) -> Header:
    numbers = {name: math.nan for name in ("score", "mean", "std") if row[name] == "nan"}
    weights = row["expert_weights"]
    weights = None if weights is None else tuple(weights)
    return {**row, **numbers, "id": id_from_json(row["id"]), "expert_weights": weights}


def _with_cost(state: State, cost: CostFunction | None) -> State:
    """The state with the given cost function."""
    if cost is None:
        return state
    return dataclasses.replace(state, candidates=state.candidates.with_cost_function(cost))
