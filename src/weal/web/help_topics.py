"""The help of each page: what it shows, what its buttons do, and the words it uses.

`help_page` gives the topic of an address. `templates/help` shows a topic; nothing is loaded from
another host, so the help works offline.
"""

import re
from dataclasses import dataclass

Entry = tuple[str, str]  # a button or a field, and what it does


@dataclass(frozen=True, slots=True)
class Topic:
    """The help of a page."""

    title: str
    shows: tuple[str, ...]  # paragraphs
    actions: tuple[Entry, ...] = ()
    words: tuple[str, ...] = ()  # of WORDS


WORDS: dict[str, str] = {
    "acquisition function": "The rule that scores candidates; the row with the best score is asked "
    "next. “auto” chooses one that fits the goal.",
    "archived": "Listed separately. No rows are asked in an archived campaign, labels are saved, "
    "and nothing is deleted.",
    "campaign": "A table of candidates, the labels so far, and settings.",
    "candidate": "A row of the table: something that could be measured.",
    "goal": "What the labels are for: learn the whole table, find the best rows, or find all rows "
    "above, below or between numbers.",
    "input": "A column that the model predicts from.",
    "interval": "90 of 100 measurements should fall into a 90 % interval.",
    "job": "Work that takes a while, such as reading a table. It continues if its page is closed.",
    "label": "A measured value of a row.",
    "lease": "A row that was asked is reserved for the person who asked, until its label is saved "
    "or the time is over.",
    "model": "A weighted ensemble of Gaussian processes. It is computed from all labels.",
    "permission": "read: see everything; ask: reserve rows; tell: save and correct labels; skip: "
    "mark rows that cannot be measured; manage: everything.",
    "prediction": "The model's estimate for a row that was not measured, with its uncertainty.",
    "random check": "A row that was drawn at random, to test the predictions.",
    "result": "A column that is measured, such as yield. There may be several.",
    "skip": "A skipped row is not suggested until it is restored.",
    "token": "A secret that logs a person or a program in. The store keeps only a digest of it.",
    "uncertainty": "One standard deviation of a prediction.",
}

TOPICS: dict[str, Topic] = {
    "campaigns": Topic(
        "Campaigns",
        ("All campaigns of this store, with their labels, candidates, reserved rows and progress. "
         "Archived campaigns are listed below the others.",),
        (("New campaign", "starts a campaign from a CSV or Excel file."),
         ("Tokens", "shows the permissions; only people who may manage all campaigns see it."),
         ("Open again", "restores an archived campaign to the list."),
         ("Jobs", "lists running and waiting jobs."),
         ("Log out", "ends the session of this browser, or of every browser.")),
        ("campaign", "candidate", "label", "lease", "archived"),
    ),
    "new": Topic(
        "New campaign",
        ("Choose a table with one row for each candidate: CSV, TSV, text or Excel (.xlsx). It may "
         "have title lines, several sheets, units and a decimal comma.",
         "Nothing is saved yet: the next page shows how each column is used."),
        (("Continue", "reads the file and shows its columns."),),
        ("candidate", "input", "result"),
    ),
    "plan": Topic(
        "How the table is used",
        ("Each column with examples, missing cells, its use and its type. Change what is wrong, "
         "press Update, and look again. Nothing is saved before you create the campaign.",
         "A column that was read as ids or left out as a row counter becomes an input when you "
         "choose a type for it, such as number."),
        (("Name of the campaign", "stays; the title can be changed later."),
         ("Column of ids", "names the rows. Without one they are numbered."),
         ("Column to measure", "holds the labels; empty cells are rows to measure."),
         ("Goal", "what the labels are for; it can be changed later."),
         ("Stop when", "a condition at which the page says that you can stop."),
         ("Sheet and line of the column names", "shows the first rows of the file, to choose the "
          "sheet and the line of the column names."),
         ("Change to", "makes a column the id, an input, a result, or leaves it out."),
         ("Use as an input", "includes a column that was left out."),
         ("Merge spellings", "lists the levels of a category, to say which are the same."),
         ("Yes, they are the same", "merges two spellings of a category; Undo separates them "
          "again."),
         ("Update", "reads the table again with your choices."),
         ("Create the campaign", "saves it.")),
        ("goal", "input", "result", "label"),
    ),
    "label": Topic(
        "Label",
        ("The rows that are reserved for you, one in focus, with its inputs, its prediction and "
         "the reason for its choice. Type the measured number and press Enter; the next row "
         "follows. A number far from the prediction is questioned before it is saved.",
         "What you typed is kept in this browser until the server has saved it, also without a "
         "network."),
        (("Ask", "chooses rows and reserves them for you."),
         ("Save", "saves the label and goes to the next row (Enter)."),
         ("Could not be measured", "skips the row (S)."),
         ("The run failed", "saves a failure, from which the model learns where runs fail (F)."),
         ("Undo", "reverts your last action (U)."),
         ("Another row instead", "releases this row and asks for another one."),
         ("Worksheet", "a file or a printed list of your rows, to fill in away from the screen."),
         ("Keys", "lists the keys (?).")),
        ("label", "lease", "prediction", "interval", "random check", "skip"),
    ),
    "worksheet": Topic(
        "Worksheet",
        ("What each line of an uploaded file would do, before anything is saved: new labels, "
         "corrections, repeats, failures, empty lines, and lines with an error.",),
        (("Save", "saves all labels of the file, or none."),
         ("Sheet and line of the column names", "chooses another sheet or header line."),
         ("Print", "prints the rows with an empty column for results.")),
        ("label", "skip"),
    ),
    "watch": Topic(
        "Watch",
        ("The progress of the campaign: the expected error, or the best row so far, with its "
         "interval; how this changed with the labels; whether it is time to stop; and labels that "
         "may be wrong. The page updates when labels arrive.",),
        (("Look at these again", "labels that the others contradict; open one to correct, repeat "
          "or confirm it."),
         ("SVG, PNG, CSV", "download a picture or its numbers.")),
        ("goal", "interval", "model", "acquisition function"),
    ),
    "explore": Topic(
        "Explore",
        ("All candidates with predictions and labels. Search, sort and filter them; open a row for "
         "its history and its nearest measured rows.",),
        (("Show", "applies search, order and filters."),
         ("Filter by prediction and inputs", "limits columns to a range or a level."),
         ("Effects of inputs, and a map", "shows the effect of each input on the prediction."),
         ("Measure this row", "reserves this row for you.")),
        ("prediction", "uncertainty", "interval", "candidate"),
    ),
    "row": Topic(
        "A row",
        ("One candidate: inputs, labels, prediction, the nearest measured rows, why it was asked, "
         "and everything that happened to it.",),
        (("Measure this row", "reserves the row for you."),
         ("Correct, Repeat, Confirm, Withdraw", "change its labels; nothing is deleted from the "
          "history.")),
        ("label", "prediction", "interval", "lease"),
    ),
    "effects": Topic(
        "Effects of inputs",
        ("The prediction against one input, averaged over the other inputs, with a 90 % band; and "
         "a map of two inputs.",),
        (("Show", "draws the chosen inputs."),),
        ("input", "prediction", "interval"),
    ),
    "settings": Topic(
        "Settings",
        ("The settings of the campaign, downloads, more candidates, columns and skipped rows.",),
        (("Title", "is shown in place of the name. The name is part of the history and stays."),
         ("Goal and Stop when", "can be changed at any time; labels are kept."),
         ("Reserve rows for", "how long an asked row stays reserved: 12h, 3d, 2w."),
         ("Download", "labels, predictions, candidates or the history as a file."),
         ("Add candidates", "adds rows with the same columns; you see them before they are saved."),
         ("Copy", "makes another campaign with the same candidates and settings, with or without "
          "labels. Reserved rows stay here."),
         ("Archive", "lists the campaign separately; no rows are asked, labels are saved."),
         ("Restore", "allows a skipped row to be suggested again.")),
        ("acquisition function", "goal", "lease", "skip", "archived"),
    ),
    "tokens": Topic(
        "Who may do what",
        ("All tokens of this store: who has them, what they may do, on which campaigns, and when "
         "they end. A token is shown once, when it is made; the store keeps only its digest.",),
        (("Make a token", "gives a person or a program its own access."),
         ("Limit", "removes permissions or campaigns from a token, or ends it earlier."),
         ("Revoke", "ends a token and its sessions at once, on every server of the store.")),
        ("token", "permission"),
    ),
    "jobs": Topic(
        "Jobs",
        ("Running and waiting jobs, with their stage and percentage. They continue when the page "
         "is closed.",),
        (("Cancel", "ends a job that you started."),),
        ("job",),
    ),
    "session": Topic(
        "Log in and log out",
        ("How this browser is logged in, and until when.",),
        (("Log out this browser", "ends this session."),
         ("Log out every browser", "ends all sessions of the token, as for a lost phone.")),
        ("token",),
    ),
}  # fmt: skip

_ADDRESSES = (  # the first that fits
    (r"/", "campaigns"),
    (r"/new/plan", "plan"),
    (r"/new", "new"),
    (r"/tokens.*", "tokens"),
    (r"/work.*", "jobs"),
    (r"/(logout|login|who)", "session"),
    (r"/c/[^/]+/(bench|ask|tell|print|another|failed|skip)?", "label"),
    (r"/c/[^/]+/(sheet|worksheet).*", "worksheet"),
    (r"/c/[^/]+/watch.*", "watch"),
    (r"/c/[^/]+/explore", "explore"),
    (r"/c/[^/]+/row.*", "row"),
    (r"/c/[^/]+/(effects|map).*", "effects"),
    (r"/c/[^/]+/(settings|add|export|file|unskip|copy|archive).*", "settings"),
)


def help_page(path: str) -> str:
    """The topic of an address; empty where it has none.

    >>> help_page("/c/alloys/bench"), help_page("/new/plan"), help_page("/help/watch")
    ('label', 'plan', '')
    """
    return next((page for shape, page in _ADDRESSES if re.fullmatch(shape, path)), "")
