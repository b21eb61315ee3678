"""The statements of random kernels but for matrix products; `random_kernels.Builder` is made of them.

Each method adds statements and gives the name of what they define, or None where nothing was added.
"""

from random_addresses import Addresses
from random_combiners import Combiners
from random_control import Control
from random_elements import Elements
from random_memory import MemoryStatements
from random_reductions import Reductions
from random_shapes import Shapes


class Statements(Addresses, MemoryStatements, Elements, Shapes, Reductions, Combiners, Control):
    PROFILES = {
        "elementwise": dict(load=2, unary=4, binary=5, map=1, slice=1, compare=2, convert=4, store=1, repeat=1),
        "reduce": dict(load=2, binary=3, unary=2, combine=2, reduce=5, extremum_beside_nan=2, scan=2, convert=1, store=1, repeat=1),
        "combine": dict(load=2, binary=2, convert=1, combine=6, map=2, rearrange=1, loop=1, store=1),
        "memory": dict(gathered=1, load=4, repeat=4, reread=2, binary=2, across=2, reduce=1, convert=2, rearrange=2, store=2),
        "scan": dict(load=2, binary=3, scan=5, combine=2, reduce=1, order=2, store=1),
        "shape": dict(load=2, binary=3, across=2, rearrange=6, slice=2, combine=1, reduce=1, store=1, convert=1),
        "dot": dict(load=1, dot=4, binary=2, unary=1, rearrange=1, reduce=1, store=1),
        "scaled": dict(dot_scaled=4, load=1, binary=2, unary=1, rearrange=1, reduce=1, store=1),
        "libdevice": dict(load=2, libdevice=7, binary=2, convert=1, reduce=1, store=1),
        "matmul": dict(matmul=3, gathered=1, dot=1, binary=2, reduce=1, convert=1, unary=1, store=1),
        "matmul_of_blocks": dict(matmul_of_blocks=4, matmul=1, block_load=1, binary=1, reduce=1, store=1),
        "lone_product": dict(binary=2, unary=1, reduce=1, store=1),
        "rounds": dict(),
        "attention": dict(attention=3, binary=1, reduce=1),
        "lone_attention": dict(binary=1, store=1),
        "control": dict(load=3, binary=4, unary=1, loop=4, branch=2, combine=2, reduce=1, scalar=2, store=1),
        "flow": dict(load=2, binary=3, loop=8, branch=3, combine=2, reduce=1, scalar=3, store=2, atomic=1),
        "blocks": dict(
            block_load=5, block_store=1, block_gather=1, load=1, binary=3, across=1, reduce=1, dot=1, loop=1,
            order=1, store=1,
        ),
        "atomic": dict(load=2, binary=2, atomic=5, convert=1, reduce=1),
        "mixed": dict(
            load=3, binary=5, unary=3, compare=2, convert=2, rearrange=3, slice=1, map=1, combine=2, reduce=2, extremum_beside_nan=1, scan=1, dot=1,
            loop=1, branch=1, atomic=1, order=1, store=1, scalar=1, repeat=1, across=1, block_load=1,
        ),
    }  # fmt: skip

    def statements(self, profile, count):
        kinds = dict(self.PROFILES[profile])
        if self.depth > 2:
            for kind in ("loop", "branch", "gathered", "matmul", "matmul_of_blocks", "attention"):
                kinds.pop(kind, None)
        for _ in range(count):
            kind = self.random.choices(list(kinds), list(kinds.values()))[0]
            getattr(self, kind)()
