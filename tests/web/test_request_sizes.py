"""Large things are refused while they are read, and the server stays small (W7)."""

import http.client
import io
import socket
import time
import zipfile
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from shell import events
from weal.limits import Limits
from weal.web.request_body import MAX_FORM_BYTES, MAX_UPLOAD_BYTES
from web.visiting import PATIENCE, Visitor

MOST_MEMORY = 300 * 2**20  # bytes


def memory(server):
    """Bytes that the server has had at most."""
    lines = Path(f"/proc/{server['pid']}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def endless(ann, path, head, kind="application/x-www-form-urlencoded", most=2**30):
    """Send a body in chunks, without a length, until the server answers; status, bytes sent."""
    cookies = "; ".join(f"{one.name}={one.value}" for one in ann.client.cookies.jar)
    place = urlsplit(ann.base)
    lines = (
        f"POST {path} HTTP/1.1\r\nHost: {place.netloc}\r\nOrigin: {ann.base}\r\n"
        f"Cookie: {cookies}\r\nContent-Type: {kind}\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    block = b"x" * 65536
    sent = 0
    with socket.create_connection((place.hostname, place.port), timeout=PATIENCE) as line:
        line.sendall(lines.encode())
        line.sendall(b"%x\r\n%s\r\n" % (len(head), head))
        try:
            while sent < most:
                line.sendall(b"%x\r\n%s\r\n" % (len(block), block))
                sent += len(block)
        except OSError:  # it has answered, and hung up
            pass
        try:
            answer = line.recv(4096)
        except OSError:
            answer = b""
    return answer[9:12].decode(), sent


@pytest.mark.parametrize(
    ("path", "most"), [("/c/steel/tell", MAX_FORM_BYTES), ("/new", MAX_UPLOAD_BYTES)]
)
def test_a_body_without_a_length_is_cut_off(ann, server, steel, path, most):
    """W7: 1 GB in chunks; what was read is little more than what is taken."""
    before = events("steel", steel)
    head = f"form={ann.secret()}&id=A-1&key=k&value=".encode()
    kind = "application/x-www-form-urlencoded"
    if path == "/new":
        part = 'Content-Disposition: form-data; name="table"; filename="a.csv"'
        head, kind = f"--b\r\n{part}\r\n\r\n".encode(), "multipart/form-data; boundary=b"
    status, sent = endless(ann, path, head, kind)
    assert status in ("413", "")  # the answer may be lost with the line that is cut
    assert sent < most + 16 * 2**20  # what waits in the buffers of both sides included
    assert memory(server) < MOST_MEMORY
    assert ann.get("/c/steel/bench").status_code == 200
    assert events("steel", steel) == before


def test_two_megabytes_are_too_much_for_a_form(ann, server):
    """W7: as JSON, which is no form at all, and as a form."""
    own = {"Origin": ann.base}
    data = b'{"id": "' + b"x" * 2 * 2**20 + b'"}'
    headers = {**own, "Content-Type": "application/json"}
    assert ann.client.post("/c/steel/tell", content=data, headers=headers).status_code == 403
    form = ann.secret()
    answer = ann.tell("steel", "A-1", "3", form, "k", note="x" * 2 * 2**20)
    assert answer.status_code == 413
    assert "1 MB" in answer.text


def test_what_says_that_it_is_large_is_not_read(ann):
    """W7: refused by the length that it gives, before anything of it has come."""
    cookies = "; ".join(f"{one.name}={one.value}" for one in ann.client.cookies.jar)
    connection = http.client.HTTPConnection(urlsplit(ann.base).netloc, timeout=PATIENCE)
    connection.putrequest("POST", "/c/steel/tell")
    form = "application/x-www-form-urlencoded"
    own = {"Origin": ann.base, "Cookie": cookies, "Content-Type": form}
    for key, value in {**own, "Content-Length": str(2**40)}.items():
        connection.putheader(key, value)
    connection.endheaders()
    assert connection.getresponse().status == 413
    connection.close()


def upload(ann, name, data, path="/new"):
    files = {"table": (name, data, "application/octet-stream")}
    own = {"Origin": ann.base}
    return ann.client.post(path, data={"form": ann.secret()}, files=files, headers=own)


def shown(ann, answer):
    """The page that an upload ends in."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if not answer.is_redirect:
            if "/work/" not in str(answer.url):
                return answer
            time.sleep(0.1)
            answer = ann.get(str(answer.url))
        else:
            answer = ann.get(answer.headers["location"])
    raise AssertionError("the work does not end")


def test_bombs_are_refused(servers, steel):
    """W7: a workbook and a Parquet file that unpack to gigabytes, a cell larger than any table."""
    server = servers.start(steel, worker=True)
    with Visitor(server) as ann:
        parquet = upload(ann, "bomb.parquet", b"PAR1" + b"\0" * 100)
        assert parquet.status_code == 422
        assert ".csv" in parquet.text
        try:
            wide = upload(ann, "wide.csv", b"id,a\n1," + b"x" * (MAX_UPLOAD_BYTES + 2**20))
            assert wide.status_code == 413
        except httpx.TransportError:  # the line is cut while most of it is still to be sent
            pass
        packed = io.BytesIO()
        with (
            zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as book,
            book.open("xl/worksheets/sheet1.xml", "w", force_zip64=True) as sheet,
        ):
            for _ in range(Limits().workbook_bytes // 2**20 + 1):
                sheet.write(b"\0" * 2**20)
        answer = shown(ann, upload(ann, "bomb.xlsx", packed.getvalue()))
        assert answer.status_code == 422
        assert "WEAL_MAX_WORKBOOK_BYTES" in answer.text
        assert ann.get("/").status_code == 200
        assert memory(server) < MOST_MEMORY
