"""Measure the layout of the package: modules, importers, names, types; by `ast`, nothing is run.

    python scripts/house.py [--json] [--list MEASURE] [SOURCE]

SOURCE is the folder of the package, src/weal by default. `--list` prints what a measure counted.
What counts as an exception is in the lists below.
"""

import ast
import json
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

FACADES = {
    "active_learner",
    "regressor",
    "classifier",
    "feature_encoder",
    "encoder",
    "campaign",
    "learner_view",
}
# File names that say what a module is in its room: HOUSE.md, "roles".
ROLES = {
    "protocol", "events", "config", "candidates", "frames", "memory", "run", "progress", "options",
    "leave_one_out", "effects", "__init__", "__main__",
}  # fmt: skip
SHORT, LONG = 60, 400  # lines
# Participles that do not end in -ed or -ing.
IRREGULAR = set(
    re.findall(
        r"\w+",
        """
    known told held kept found seen drawn put made said bent left lost chosen sold taken given
    begun broken built bought brought caught cut done fed felt forgotten foretold got grown
    heard hidden hit hurt laid led lent let meant met paid read run sent set shown shut spent
    spelt split spread stood struck sworn taught thought thrown understood won worn written
    gone come learnt unlearnt
    """,
    )
)
# Words that look like participles and are nouns, verbs or adjectives.
NO_PARTICIPLES = set(
    re.findall(
        r"\w+",
        """
    need seed feed speed embed bed red shed shred sped spring string ring thing king wing
    bring during scaling pricing encoding loading setting listing heading ceiling wedding
    nothing something everything anything put set let cut hit run read split spread hundred
    embedding reading writing scoring stopping missing pending inducing distributed delimited
    """,
    )
)
# Seams of kinds of experts: a class of `core` with all methods of one of these is a kind.
EXPERT_SEAMS = ("Experts", "Embedding", "Step")
# Rooms whose classes are candidates in shards, and classes that may look at their own.
SHARD_ROOMS = ("shards.", "learner.sharded_candidates", "learner.pools.shard",
               "campaign.candidate_files")  # fmt: skip
MEMORY_CLASSES = {"MemoryPool", "MemoryCandidates", "ArrayShard", "MemoryScores"}


class Module:
    """A source file, parsed."""

    def __init__(self, path: Path, source: Path) -> None:
        parts = path.relative_to(source).with_suffix("").parts
        self.file = parts[-1]
        self.is_package = self.file == "__init__"
        self.name = ".".join(parts[:-1] if self.is_package else parts)
        self.room = ".".join(parts[:-1])
        text = path.read_text(encoding="utf-8")
        self.lines = len(text.splitlines())
        self.tree = ast.parse(text)

    @property
    def full_name(self) -> str:
        return f"weal.{self.name}" if self.name else "weal"


class House:
    """All modules of a package, and what can be counted in them."""

    def __init__(self, source: Path) -> None:
        files = sorted(source.rglob("*.py"))
        self.modules = {one.full_name: one for one in (Module(path, source) for path in files)}

    def each(self) -> Iterator[Module]:
        return iter(self.modules.values())

    def imports(self, module: Module) -> set[str]:
        """Modules of the package that this one imports, those inside functions included."""
        found: set[str] = set()
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Import):
                found |= {one.name for one in node.names if one.name in self.modules}
            elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("weal"):
                for one in node.names:
                    inner = f"{node.module}.{one.name}"
                    found.add(inner if inner in self.modules else node.module or "")
        return (found & self.modules.keys()) - {module.full_name}

    def importers(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {name: set() for name in self.modules}
        for module in self.each():
            for name in self.imports(module):
                found[name].add(module.full_name)
        return found


# Measures: each gives what it counted, as a list of texts.


def all_modules(house: House) -> list[str]:
    """All modules."""
    return list(house.modules)


def single_importers(house: House) -> list[str]:
    """Modules that one other imports, with it."""
    found = []
    for name, importers in house.importers().items():
        module = house.modules[name]
        aside = module.file in FACADES or is_page(module) or is_command(module)
        if len(importers) == 1 and not aside and not module.is_package:
            found.append(f"{name} <- {next(iter(importers))}")
    return found


def is_page(module: Module) -> bool:
    """Whether this has routes of the web: a `router`."""
    return module.name.startswith("web.") and any(
        isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "router"
        for node in module.tree.body
    )


def is_command(module: Module) -> bool:
    """Whether this has commands of the command line."""
    return module.name.startswith("cli.") and any(
        "command(" in ast.unparse(decorator)
        for node in module.tree.body
        if isinstance(node, ast.FunctionDef)
        for decorator in node.decorator_list
    )


def repeated_files(house: House) -> list[str]:
    """File names in two or more rooms, less roles and commands."""
    rooms: dict[str, set[str]] = defaultdict(set)
    for module in house.each():
        aside = module.file in ROLES or module.name.startswith("cli.commands.")
        if not aside:
            rooms[module.file].add(module.room or "weal")
    return [f"{file}: {', '.join(sorted(of))}" for file, of in rooms.items() if len(of) > 1]


def short_files(house: House) -> list[str]:
    """Files that are too short for a concept."""
    return [
        f"{one.full_name} {one.lines}"
        for one in house.each()
        if one.lines < SHORT and one.file not in ("__init__", "__main__")
    ]


def long_files(house: House) -> list[str]:
    """Files that are too long, less facades."""
    return [
        f"{one.full_name} {one.lines}"
        for one in house.each()
        if one.lines > LONG and one.file not in FACADES
    ]


def repeated_classes(house: House) -> list[str]:
    """Names of classes that are defined in two or more places."""
    return _repeated(
        (node.name, module.full_name)
        for module in house.each()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ClassDef)
    )


def _repeated(pairs: Iterator[tuple[str, str]]) -> list[str]:
    places: dict[str, list[str]] = defaultdict(list)
    for name, place in pairs:
        places[name].append(place)
    return [f"{name}: {', '.join(of)}" for name, of in sorted(places.items()) if len(of) > 1]


def differing_constants(house: House) -> list[str]:
    """Names of constants with different values in different modules."""
    values: dict[str, dict[str, str]] = defaultdict(dict)
    for module in house.each():
        for name, value in _constants(module):
            values[name.lstrip("_")][module.full_name] = value
    return [
        f"{name}: {', '.join(places)}"
        for name, places in sorted(values.items())
        if len(places) > 1 and len(set(places.values())) > 1
    ]


def _constants(module: Module) -> Iterator[tuple[str, str]]:
    """Constants of a module, with the source of their values; tuples are taken apart."""
    for node in module.tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        if isinstance(node, ast.AnnAssign) and node.value is not None:
            targets = [node.target]
        for target in targets:
            names = target.elts if isinstance(target, ast.Tuple) else [target]
            apart = isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)
            parts = node.value.elts if apart else [node.value] * len(names)
            for one, value in zip(names, parts, strict=True):
                if isinstance(one, ast.Name) and re.fullmatch(r"_?[A-Z][A-Z0-9_]*", one.id):
                    yield one.id, ast.unparse(value)


def participle_functions(house: House) -> list[str]:
    """Functions and methods that are named by a participle."""
    return [
        f"{module.full_name}.{node.name}"
        for module in house.each()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and is_participle(node.name)
    ]


def is_participle(name: str) -> bool:
    """Whether a function is named by a participle and nothing else: `told`, `_asked`, `held`.

    >>> [is_participle(name) for name in ("told", "_asked", "told_body", "embed", "scaling")]
    [True, True, False, False, False]
    """
    word = name.strip("_").lower()
    if not word or "_" in word or word in NO_PARTICIPLES:
        return False
    return word in IRREGULAR or word.endswith(("ed", "ing"))


def any_annotations(house: House) -> list[str]:
    """Occurrences of `Any` in annotations."""
    return [
        f"{module.full_name}:{annotation.lineno}"
        for module in house.each()
        for annotation in _annotations(module.tree)
        for part in ast.walk(annotation)
        for _ in range(_count_any(part))
    ]


def _annotations(tree: ast.AST) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        for field in ("annotation", "returns"):
            if (found := getattr(node, field, None)) is not None:
                yield found


def _count_any(node: ast.AST) -> int:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return len(re.findall(r"\bAny\b", node.value))
    return int(isinstance(node, ast.Name) and node.id == "Any")


def expert_kinds(house: House) -> dict[str, str]:
    """Kinds of experts by name: classes of `core` that have all methods of a seam, and where."""
    classes = [
        (module, node)
        for module in house.each()
        if module.name.startswith("core")
        for node in module.tree.body
        if isinstance(node, ast.ClassDef)
    ]
    seams = [_methods(node) for _, node in classes if node.name in EXPERT_SEAMS]
    return {
        node.name: module.full_name
        for module, node in classes
        if node.name not in EXPERT_SEAMS and any(seam <= _methods(node) for seam in seams)
    }


def _methods(node: ast.ClassDef) -> set[str]:
    return {one.name for one in node.body if isinstance(one, ast.FunctionDef)}


def isinstance_of_experts(house: House) -> list[str]:
    """Where the kind of an expert is looked at outside the modules of its seam."""
    kinds = expert_kinds(house)
    return _isinstances(house, set(kinds), lambda module: module.full_name in kinds.values())


def isinstance_of_shards(house: House) -> list[str]:
    """Where somebody looks whether candidates are in memory or in shards."""

    def is_shard_room(module: Module) -> bool:
        return module.name.startswith(SHARD_ROOMS)

    names = {
        node.name
        for module in house.each()
        if is_shard_room(module) and module.file != "encoding"  # how columns are read, not where
        for node in module.tree.body
        if isinstance(node, ast.ClassDef)
    }
    return _isinstances(
        house, names | MEMORY_CLASSES, lambda module: module.name.startswith("shards.")
    )


def _isinstances(house: House, names: set[str], is_inside: Callable[[Module], bool]) -> list[str]:
    """Calls of `isinstance` on classes of these names, in modules outside the seam."""
    found = []
    for module in house.each():
        for node in ast.walk(module.tree) if not is_inside(module) else ():
            named = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
            if not named or node.func.id != "isinstance" or len(node.args) != 2:
                continue
            classes = {one.id for one in ast.walk(node.args[1]) if isinstance(one, ast.Name)}
            attributes = {
                one.attr for one in ast.walk(node.args[1]) if isinstance(one, ast.Attribute)
            }
            if found_names := (classes | attributes) & names:
                found.append(f"{module.full_name}:{node.lineno} {', '.join(sorted(found_names))}")
    return found


MEASURES = {
    "modules": all_modules,
    "modules with a single importer": single_importers,
    "file names in two or more rooms": repeated_files,
    f"files under {SHORT} lines": short_files,
    f"files over {LONG} lines": long_files,
    "class names defined twice": repeated_classes,
    "constant names with different values": differing_constants,
    "functions named by a participle": participle_functions,
    "Any in annotations": any_annotations,
    "isinstance on kinds of experts": isinstance_of_experts,
    "isinstance on memory and shards": isinstance_of_shards,
}


def measure(source: Path) -> dict[str, int]:
    """All counts, by the name of the measure."""
    house = House(source)
    counts = {name: len(count(house)) for name, count in MEASURES.items()}
    lines = sum(one.lines for one in house.each())
    return {"modules": counts.pop("modules"), "lines": lines, **counts}


def main(words: list[str]) -> None:
    """Print the table, or what a measure counted."""
    as_json = "--json" in words
    words = [word for word in words if word != "--json"]
    wanted = words.pop(words.index("--list") + 1) if "--list" in words else None
    rest = [word for word in words if word != "--list"]
    source = Path(rest[0]) if rest else Path(__file__).parents[1] / "src" / "weal"
    if wanted is not None:
        (name,) = [name for name in MEASURES if wanted in name][:1] or [wanted]
        print(*MEASURES[name](House(source)), sep="\n")
        return
    counts = measure(source)
    if as_json:
        print(json.dumps(counts, indent=1))
        return
    for name, count in counts.items():
        print(f"{name:40} {count:7,}")


if __name__ == "__main__":
    main(sys.argv[1:])
