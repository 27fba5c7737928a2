"""`Remote`: a campaign on a server, with the methods of `Campaign`.

Every call is a request to the JSON API (`weal serve`), so that a program on another machine needs
neither the store nor numpy. Where `Campaign` returns objects, `Remote` returns the dicts of
`--json`, with the same fields.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Self, cast, overload
from urllib.parse import quote

from weal.client.connection import Address, Connection, Json, Reply
from weal.errors import Exhausted, WealError

TOKEN_VARIABLE = "WEAL_TOKEN"
WAIT = 25.0  # seconds of one long poll: below the time-out of common proxies
JsonObject = dict[str, Any]


class Remote:
    """A campaign on a server (`weal serve`), with the methods of `Campaign`.

    Parameters
    ----------
    url : str
        Address of the server, with the path that it is served under; it may name the campaign:
        ``https://lab.example/weal`` or ``http://localhost:8080/campaigns/alloys``.
    token : str or None
        A token (``weal token add robot-1 --may ask,tell``); if None, the environment variable
        WEAL_TOKEN.
    campaign : str or None
        Name of the campaign; if None, the one in the URL, or the only one that the token can read.
    by : str or None
        Author of labels, if the token has no name.
    timeout : float
        Time limit of a request in seconds.
    patience : float
        Seconds for which a request is repeated if the server does not answer. Writes carry an
        idempotency key, so a label is saved only once.

    Examples
    --------
    A loop on another machine:

    >>> import weal
    >>> robot = weal.Remote("http://lab:8080", "wt_...", campaign="alloys")  # doctest: +SKIP
    >>> for _ in range(10):  # doctest: +SKIP
    ...     [row] = robot.ask_rows(1)
    ...     robot.tell(row["id"], measure(row["row"]))
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        campaign: str | None = None,
        *,
        by: str | None = None,
        timeout: float = 120.0,
        patience: float = 60.0,
    ) -> None:
        address, named = Address.parse(url)
        found = token or os.environ.get(TOKEN_VARIABLE)
        if not found:
            raise ValueError(
                f"there is no token: give `token`, or set {TOKEN_VARIABLE}; `weal token add` makes "
                "one on the server"
            )
        if campaign and named and campaign != named:
            raise ValueError(f"the address names {named!r}, and `campaign` is {campaign!r}")
        self.connection = Connection(address, found, timeout, patience)
        self.by = by
        self._name = campaign or named

    def __repr__(self) -> str:
        address = self.connection.address
        port = "" if address.port is None else f":{address.port}"
        place = f"{address.scheme}://{address.host}{port}{address.root}"
        return f"Remote({place!r}, campaign={self._name!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; the next call opens another."""
        self.connection.close()

    # The server

    def campaigns(self) -> list[JsonObject]:
        """The campaigns that the token can read.

        Returns
        -------
        list of dict
            As in ``weal list --json``.
        """
        found: list[JsonObject] = []
        while True:
            after = found[-1]["name"] if found else None
            reply = self.connection.get("/campaigns", after=after)
            found += cast(list[JsonObject], reply.json())
            if 'rel="next"' not in reply.headers.get("link", ""):
                return found

    def open(self, campaign: str) -> "Remote":
        """Another campaign of the same server, on the same connection.

        Parameters
        ----------
        campaign : str
            Its name.

        Returns
        -------
        Remote
            The campaign.
        """
        found = Remote.__new__(Remote)
        found.connection, found.by, found._name = self.connection, self.by, campaign
        return found

    @property
    def name(self) -> str:
        """The name of the campaign; if none was given, the first call asks the server."""
        if self._name is None:
            names = [str(one["name"]) for one in self.campaigns()]
            if len(names) != 1:
                known = ", ".join(map(repr, names[:10])) or "none"
                raise ValueError(f"which campaign? Give `campaign`; the token shows {known}")
            self._name = names[0]
        return self._name

    def describe(self) -> JsonObject:
        """Numbers of candidates and labels, columns, quantities and settings.

        Returns
        -------
        dict
            As in ``weal new --json``.
        """
        return self._read("")

    # Rows

    @overload
    def ask(self, n: None = None, **how: Any) -> str: ...
    @overload
    def ask(self, n: int, **how: Any) -> list[str]: ...
    def ask(self, n: int | None = None, **how: Any) -> str | list[str]:
        """The id of the row to measure next, or the ids of a batch; options as in `Campaign.ask`.

        Parameters
        ----------
        n : int or None
            Size of the batch; if None, a single id is returned instead of a list.
        **how
            lease, check, repeats, key, same, at_most, where, instead_of, rows, by.

        Returns
        -------
        str, or list of str
            One id if `n` is None, otherwise a list of n ids.
        """
        found = self._write("ask", {"n": n or 1, "only_ids": True, **how})
        ids = [str(one) for one in found["ids"]]
        return ids[0] if n is None else ids

    def ask_rows(self, n: int = 1, **how: Any) -> list[JsonObject]:
        """The rows to measure next, with inputs (`row`), predictions and reasons.

        Parameters
        ----------
        n : int
            How many.
        **how
            As in `ask`.

        Returns
        -------
        list of dict
            As in ``weal ask --json``.
        """
        return cast(list[JsonObject], self._send("ask", {"n": n, **how}).json())

    def asked(self, by: str | None = None) -> list[JsonObject]:
        """The leased rows.

        Parameters
        ----------
        by : str or None
            Only rows leased to this person; if None, all.

        Returns
        -------
        list of dict
            As in ``weal ask --again --json``.
        """
        return cast(list[JsonObject], self._get("asked", by=by).json())

    def tell(self, ids: Any, labels: Any = None, **how: Any) -> int:
        """Save the labels of one row or of several; when it returns, they are on the server's disk.

        Parameters
        ----------
        ids : id, list of ids, or dict
            Which rows; a dict gives labels by id.
        labels : label, list of labels, or dict
            The label of each row; a dict has labels by quantity.
        **how
            noise, note, sure, replace, repeat, key, by.

        Returns
        -------
        int
            The number of the last event.
        """
        if isinstance(ids, Mapping):
            return self._tell_many(list(ids), list(ids.values()), how)
        if isinstance(ids, str) or not isinstance(ids, Iterable):
            return self._event(self._write("tell", {"id": ids, **_value(labels), **how}))
        return self._tell_many(list(ids), list(labels), how)

    def _tell_many(self, ids: list[Any], labels: list[Any], how: Mapping[str, Any]) -> int:
        if len(ids) != len(labels):
            raise ValueError(f"{len(ids)} ids and {len(labels)} labels; each row needs one")
        rows = [{"id": one, **_value(label)} for one, label in zip(ids, labels, strict=True)]
        return self._event(self._write("tell", {"labels": rows, **how}))

    def _event(self, found: JsonObject) -> int:
        return int(found["event"])

    def tell_file(self, path: str | os.PathLike[str], **how: Any) -> JsonObject:
        """Save the labels of a table, such as a worksheet; all of them or none.

        Parameters
        ----------
        path : path
            A file (.csv, .xlsx, ...) on this machine.
        **how
            sheet, header, column, key, by.

        Returns
        -------
        dict
            As in ``weal tell --file --json``.
        """
        place = Path(path)
        content, options = place.read_bytes(), self._given(how)
        reply = self.connection.upload(self._path("tell"), content, place.name, options)
        return cast(JsonObject, reply.json())

    def fail(self, ids: Any, *, note: str | None = None, accident: bool = False, **how: Any) -> int:
        """Report that the runs of rows failed and nothing could be measured.

        Parameters
        ----------
        ids : id, or list of ids
            Which rows.
        note : str or None
            A note, stored with the event.
        accident : bool
            Whether the reason has nothing to do with the row; the model then ignores the failure.
        **how
            replace, key, by.

        Returns
        -------
        int
            The number of the last event.
        """
        last = 0
        more = {"note": note, "accident": accident, **how}
        for one in _listed(ids):
            last = self._event(self._write("tell", {"id": one, "value": "failed", **more}))
        return last

    def skip(self, ids: Any, *, note: str | None = None, **how: Any) -> None:
        """Skip rows until `unskip`, or until they get a label.

        Parameters
        ----------
        ids : id, or list of ids
            Which rows.
        note : str or None
            A note, stored with the event.
        **how
            key, by.
        """
        self._send("skip", {"ids": _listed(ids), "note": note, **how})

    def unskip(self, ids: Any, *, note: str | None = None, **how: Any) -> None:
        """Allow skipped rows to be suggested again.

        Parameters
        ----------
        ids : id, or list of ids
            Which rows.
        note : str or None
            A note, stored with the event.
        **how
            key, by.
        """
        self._send("skip", {"ids": _listed(ids), "undo": True, "note": note, **how})

    def withdraw(self, ids: Any, *, note: str | None = None, **how: Any) -> None:
        """Withdraw the labels and failures of rows, or the lease of rows without a label.

        Parameters
        ----------
        ids : id, or list of ids
            Which rows.
        note : str or None
            A note, stored with the event.
        **how
            event, quantity, key, by.
        """
        self._send("withdraw", {"ids": _listed(ids), "note": note, **how})

    def release(self, ids: Any, *, note: str | None = None, **how: Any) -> list[str]:
        """Release the leases of rows; labels stay.

        Parameters
        ----------
        ids : id, or list of ids
            Which rows.
        note : str or None
            A note, stored with the event.
        **how
            key, by.

        Returns
        -------
        list of str
            The rows that were leased.
        """
        found = self._write("release", {"ids": _listed(ids), "note": note, **how})
        return [str(one) for one in found["released"]]

    def run(
        self, oracle: Callable[[JsonObject], Any], n: int, *, on_failure: str = "raise", **how: Any
    ) -> int:
        """Ask, measure with `oracle`, and tell, up to n times.

        Parameters
        ----------
        oracle : function
            Gets the inputs of a row as a dict and returns its label, or a dict of labels by
            quantity.
        n : int
            Maximum number of labels.
        on_failure : {"raise", "skip", "fail"}
            What to do if the oracle raises: "raise" releases the row and raises the error; "skip"
            skips the row and "fail" reports it as failed, with the error as a note.
        **how
            Options of `ask`.

        Returns
        -------
        int
            Number of labels; fewer than n if no row is left.
        """
        if on_failure not in ("raise", "skip", "fail"):
            raise ValueError(f"on_failure is {on_failure!r}; it must be 'raise', 'skip' or 'fail'")
        told = 0
        while told < n:
            try:
                [row] = self.ask_rows(1, **how)
            except Exhausted:
                break
            told += self._measure(oracle, row, on_failure)
        return told

    def _measure(
        self, oracle: Callable[[JsonObject], Any], row: JsonObject, on_failure: str
    ) -> int:
        """Measure a row and tell its label; 0 if the oracle failed."""
        try:
            label = oracle(row["row"])
        except BaseException as error:
            if on_failure == "raise" or not isinstance(error, Exception):
                self.release(row["id"])
                raise
            note = f"{type(error).__name__}: {error}"[:400]
            (self.skip if on_failure == "skip" else self.fail)(row["id"], note=note)
            return 0
        self.tell(row["id"], label)
        return 1

    # Reports

    def status(self, **how: Any) -> JsonObject:
        """Progress, expected errors, and whether to continue.

        Parameters
        ----------
        **how
            goal, subject_to, until.

        Returns
        -------
        dict
            As in ``weal status --json``.
        """
        return self._read("status", **how)

    def best(self, n: int = 10, **how: Any) -> JsonObject:
        """The best rows, measured or not.

        Parameters
        ----------
        n : int
            How many.
        **how
            goal, subject_to.

        Returns
        -------
        dict
            As in ``weal best --json``.
        """
        return self._read("best", n=n, **how)

    def card(self, id: Any) -> JsonObject:
        """One row: inputs, labels, lease, prediction, and why it was asked.

        Parameters
        ----------
        id : id
            Which row.

        Returns
        -------
        dict
            As in ``weal show --json``.
        """
        return self._read("row", id=str(id))

    def settings(self) -> JsonObject:
        """The settings.

        Returns
        -------
        dict
            As in ``weal settings --json``.
        """
        return self._read("settings")

    def change(self, **settings: Any) -> JsonObject:
        """Change settings; needs a token with the permission `manage`.

        Parameters
        ----------
        **settings
            Such as ``lease="3d"``.

        Returns
        -------
        dict
            All settings.
        """
        reply = self._send("settings", settings, method="PATCH")
        return cast(JsonObject, reply.json())

    def events(self, since: int = 0) -> list[JsonObject]:
        """The events after one of them, oldest first.

        Parameters
        ----------
        since : int
            Number of the last known event.

        Returns
        -------
        list of dict
            As in ``weal log --json``.
        """
        found: list[JsonObject] = []
        while True:
            page = cast(list[JsonObject], self._get("events", since=since).json())
            found += page
            if not page:
                return found
            since = int(page[-1]["seq"])

    def follow(self, since: int | None = None) -> Iterator[JsonObject]:
        """Wait for new events and yield each as it arrives, without end.

        Parameters
        ----------
        since : int or None
            Number of the last known event; if None, from now on.

        Returns
        -------
        iterator of dict
            Each event, as of ``weal log --json``.
        """
        last = self._last_event() if since is None else since
        while True:
            for event in cast(list[JsonObject], self._get("events", since=last, wait=WAIT).json()):
                last = int(event["seq"])
                yield event

    def _last_event(self) -> int:
        """The number of the newest event: the ETag of a campaign begins with it."""
        tag = self._get("").headers.get("etag", "0").strip('"')
        return int(tag.partition("-")[0])

    def predict(self, rows: list[JsonObject], **how: Any) -> JsonObject:
        """Predictions of rows that are not candidates.

        Parameters
        ----------
        rows : list of dict
            Values of the input columns.
        **how
            level, quantity.

        Returns
        -------
        dict
            As in ``weal predict --json``.
        """
        given = {"rows": _plain(rows), **how}
        return cast(JsonObject, self.connection.send(self._path("predictions"), given).json())

    def predictions(self, **how: Any) -> Iterator[JsonObject]:
        """Predictions of all candidates, yielded one by one as they are computed.

        Parameters
        ----------
        **how
            quantity.

        Returns
        -------
        iterator of dict
            The columns of ``weal export --what predictions``.
        """
        for line in self.connection.lines(self._path("predictions"), **how):
            yield cast(JsonObject, line)

    def to_frame(self, what: str = "labels", kind: str = "pandas") -> Any:
        """A table of labels, predictions, candidates or events.

        Parameters
        ----------
        what : {"labels", "predictions", "candidates", "events"}
            Which table.
        kind : {"pandas", "polars"}
            The kind of frame.

        Returns
        -------
        frame
            As in `Campaign.to_frame`.
        """
        import io

        if kind not in ("pandas", "polars"):
            raise ValueError(f"kind is {kind!r}; it must be pandas or polars")
        content = io.BytesIO(self._get("export", what=what, format="csv").content)
        if kind == "polars":
            import polars

            types = {"id": polars.String}
            return polars.read_csv(content, schema_overrides=types, infer_schema_length=None)
        import pandas

        return pandas.read_csv(content, dtype={"id": str})

    # Requests

    def _path(self, what: str) -> str:
        rest = f"/{what}" if what else ""
        return f"/campaigns/{quote(self.name, safe='')}{rest}"

    def _given(self, fields: Mapping[str, Any]) -> JsonObject:
        own = {"by": self.by} if self.by and "by" not in fields else {}
        return {name: _plain(one) for name, one in {**fields, **own}.items() if one is not None}

    def _send(self, what: str, fields: Mapping[str, Any], method: str = "POST") -> Reply:
        return self.connection.send(self._path(what), self._given(fields), method)

    def _write(self, what: str, fields: Mapping[str, Any]) -> JsonObject:
        return cast(JsonObject, self._send(what, fields).json())

    def _get(self, place: str, **query: object) -> Reply:
        return self.connection.get(self._path(place), **query)

    def _read(self, what: str, **query: object) -> JsonObject:
        found = self._get(what, **query).json()
        if not isinstance(found, dict):
            raise WealError("the answer is not from the API of weal; check the address")
        return cast(JsonObject, found)


def _listed(ids: Any) -> list[Any]:
    """One id, or several, as a list."""
    if isinstance(ids, str) or not isinstance(ids, Iterable):
        return [_plain(ids)]
    return [_plain(one) for one in ids]


def _value(label: Any) -> JsonObject:
    """The field of a label: by quantity where it is a dict."""
    if isinstance(label, Mapping):
        return {"values": {str(name): _plain(one) for name, one in label.items()}}
    return {"value": _plain(label)}


def _plain(value: Any) -> Json:
    """A value for JSON; numbers of numpy become those of Python."""
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(one) for one in value]
    tolist = getattr(value, "tolist", None)
    return tolist() if callable(tolist) else value
