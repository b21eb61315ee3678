"""What code is made for, and the options of a compile."""

from enum import Enum

from sectile.as_triton import missing
from sectile.runtime.driver import GPUTarget


class Language(Enum):
    TRITON = 0
    GLUON = 1


class BaseBackend:
    """The compiler for one kind of device."""

    backend = "cpu"
    binary_ext = "so"
    supports_native_tensor_specialization = True
    #: Of options that Triton's programs read.
    defaults = {
        "num_warps": 4, "num_stages": 3, "num_ctas": 1, "warp_size": 32, "maxnreg": None, "cluster_dims": (1, 1, 1),
        "enable_fp_fusion": True, "launch_cooperative_grid": False, "launch_pdl": False, "debug": False,
        "supported_fp8_dtypes": ("fp8e5", "fp8e4nv", "fp8e4b15"), "deprecated_fp8_dot_operand_dtypes": (),
        "default_dot_input_precision": "tf32", "allowed_dot_input_precisions": ("tf32", "tf32x3", "ieee", "bf16x3", "bf16x6"),
        "max_num_imprecise_acc_default": None, "extern_libs": (), "sanitize_overflow": False, "ir_override": None,
        "global_scratch_size": None, "profile_scratch_size": None,
    }  # fmt: skip

    def __init__(self, target):
        self.target = target

    @classmethod
    def supports_target(cls, target):
        return target.backend == cls.backend

    def hash(self):
        """A text that differs between builds and targets."""
        from sectile import build_id

        return f"{build_id()}-{self.target}"

    def parse_options(self, options):
        """The options of a compile, with those that are not given."""
        return Options(
            {**self.defaults, "backend_name": self.backend, "arch": self.target.arch, **options}
        )

    @staticmethod
    def parse_attr(text):
        return [["tt.divisibility", 16]] if "D" in text else []

    @staticmethod
    def get_int_specialization(arg, **kwargs):
        return "D" if arg % 16 == 0 and kwargs.get("align", False) else ""

    @staticmethod
    def get_tensor_specialization(arg, **kwargs):
        return "D" if arg.data_ptr() % 16 == 0 and kwargs.get("align", False) else ""


class Options:
    def __init__(self, options):
        self.__dict__.update(options)

    def hash(self):
        return "-".join(f"{name}={value}" for name, value in sorted(self.__dict__.items()))


class CPUBackend(BaseBackend):
    pass


__getattr__ = missing(__name__)
