"""The citation file: it says what the package says."""

import tomllib
from pathlib import Path

import yaml

import weal

ROOT = Path(__file__).parents[1]


def test_the_citation_is_of_this_version_and_names_the_paper():
    told = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert told["cff-version"] == "1.2.0"
    assert f"weal {told['version']}" in f"weal {weal.__version__}"
    assert told["license"] in project["license"]
    assert set(told["keywords"]) <= set(project["keywords"])
    [paper] = told["references"]
    assert [one["family-names"] for one in paper["authors"]] == ["Polyzos", "Lu", "Giannakis"]
    assert paper["url"].endswith("2206.05009")
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    day = "unreleased" if "dev" in weal.__version__ else told["date-released"].isoformat()
    assert f"\n## {told['version']} ({day})\n" in changelog
