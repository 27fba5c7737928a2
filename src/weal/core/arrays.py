"""What an array is here: numpy, floating, its shape in a trailing comment."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]  # float32 where a docstring says so
