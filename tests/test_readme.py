"""The README's Python runs as it stands there, and its shell prints what is shown."""

import os
import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"
TEXT = README.read_text("utf-8")
SCRIPTS = {  # programs of this environment, wherever it is
    "python": '#!/bin/sh\nexec "{python}" "$@"\n',
    "weal": '#!/bin/sh\nexec "{python}" -c "from weal.cli.main import main; main()" "$@"\n',
}


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


def test_the_readme_s_shell_prints_what_is_shown(tmp_path):
    programs = tmp_path / "programs"
    programs.mkdir()
    for name, script in SCRIPTS.items():
        (programs / name).write_text(script.format(python=sys.executable))
        (programs / name).chmod(0o755)
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
