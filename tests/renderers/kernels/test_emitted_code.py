"""What LLVM made of the kernels: floating-point arithmetic on the machine's widest registers, kernel by kernel.

The sort, binning, the sum over slots and the wandering noise are not covered: no claim about their code is made here.
"""

from __future__ import annotations

import platform
import re
from typing import Any

import llvmlite.binding as llvm
import numba
import pytest
from sceneloom.renderers.images import photometric_kernels
from sceneloom.renderers.kernels import adam
from sceneloom.renderers.kernels.jit import OPTIONS
from sceneloom.renderers.kernels.simd import LANES
from sceneloom.renderers.kernels.warmup import compile_all
from sceneloom.renderers.splats.cpu import blend, harmonics_kernels, projection_kernels

KERNELS = [
    projection_kernels.project_forward,
    projection_kernels.project_backward,
    harmonics_kernels.harmonics_forward,
    harmonics_kernels.harmonics_backward,
    blend.blend_forward,
    blend.blend_backward,
    photometric_kernels.photometric_forward,
    photometric_kernels.photometric_backward,
    adam._adam,
]
ARITHMETIC = re.compile(r"^\s*(?:v?(?:add|sub|mul|div|sqrt|min|max)ps|vfn?m(?:add|sub)\d+ps)\s.*$", re.MULTILINE)
REGISTER = "%zmm" if LANES == 16 else "%ymm" if llvm.get_host_cpu_features().get("avx2") else "%xmm"


@pytest.fixture(scope="module")
def compiled() -> None:
    compile_all()


@pytest.mark.usefixtures("compiled")
@pytest.mark.skipif(platform.machine().lower() not in {"x86_64", "amd64"}, reason="reads x86 assembly")
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.__name__)
def test_arithmetic_fills_the_registers(kernel: Any) -> None:
    assert kernel.signatures
    for signature in kernel.signatures:
        fresh: Any = numba.njit(**OPTIONS)(kernel.py_func)  # Numba cannot show the code of a kernel from the cache
        fresh.compile(signature)
        wide = [line for line in ARITHMETIC.findall(fresh.inspect_asm(signature)) if REGISTER in line]
        assert len(wide) >= 10, f"{signature}: {len(wide)} instructions on {REGISTER}"
