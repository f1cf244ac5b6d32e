"""`ops.linalg`: linear algebra of matrices in the last two axes; the axes before them are batches."""

from .matrices import (
    cholesky,
    cholesky_solve,
    eigh,
    eigvalsh,
    inv,
    lstsq,
    pinv,
    qr,
    solve,
    solve_triangular,
    svd,
    svdvals,
)
from .norms import matrix_norm, norm, vector_norm
from .products import cross, vecdot
from .triangles import lu, lu_factor, lu_unpack

__all__ = [
    "cholesky", "cholesky_solve", "cross", "eigh", "eigvalsh", "inv", "lstsq", "lu", "lu_factor", "lu_unpack",
    "matrix_norm", "norm", "pinv", "qr", "solve", "solve_triangular", "svd", "svdvals", "vecdot", "vector_norm",
]
