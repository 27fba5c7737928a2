"""The few errors of our own; wrong arguments raise ValueError or TypeError."""


class WealError(Exception):
    """Anything weal itself refuses to do."""


class UnreadableFile(WealError, ValueError):
    """A file that weal did not write, or that was damaged since."""
