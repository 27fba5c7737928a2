"""Messages of a display, and their answers.

A display sends JSON objects and gets one answer to each:

    ask      n, same, at_most_column, at_most, where
    tell     row, values (the text of each field), note, sure
    skip     row, note
    fail     row, note, accident
    undo     number

Each has a `key`, drawn by the display for a form. A message that comes again with its key, because
a display got no answer, gets the first answer and changes nothing; one with other content is
refused. Rows are named by tokens: an id may be any hashable value, and text of any kind.
"""

import json
from collections import OrderedDict
from collections.abc import Hashable, Mapping
from dataclasses import asdict, replace
from typing import Any

from weal.errors import WealError
from weal.learner.batch_options import BatchOptionsBody
from weal.widget.protocol import Answer, Bench, BenchView, TypedLabel, shown
from weal.widget.typed_labels import MAX_VALUE_LETTERS

MAX_KEPT_ANSWERS = 500
MAX_KEY_LETTERS = 100
MAX_ASK_ROWS = 500
MAX_TEXT_LETTERS = 2000  # of a note, a condition
SENT_BEFORE = (
    "Nothing was saved: this form was sent before with other content. Check the row, and save "
    "again if it is right."
)


class BenchMessages:
    """The answers of a bench to the messages of its displays.

    Parameters
    ----------
    bench : Bench
        A learner, a campaign or a server.
    """

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self._ids: list[Hashable] = []  # by token
        self._tokens: dict[Hashable, str] = {}
        # by key: the content, and the answer to it
        self._answers: OrderedDict[str, tuple[str, Answer]] = OrderedDict()
        self._view: BenchView | None = None

    def read_view(self) -> dict[str, Any]:
        """The view as JSON: ids as text, with their tokens.

        Returns
        -------
        dict
            As `BenchView`; where the bench cannot be read, as it was, with the `problem`.
        """
        problem = ""
        try:
            self._view = self.bench.view()
        except (WealError, OSError) as error:  # such as a store that is closed or out of reach
            problem = str(error)
        if self._view is None:
            return {"problem": problem, "rows": [], "fields": []}
        found = asdict(replace(self._view, rows=()))
        rows = [
            {**asdict(replace(row, id=None)), "id": shown(row.id), "row": self._token(row.id)}
            for row in self._view.rows
        ]
        return {**found, "rows": rows, "problem": problem}

    def _token(self, id_: Hashable) -> str:
        if id_ not in self._tokens:
            self._tokens[id_] = str(len(self._ids))
            self._ids.append(id_)
        return self._tokens[id_]

    def read_report(self) -> dict[str, Any]:
        """The report as JSON.

        Returns
        -------
        dict
            As `LearningReport`; the `problem` alone where there is none.
        """
        try:
            return {**asdict(self.bench.report()), "problem": ""}
        except (WealError, OSError, RuntimeError, ValueError) as error:
            return {"headline": "", "advice": "", "curve": [], "problem": str(error)}

    def answer(self, message: object) -> dict[str, Any]:
        """Do what a message says, once, and give the answer to it.

        Parameters
        ----------
        message : dict
            As above.

        Returns
        -------
        dict
            `to`, the key of the message; `done`; `notice`, or `wrong`, `wrong_fields` (one text
            for each field), `question`, `left` and `row`
            (its token) as in `Answer`.
        """
        given: Mapping[str, Any] = message if isinstance(message, dict) else {}
        key = str(given.get("key", ""))[:MAX_KEY_LETTERS]
        content = json.dumps(given, sort_keys=True, default=str)
        try:
            found = self._answer_once(given, key, content)
        except (WealError, ValueError, TypeError, RuntimeError, OSError) as error:
            found = Answer(wrong=str(error) or type(error).__name__)
        except Exception as error:  # noqa: BLE001  shown in the display, which waits for an answer
            found = Answer(wrong=f"{type(error).__name__}: {error}")
        return self._as_json(key, found)

    def _answer_once(self, given: Mapping[str, Any], key: str, content: str) -> Answer:
        if not key:
            raise ValueError("a message of the widget has no key: run the cell again")
        if key in self._answers:
            before, found = self._answers[key]
            return found if before == content else Answer(wrong=SENT_BEFORE)
        found = self._act(given, key)
        if found.is_done:
            self._answers[key] = (content, found)
            while len(self._answers) > MAX_KEPT_ANSWERS:
                self._answers.popitem(last=False)
        return found

    def _act(self, given: Mapping[str, Any], key: str) -> Answer:
        action = given.get("action")
        if action == "ask":
            return self.bench.ask(_count(given.get("n")), _options(given), key)
        if action == "undo":
            return self.bench.undo(int(given.get("number", 0)))
        note = str(given.get("note", "")).strip()[:MAX_TEXT_LETTERS]
        if action == "tell":
            return self.bench.tell(self._typed(given, note), key)
        if action == "skip":
            return self.bench.skip(self._id(given), note, key)
        if action == "fail":
            return self.bench.fail(self._id(given), note, given.get("accident") is True, key)
        raise ValueError(f"the widget sent {action!r}, which is not an action: run the cell again")

    def _id(self, given: Mapping[str, Any]) -> Hashable:
        token = str(given.get("row"))
        if not token.isdecimal() or int(token) >= len(self._ids):
            raise ValueError("that row is no longer in the form: run the cell again")
        return self._ids[int(token)]

    def _typed(self, given: Mapping[str, Any], note: str) -> TypedLabel:
        id_, values = self._id(given), given.get("values")
        fields = () if self._view is None else self._view.fields
        if not isinstance(values, list) or len(values) != len(fields):
            raise ValueError("the fields of the row have changed: fill in the form again")
        texts = {
            one.quantity: str(text)[:MAX_VALUE_LETTERS]
            for one, text in zip(fields, values, strict=True)
        }
        return TypedLabel(id_, texts, note, given.get("sure") is True)

    def _as_json(self, key: str, found: Answer) -> dict[str, Any]:
        fields = () if self._view is None else self._view.fields
        wrong = [found.wrong_fields.get(one.quantity, "") for one in fields]
        row = None if found.row is None else self._token(found.row)
        plain = asdict(replace(found, row=None))
        return {**plain, "wrong_fields": wrong, "row": row, "to": key, "done": found.is_done}


def _count(n: object) -> int:
    """A number of rows; ValueError says what to write."""
    text = str(n).strip()
    if not text.isdecimal() or not 1 <= int(text) <= MAX_ASK_ROWS:
        raise ValueError(f"the number of rows is {text!r}; write one from 1 to {MAX_ASK_ROWS}")
    return int(text)


def _options(given: Mapping[str, Any]) -> BatchOptionsBody:
    """The options of a batch; empty fields are not given."""
    found: BatchOptionsBody = {}
    if same := str(given.get("same") or ""):
        found["same"] = [same]
    if column := str(given.get("at_most_column") or ""):
        found["at_most"] = {column: _count(given.get("at_most") or 1)}
    if where := str(given.get("where") or "").strip()[:MAX_TEXT_LETTERS]:
        found["where"] = where
    return found
