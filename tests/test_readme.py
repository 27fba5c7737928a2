"""The README's Python runs as it stands there, and its shell prints what is shown."""

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import weal
from weal.cli.commands import doctor

README = Path(__file__).parents[1] / "README.md"
TEXT = README.read_text("utf-8")
EXTRAS = (  # packages that `pip install weal` does not bring: importing one fails below
    *("pandas", "polars", "matplotlib", "openpyxl", "psycopg", "dask", "distributed", "fastapi"),
    *("jinja2", "uvicorn", "mcp", "anywidget", "ipywidgets", "Box2D"),
)
PROGRAM = f"""#!{sys.executable}
import sys
from weal.cli.main import main


class Missing:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name in {EXTRAS}:
            raise ModuleNotFoundError(f"No module named {{name}}", name=name)


sys.meta_path.insert(0, Missing)
main()
"""


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)


def test_the_readme_s_code_runs_and_learns():
    names = {}
    [block] = blocks("python")
    exec(compile(block, str(README), "exec"), names)
    truth = [names["measure"](x) for x in names["X_pool"]]
    error = names["learner"].model.predict(names["X_pool"]) - truth
    assert (error**2).mean() ** 0.5 < 0.1


def sessions():
    """The commands of the campaign, and the lines shown below each."""
    [block] = [one for one in blocks("console") if "weal new" in one]
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        yield command, shown


def pattern(shown):
    """What matches the lines; `...` stands for any."""
    parts = re.split(r"\.\.\.", shown.strip())
    return ".*".join(re.escape(one.strip()) for one in parts)


def test_the_readme_s_shell_prints_what_is_shown_without_any_extra(tmp_path):
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "weal").write_text(PROGRAM)
    (programs / "weal").chmod(0o755)
    given = {"PATH": f"{programs}:{os.environ['PATH']}", "WEAL_WHO": "mk", "COLUMNS": "100"}
    environment = {key: value for key, value in os.environ.items() if key != "WEAL_STORE"} | given
    here = tmp_path / "here"
    here.mkdir()
    found = list(sessions())
    assert len(found) >= 6
    for command, shown in found:
        done = subprocess.run(
            ["bash", "-c", command], cwd=here, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        for said in (done.stdout, done.stderr):  # a terminal shows both
            assert "Traceback" not in said
        assert re.search(pattern(shown), f"{done.stderr}{done.stdout}", re.DOTALL), done.stdout
    assert (here / "predictions.csv").exists()


def test_the_readme_is_about_a_screen_and_a_half():
    assert len(TEXT.splitlines()) < 100


def test_the_packages_of_every_extra_are_missing_in_the_shell_test():
    """But those whose modules have other names, and that no command of the README could use."""
    brought = {re.split(r"[^\w-]", one)[0] for _, some in doctor.EXTRAS.values() for one in some}
    other_names = {"box2d", "joblib", "python-multipart", "segno", "scikit-activeml", "botorch"}
    assert brought - other_names <= set(EXTRAS)


def test_the_caption_has_the_numbers_of_the_picture():
    pictures = [README.parent / one for one in re.findall(r'(?:src|srcset)="(.*?)"', TEXT)]
    said = {re.search("<desc>(.*)</desc>", one.read_text("utf-8"))[1] for one in pictures}
    assert len(pictures) == 2  # for a light and for a dark background
    assert all(one.stat().st_size < 20_000 for one in pictures)
    [numbers] = [re.findall(r"[\d.]+\d|\d+", one) for one in said]
    labels, ours, random, as_good = numbers
    words = " ".join(TEXT.split())
    assert f"with {as_good} labels weal predicts as well as random choice with {labels}" in words
    assert f"to {float(ours):.1f} and to {float(random):.1f} with {labels} labels" in words


def test_the_pictures_are_legible_on_a_phone():
    """At 358 px, the width of a phone without margins, text has 11 px or more."""
    for name in re.findall(r'(?:src|srcset)="(.*?)"', TEXT):
        text = (README.parent / name).read_text("utf-8")
        width = float(re.search(r'viewBox="0 0 (\d+)', text)[1])
        sizes = [float(one) for one in re.findall(r"font(?:-size)?:\s*(\d+)px", text)]
        assert sizes
        assert min(sizes) * 358 / width > 11


def test_the_install_lines_are_those_that_the_script_tries():
    script = runpy.run_path(str(README.parent / "scripts" / "install_lines.py"))
    lines = script["lines"]()
    assert f"`dist/weal-{weal.__version__}-py3-none-any.whl`" in TEXT
    assert [one.split()[0] for one in lines] == ["uvx", "uv", "pipx", "pip", "pip"]
    wheel = Path("dist/weal.whl")
    for line in lines:
        assert "dist/weal.whl" in script["with_wheel"](line, wheel)
