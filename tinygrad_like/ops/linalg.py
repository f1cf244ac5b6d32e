"""`ops.linalg`: linear algebra of matrices in the last two axes; the axes before them are batches."""

# ruff: noqa: F401
from .least_squares import lstsq, pinv
from .matrices import (
    cholesky,
    cholesky_solve,
    det,
    eigh,
    eigvalsh,
    inv,
    logabsdet,
    qr,
    slogdet,
    solve,
    solve_matrices,
    solve_triangular,
    svd,
    svdvals,
)
from .norms import matrix_norm, norm, vector_norm
from .products import cross, vecdot
from .triangles import cholesky_inverse, lu, lu_factor, lu_unpack
