"""One configuration of a kernel."""

from __future__ import annotations

from ... import _native

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

#: The counts of the table of launch options, which `Config.__init__` names one by one, and one for
#: Triton's programs.
OPTIONS = (*(name for name, kind, *_ in _native.launch_options() if kind == "count"), "ir_override")


class Config:
    """One configuration: values of the kernel's constants and launch options.

    Args:
        kwargs: values of ``tl.constexpr`` parameters, by name.
        num_warps, num_stages, num_ctas, maxnreg: launch options.
        pre_hook: called with the dictionary of arguments before each launch with this configuration.
        ir_override: as a launch option: None, or an error.
        waves_per_eu, matrix_instr_nonkdim: launch options for AMD's GPUs; `kwargs` may have them, too.

    Example:
        configs = [st.Config({"BLOCK": 256}, num_warps=4), st.Config({"BLOCK": 1024}, num_warps=8)]
        print(configs[0].kwargs, configs[1].num_warps)  # {'BLOCK': 256} 8
    """

    def __init__(
        self,
        kwargs: dict[str, Any],
        num_warps: int = 4,
        num_stages: int = 3,
        num_ctas: int = 1,
        maxnreg: int | None = None,
        pre_hook: Callable | None = None,
        ir_override: str | None = None,
        waves_per_eu: int | None = None,
        matrix_instr_nonkdim: int | None = None,
    ) -> None:
        if not isinstance(kwargs, dict):
            raise TypeError(
                f"Config: expected a dictionary of constants, found {kwargs!r}\n"
                f'  help: st.Config({{"BLOCK": 256}}, num_warps=4)'
            )
        self.kwargs = dict(kwargs)
        self.num_warps = num_warps
        self.num_stages = num_stages
        self.num_ctas = num_ctas
        self.maxnreg = maxnreg
        self.pre_hook = pre_hook
        self.ir_override = ir_override
        self.waves_per_eu = waves_per_eu
        self.matrix_instr_nonkdim = matrix_instr_nonkdim

    def all_kwargs(self) -> dict[str, Any]:
        """What a launch with this configuration passes besides the arguments."""
        options = {name: getattr(self, name) for name in OPTIONS}
        return {
            **self.kwargs,
            **{name: value for name, value in options.items() if value is not None},
        }

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Config)
            and self.all_kwargs() == other.all_kwargs()
            and self.pre_hook is other.pre_hook
        )

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        return ", ".join(f"{name}: {value}" for name, value in self.all_kwargs().items())

    def __repr__(self) -> str:
        return f"<Config {self}>"


_GPU_OPTIONS = ("num_warps", "num_stages", "num_ctas")


def distinct_texts(configs: list[Config], kind: str) -> tuple[str, dict[Config, str]]:
    """What all candidates have in common, and what distinguishes each from the others.

    On the CPU, where they change nothing, `num_warps`, `num_stages` and `num_ctas` are named only by
    candidates that nothing else distinguishes.

    Args:
        kind: of the device: ``"cpu"``, ``"cuda"`` or ``"hip"``.
    """
    settings = {config: config.all_kwargs() for config in configs}

    def texts(hidden: tuple[str, ...]) -> dict[Config, str]:
        return {
            config: ", ".join(f"{n}: {v}" for n, v in values.items() if n not in hidden)
            for config, values in settings.items()
        }

    hidden = _GPU_OPTIONS if kind == "cpu" else ()
    if len(set(texts(hidden).values())) < len(settings):
        hidden = ()
    first = next(iter(settings.values()))
    common = [
        name
        for name, value in first.items()
        if len(configs) > 1
        and all(name in other and other[name] == value for other in settings.values())
    ]
    if kind == "cpu":
        hidden = (*hidden, *(name for name in common if name in _GPU_OPTIONS))
    shown = ", ".join(f"{name}: {first[name]}" for name in common if name not in hidden)
    return shown, texts((*hidden, *common))
