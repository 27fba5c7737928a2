"""The bench in a notebook: `learner.widget()` and `campaign.widget()`.

    protocol        the seam: what a widget needs of a learner, a campaign or a server
    typed_labels    labels that were typed, read and judged
    learner_report  what the labels of a learner have taught
    learner_bench   a learner behind that seam; `campaign.notebook_bench` is a campaign
    messages        what a display sends, and the answers
    widget          the anywidget that a notebook shows, with bench.js and bench.css

The object in Python is the only state: a display shows what it says and sends messages, so that a
second display, and labels told in another cell, agree with it. Needs the extra `widget`.
"""
