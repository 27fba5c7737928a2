"""A PostgreSQL server of our own for the tests: a free port, a temporary folder, no settings.

    with running() as server:
        server.url, server.restart(), ...

It runs as an ordinary user where the tests run as root, since PostgreSQL refuses root.
"""

import os
import pwd
import secrets
import shutil
import socket
import subprocess
import tempfile
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

PASSWORD = "s3cret-p%40ss"  # in the address; the real one has an @


def programs():
    """The folder with initdb and postgres, or None."""
    found = shutil.which("initdb")
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: path.parent.name)
    return Path(found).parent if found else next(iter(folders[::-1]), None)


@dataclass(frozen=True)
class Server:
    bin: Path
    folder: Path
    port: int
    user: dict

    @property
    def url(self):
        return self.address("postgres")

    def address(self, database):
        return f"postgresql://weal:{PASSWORD}@127.0.0.1:{self.port}/{database}"

    def run(self, program, *arguments):
        subprocess.run(
            [self.bin / program, *arguments],
            check=True,
            capture_output=True,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            **self.user,
        )

    def start(self):
        options = f"-p {self.port} -k {self.folder} -c listen_addresses=127.0.0.1"
        self.control("start", "-l", str(self.folder / "log"), "-o", options)

    def stop(self, mode="fast"):
        self.control("stop", "-m", mode)

    def control(self, what, *more):
        self.run("pg_ctl", "-w", "-t", "600", "-D", str(self.folder / "data"), what, *more)


@contextmanager
def running():
    """A server that is gone, with its data, at the end."""
    with tempfile.TemporaryDirectory(prefix="weal-postgres-", dir=in_memory()) as name:
        folder = Path(name)
        server = Server(programs(), folder, free_port(), ordinary_user(folder))
        password = folder / "password"
        password.write_text(PASSWORD.replace("%40", "@"))
        password.chmod(0o644)
        login = ["-U", "weal", "-A", "scram-sha-256", f"--pwfile={password}"]
        server.run(
            "initdb", "-D", str(folder / "data"), "-E", "UTF8", "--locale=C", "--no-sync", *login
        )
        server = started(server)
        try:
            yield server
        finally:
            server.stop("immediate")


def in_memory():
    """A folder that needs no disk, or None: what survives a killed process is the same there."""
    shared = Path("/dev/shm")
    roomy = shared.is_dir() and shutil.disk_usage(shared).free > 1 << 30
    return shared if roomy and os.access(shared, os.W_OK) else None


def started(server, tries=9):
    """The server, running: on another port, should somebody have taken the one that was free."""
    try:
        server.start()
    except subprocess.CalledProcessError:
        if not tries:
            raise
        return started(replace(server, port=free_port()), tries - 1)
    return server


def free_port():
    """A port that is free, and stays so while the server restarts.

    It is below those that the system gives to whoever asks for any, and not drawn with `random`,
    which is seeded alike in all workers of pytest.
    """
    given = Path("/proc/sys/net/ipv4/ip_local_port_range")
    first = int(given.read_text().split()[0]) if given.is_file() else 32768
    while True:
        port = secrets.choice(range(min(10_000, first - 1000), first))
        with socket.socket() as one, suppress(OSError):
            one.bind(("127.0.0.1", port))
            return port


def ordinary_user(folder):
    """Whom to run as, as arguments of subprocess.run; the folder becomes theirs."""
    if os.geteuid() != 0:
        return {}
    names = {user.pw_name: user for user in pwd.getpwall()}
    user = names.get("postgres") or names["nobody"]
    os.chown(folder, user.pw_uid, user.pw_gid)
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
