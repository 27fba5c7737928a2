"""The callback type of progress, which is that of the whole package (`weal.progress`)."""

from weal.progress import Progress as Progress
