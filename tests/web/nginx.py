"""A real nginx with the recipe of docs/howto/deploy.md, changed in nothing but places and ports."""

import os
import re
import shutil
import signal
import socket
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "howto" / "deploy.md").read_text()
RECIPE = re.search(r"```nginx\n(.*?)```", PAGE, re.DOTALL)[1]
UNIT = re.search(r"```ini\n(.*?)```", PAGE, re.DOTALL)[1]
HOST = "lab.example.org"
MAIN = """
{user}
daemon off;
master_process on;
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/error.log info;
events {{ worker_connections 64; }}
http {{
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
{recipe}
}}
"""


def program():
    found = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if found is None:
        if os.environ.get("WEAL_NGINX") == "required":
            pytest.fail("no nginx here: install the Debian package nginx-light")
        pytest.skip("no nginx here: install the Debian package nginx-light")
    return found


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def certificate(folder):
    """A certificate of our own for the host of the recipe."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("no openssl here: install the Debian package openssl")
    words = [openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
             "-nodes", "-days", "2", "-subj", f"/CN={HOST}",
             "-addext", f"subjectAltName=DNS:{HOST}",
             "-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")]  # fmt: skip
    subprocess.run(words, check=True, capture_output=True)
    return folder / "cert.pem"


def changed(recipe, **changes):
    """The recipe with other places; every place must be there."""
    for old, new in changes.items():
        assert old in recipe, old
        recipe = recipe.replace(old, new)
    return recipe


@contextmanager
def running(folder, upstream, proxied=None):
    """The port of an nginx before the server at the port `upstream`; it speaks TLS."""
    nginx, port = program(), free_port()
    certificate(folder)
    recipe = changed(
        RECIPE,
        **{
            "listen 443 ssl": f"listen 127.0.0.1:{port} ssl",
            "/etc/ssl/certs/lab.example.org.pem": f"{folder}/cert.pem",
            "/etc/ssl/private/lab.example.org.key": f"{folder}/key.pem",
            "/var/log/nginx/weal.log": f"{folder}/access.log",
            "proxy_pass http://127.0.0.1:8765;": proxied
            or f"proxy_pass http://127.0.0.1:{upstream};",
        },
    )
    user = "user root;" if os.geteuid() == 0 else ""
    config = folder / "nginx.conf"
    config.write_text(MAIN.format(user=user, folder=folder, recipe=recipe))
    process = subprocess.Popen(
        [nginx, "-c", str(config), "-p", str(folder)], stderr=subprocess.PIPE, text=True
    )
    try:
        _wait(process, port)
        yield port
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate()


def _wait(process, port):
    for _ in range(600):
        assert process.poll() is None, process.communicate()[1]
        with socket.socket() as found:
            if found.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError("nginx does not listen")
