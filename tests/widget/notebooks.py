"""A real notebook server on this machine, and notebooks on its disk."""

import json
import os
import re
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

PATIENCE = 120.0  # seconds, on a busy machine
APPS = {"lab": "jupyterlab", "notebook": "notebook"}
QUIET = {"@jupyterlab/apputils-extension:notification": {"fetchNews": "false"}}
DARK = {"@jupyterlab/apputils-extension:themes": {"theme": "JupyterLab Dark"}}


def notebook(folder, name, cells):
    """Write a notebook with these cells of code."""
    made = [
        {"cell_type": "code", "id": f"c{n}", "source": source, "metadata": {}, "outputs": [],
         "execution_count": None}
        for n, source in enumerate(cells)
    ]  # fmt: skip
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    content = {
        "cells": made,
        "metadata": {"kernelspec": kernel},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    (folder / name).write_text(json.dumps(content))


@contextmanager
def serving(app, folder, settings=QUIET):
    """A server of JupyterLab or Notebook 7 on a free port; its address."""
    pytest.importorskip(APPS[app])
    pytest.importorskip("anywidget")
    places = {"CONFIG_DIR": "config", "DATA_DIR": "data", "RUNTIME_DIR": "runtime"}
    env = {**os.environ, "IPYTHONDIR": str(folder / "ipython"), "OMP_NUM_THREADS": "1"}
    env |= {f"JUPYTER_{name}": str(folder / place) for name, place in places.items()}
    wishes = folder / "config" / "lab" / "user-settings"
    for name, values in settings.items():
        package, _, plugin = name.partition(":")
        place = wishes / package / f"{plugin}.jupyterlab-settings"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(json.dumps(values))
    command = [sys.executable, "-m", APPS[app], "--no-browser", "--allow-root", "--ip=127.0.0.1"]
    command += ["--port=0", "--IdentityProvider.token=", f"--ServerApp.root_dir={folder}"]
    log = folder / "server.log"
    with log.open("w") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, env=env, cwd=folder)
    try:
        yield address(process, log)
    finally:
        process.terminate()
        process.wait(PATIENCE)


def address(process, log):
    """The address that the server has written to its log."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        assert process.poll() is None, log.read_text()[-2000:]
        if found := re.search(r"http://127\.0\.0\.1:(\d+)/", log.read_text()):
            return found[0]
        time.sleep(0.2)
    pytest.fail(f"the notebook server did not start: {log.read_text()[-2000:]}")
