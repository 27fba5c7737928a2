"""Campaigns to run tests on, and a small disk."""

import subprocess

import pytest

from campaign.alloys import begin_alloys, begin_bare
from shell import alone_in, begin_steel


@pytest.fixture
def in_a_folder(tmp_path, monkeypatch):
    """A folder of the test's own to type commands in."""
    alone_in(tmp_path, monkeypatch)


@pytest.fixture
def steel(in_a_folder):
    begin_steel()


@pytest.fixture
def alloys(in_a_folder):
    return begin_alloys()


@pytest.fixture
def bare(in_a_folder):
    begin_bare()


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 1 MiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder], capture_output=True
    )
    if mounted.returncode:
        pytest.skip("a small disk cannot be mounted here")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)  # files may be open still
