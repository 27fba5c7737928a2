"""Ctrl-C at the n-th call of one of our functions: the same place in every run, on any machine.

A signal by the clock comes anywhere, also into a callback of the garbage collector or of another
library, where an exception is not raised but printed; and it never comes to the same place twice.
"""

import gc
import sys
from pathlib import Path

import weal

OURS = str(Path(weal.__file__).parent) + "/"


def ctrl_c():
    raise KeyboardInterrupt


class Interrupt:
    """Raises KeyboardInterrupt, or does the deed, at the n-th call of ours; counts them.

    With `since`, the first one that counts is the first call of a function of that name.
    """

    def __init__(self, n, since=None, deed=ctrl_c):
        self.n, self.since, self.deed, self.calls = n, since, deed, 0

    def __call__(self, frame, event, arg):
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(OURS):
            self.calls += bool(self.calls) or self.since in (None, code.co_name)
            if self.calls == self.n:
                self.deed()

    def during(self, work):
        """Whether the work was interrupted, by an exception that reached us."""
        collecting = gc.isenabled()
        gc.disable()  # it would close forgotten generators of ours at any moment
        sys.setprofile(self)
        try:
            work()
        except KeyboardInterrupt:
            return True
        finally:
            sys.setprofile(None)
            if collecting:
                gc.enable()
        return False


def calls_of(work, rehearsal, learner, since=None):
    """How many calls of ours work(learner) makes once a rehearsal has imported what it needs."""
    work(rehearsal)
    count = Interrupt(-1, since)
    assert not count.during(lambda: work(learner))
    return count.calls
