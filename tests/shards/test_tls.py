"""A Dask cluster that talks TLS alone, with a certificate of our own."""

import shutil
import subprocess

import pytest

import weal
from shards.pools import f, inputs, names_of, write
from weal.errors import WorkerLost
from weal.shards import dask_executor

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
clusters = pytest.importorskip("clusters")

U = 120
pytestmark = [
    pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate"),
    clusters.LEFT,
]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A certificate, and its key."""
    place = tmp_path_factory.mktemp("tls")
    made = {"cert": str(place / "cert.pem"), "key": str(place / "key.pem")}
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
         "/CN=localhost", "-keyout", made["key"], "-out", made["cert"]],
        check=True, capture_output=True,
    )  # fmt: skip
    return made


@pytest.fixture(scope="module")
def secured(files):
    """A cluster of one worker, and what it takes to talk to it."""
    security = distributed.Security(
        tls_ca_file=files["cert"],
        require_encryption=True,
        **{
            f"tls_{who}_{what}": files[what]
            for who in ("client", "scheduler", "worker")
            for what in ("cert", "key")
        },
    )
    one = {"n_workers": 1, "threads_per_worker": 1, "processes": False}
    with clusters.running(**one, protocol="tls", security=security, host="127.0.0.1") as made:
        yield made, security


@pytest.fixture(autouse=True)
def patient(constants):
    constants(dask_executor, CONNECT_TIMEOUT_SECONDS=300)


def told(folder, **how):
    learner = weal.ActiveLearner(weal.open_pool(folder, id_column="id"), n_start=5, **how)
    learner.tell(names_of(U)[:9], f(inputs(U)[:9]))
    return learner


def test_a_client_with_its_security_is_used_as_it_is(secured, tmp_path):
    made, security = secured
    folder = write(tmp_path / "pool", inputs(U), [50])
    with distributed.Client(
        made.scheduler_address, security=security, set_as_default=False
    ) as client:
        learner = told(folder, scheduler=client)
        assert learner.ask(3) == told(folder).ask(3)
        learner.close()
        assert client.status == "running"  # it is not ours to close


def test_an_address_is_connected_to_with_the_security_of_dasks_configuration(
    secured, files, tmp_path
):
    folder = write(tmp_path / "pool", inputs(U), [50])
    address = secured[0].scheduler_address
    assert address.startswith("tls://")
    tls = "distributed.comm.tls"
    with dask.config.set({
        f"{tls}.ca-file": files["cert"],
        f"{tls}.client.cert": files["cert"],
        f"{tls}.client.key": files["key"],
    }):  # fmt: skip
        learner = told(folder, scheduler=address)
        assert learner.ask() == told(folder).ask()
        learner.close()


def test_without_a_certificate_nothing_is_asked_of_such_a_cluster(secured, tmp_path, constants):
    constants(dask_executor, CONNECT_TIMEOUT_SECONDS=5)
    folder = write(tmp_path / "pool", inputs(U), [50])
    with pytest.raises(WorkerLost, match=r"no Dask scheduler answers at tls://127.0.0.1"):
        told(folder, scheduler=secured[0].scheduler_address)
