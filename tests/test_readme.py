"""The README's Python runs as it stands there, and its shell prints what is shown."""

import os
import re
import subprocess
import sys
from pathlib import Path

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
