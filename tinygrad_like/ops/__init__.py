"""Every op, each with its VJP beneath it; the files go from easy to hard, in the order below.

An op is called on Tensors (and recorded) or on arrays (and is then just its forward).
"""

from .elementwise import *  # noqa: F403
from .index import *  # noqa: F403
from .shape import *  # noqa: F403
from .reduce import *  # noqa: F403
from .matmul import *  # noqa: F403
from .activation import *  # noqa: F403
from .softmax import *  # noqa: F403
from .loss import *  # noqa: F403
