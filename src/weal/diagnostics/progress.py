"""How far a long computation is: a function of the caller's, called now and then."""

from collections.abc import Callable

Progress = Callable[[str, int, int], object]  # what is being done, how far, of how many
