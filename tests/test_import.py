import subprocess
import sys


def test_to_import_the_package_takes_numpy_only():
    """numba takes longer to import than all else together; it is there when the first kernel is named."""
    code = ("import sys, numpy; before = set(sys.modules); import tinygrad_like; "
            "print(sorted({m.partition('.')[0] for m in set(sys.modules) - before} "
            "& {'numba', 'llvmlite', 'ml_dtypes', 'mpi4py', 'nn', 'optim'}))")
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
