"""3D Gaussian splatting on the CPU with the functional interface of gsplat 1.5.

    from sceneloom.renderers.splats.cpu import rasterization

takes and returns what `gsplat.rasterization` does. Its halves are here too: `fully_fused_projection`,
`spherical_harmonics` and `rasterize_to_pixels`. The table in `rasterization`'s docstring says what each argument does.
"""

from .harmonics import spherical_harmonics
from .projection import fully_fused_projection
from .rasterize import rasterize_to_pixels
from .rendering import rasterization

__all__ = ["fully_fused_projection", "rasterization", "rasterize_to_pixels", "spherical_harmonics"]
