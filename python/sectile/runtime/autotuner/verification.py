"""Whether all candidates leave the same results, and which are right when they do not.

    check = Verification(runner, True, device)
    check.watch(compiled kernels)            # which arrays are written, and a copy of what they hold
    check.trial(candidate)                   # one run, compared with those before
    for candidate, reason in check.decide(): ...    # those to leave out
    check.restore()                          # arrays as they were

**A trial** begins with the same contents for every candidate. An array that the kernel writes and never reads
is filled with a pattern, so that elements which a candidate does not write show. Any other array holds what
it held before the tuning; ``reset_to_zero`` and hooks do to it what they always do. Then the arrays that the
kernel may write are compared with those of each group of candidates that agreed so far, because blocks of
other sizes add in another order:

    integers, truth values    bit for bit
    floats                    |a - b| <= tolerance * (min(|a|, |b|) + lower quartile of |a|)
                              NaN equals NaN, an infinity equals the same infinity

The tolerance of an array is that of the narrowest float among all arrays of the kernel (`TOLERANCES`), since
what is computed on the way is often rounded to it, and at least 1e-2 where a GPU multiplies fp32 as TF32.
Before a trial, only the first and the last block of a large array and an eighth of each other block get the
pattern, at other places each time; the rest holds the results of the candidate before.

**When candidates disagree**, the first of each group runs twice more, once with its accesses checked and once
on another pattern. Then groups are left out, in this order:

    1. those that go outside their arrays;
    2. those whose results differ from their own of the run before. An array for which this holds of every
       group (random order, atomic counters) is not compared, and the user is warned of that;
    3. those that leave elements unwritten which another group writes, while they write none that the other does
       not: a block that is too small for its row.

If one group remains, it is right. If several remain, no rule decides which of them is: the choice is *doubtful*.
Then the group with most different constants is taken, or the one whose programs together hold most
elements (a block may be too small for its row here, too), or that of the first candidate in the list. A
doubtful choice is not kept on disk, so each process compares and warns anew. Every candidate that is left
out is named in a `TuningWarning`.

**What this cannot see**: results that are wrong in all candidates alike, or within the tolerance, or only for
other inputs than those at hand; a group that writes too much, wrongly, yet inside its arrays (by the third
rule it may even displace the right one); memory that the kernel reaches by an address among its numbers, or
outside of a view that was passed; arrays of libraries other than NumPy, CuPy and torch, and those for whose
copies there is no memory (`Verification.notes` names both).
"""

from __future__ import annotations

import contextlib

from ... import knobs
from ...errors import OutOfBoundsError
from ...language._dtypes import dtype
from ..remarks import ACCESSES
from . import identity
from .arrays import memory_of, named_arrays

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from typing import Any

    from .arrays import Memory
    from .identity import Device
    from .runner import Runner
    from .session import Candidate

#: Some units in the last place; sums of many terms in another order stay well below.
TOLERANCES = {
    "fp64": 1e-8, "fp32": 1e-4, "fp16": 1e-2, "bf16": 5e-2,
    "fp8e4nv": 0.25, "fp8e4b8": 0.25, "fp8e5": 0.5, "fp8e5b16": 0.5,
    "fp8e4b15": 0.25,
}  # fmt: skip
_TF32_TOLERANCE = 1e-2
# Options of that one run only; what overflows on purpose may go on doing so.
_WITH_ASSERTS = {"debug": True, "sanitize_overflow": False, "fatal_asserts": False}
_MOST_GROUPS = 8  # whose results are kept
_SAMPLE = 1 << 14  # elements that show how large an array's numbers are

# NaNs of floats that no computation yields (1.875 where there is none), and integers that are rarely right; two of each.
_PATTERNS = {
    "fp64": (0x7FF8A5A5A5A5A5A5, 0x7FF85A5A5A5A5A5A), "fp32": (0x7FC5A5A5, 0x7FDA5A5A),
    "fp16": (0x7EA5, 0x7E5A), "bf16": (0x7FE5, 0x7FDA),
    "fp8e4nv": (0x7F, 0xFF), "fp8e5": (0x7D, 0x7E), "fp8e4b8": (0x80, 0x7F), "fp8e5b16": (0x80, 0x7F),
    "fp8e4b15": (0x7F, 0xFF),
}  # fmt: skip


def check_option(verify: Any, arg_names: list[str]) -> None:
    """Raises the error that `autotune` documents for a wrong ``verify=``."""

    def is_tolerance(value: Any) -> bool:
        return isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0

    if isinstance(verify, bool) or is_tolerance(verify):
        return
    if not isinstance(verify, dict):
        raise TypeError(
            f"autotune: verify is {verify!r}, not True, False, a tolerance, or a dictionary of them\n"
            f"  help: verify=1e-2 for all arrays, verify={{'out': 1e-2}} to compare 'out' alone"
        )
    for name, value in verify.items():
        if name not in arg_names:
            raise ValueError(
                f"autotune: verify names {name!r}, which is no parameter of the kernel; "
                f"it has {', '.join(arg_names)}"
            )
        if value is not None and not is_tolerance(value):
            raise TypeError(f"autotune: verify[{name!r}] is {value!r}, not a tolerance or None")


class Output:
    """An array that candidates write.

    Attributes:
        name, memory: as the kernel calls it; its elements.
        dtype: as the kernel sees them.
        tolerance: see the module; None for equal bits.
        before: what it held before the tuning.
        start: what it holds before a trial: ``"pattern"``, ``"before"``, or ``"zero"``, by `reset_to_zero`.
    """

    def __init__(self, name: str, memory: Memory, dtype: str, tolerance: float | None) -> None:
        self.name = name
        self.memory = memory
        self.dtype = dtype
        self.tolerance = tolerance
        self.before = memory.copy()
        self.start = "pattern"

    def pattern(self, turn: int) -> int:
        if self.dtype in _PATTERNS:
            return _PATTERNS[self.dtype][turn]
        return int(("a5", "5a")[turn] * self.memory.width, 16)

    def reset(self, turn: int, trial: int | None = None) -> None:
        """Makes ready for a run.

        Args:
            turn: which pattern.
            trial: counts those before, when a part of the pattern will do; None: all of it.
        """
        if self.start == "pattern":
            self.memory.fill(self.pattern(turn), trial)
        elif self.start == "before":
            self.memory.put(self.before)

    def is_touched(self, bits: Any, turn: int) -> Any:
        """For each element whether a trial wrote it, as far as that shows."""
        if self.start == "pattern":
            return bits != self.memory.signed(self.pattern(turn))
        return bits != (self.before if self.start == "before" else 0)

    def scale(self, bits: Any) -> float:
        """The magnitude that a quarter of the elements stay below, of those that were written and are finite
        and not zero: what is small for this array. A few huge numbers, as masks are made of, do not raise it,
        nor do many of them.

        Elements are sampled at equal distances, some `_SAMPLE` of them.
        """
        memory, unwritten = self.memory, self.memory.signed(self.pattern(0))
        part = bits.reshape(-1)[:: max(1, memory.size // _SAMPLE)]
        values = abs(memory.decoded(part, self.dtype))
        counts = memory.is_finite(values) & (values > 0)
        if self.start == "pattern":
            counts = counts & (part != unwritten)
        return memory.quartile(values, counts)

    def unlike(self, left: Any, right: Any, scale: float) -> Any:
        """For each element of two parts whether they differ."""
        memory = self.memory
        same = left == right
        if self.tolerance is None:
            return ~same
        with memory.quiet():
            x, y = memory.decoded(left, self.dtype), memory.decoded(right, self.dtype)
            # With the smaller of both, a number is not near an infinity.
            allowed = memory.smaller(abs(x), abs(y)) * self.tolerance + self.tolerance * scale
            differ = ~(same | (abs(x - y) <= allowed))
            if differ.any():
                both = memory.is_nan(x) & memory.is_nan(y)
                if self.start == "pattern":
                    unwritten = memory.signed(self.pattern(0))
                    both = both & (left != unwritten) & (right != unwritten)
                differ = differ & ~both
        return differ


class Difference:
    """Between the results of two groups.

    Attributes:
        output: the first array in which they differ.
        flat: where, first; an index of the view.
        count: how many of its elements do.
    """

    def __init__(self, output: Output, flat: int, count: int) -> None:
        self.output = output
        self.flat = flat
        self.count = count


class Group:
    """Candidates that agree.

    Attributes:
        members: the first of them is the one whose results are kept.
        results: of each output, by its name.
        fault: why it was left out by itself; "".
        reason: why it was left out; "" while it was not.
    """

    def __init__(self, first: Candidate, results: dict[str, Any]) -> None:
        self.members = [first]
        self.results = results
        self.scales: dict[str, float] = {}
        self.touched: dict[str, Any] = {}
        self.varying: set[str] = set()
        self.fault = ""
        self.reason = ""
        self.is_examined = False


class Verification:
    """See the module.

    Args:
        runner: the launch.
        option: ``verify=`` of `autotune`, not False.
        device: where it runs.

    Attributes:
        groups: what was found so far.
        notes: what is not compared, and why; `alarms` are those that a user has to know of.
        prefers: the candidate that an earlier tuning chose; it is given up for a reason only.
        is_doubtful: whether a choice was made that no rule backs.
        dropped: (candidate, why) of all that were left out.
    """

    def __init__(self, runner: Runner, option: Any, device: Device) -> None:
        self.runner = runner
        self.option = option
        self.device = device
        self.arrays = named_arrays(runner.arguments)
        self.outputs: dict[str, Output] = {}
        self.given_up: set[str] = set()
        self.groups: list[Group] = []
        self.unmatched: list[tuple[Candidate, str]] = []
        self.winner: Group | None = None
        self.prefers: Candidate | None = None
        self.notes: list[str] = []
        self.alarms: list[str] = []
        self.is_doubtful = False
        self.dropped: list[tuple[Candidate, str]] = []
        self.trials: set[str] = set()
        self.without_asserts: set[str] = set()
        self.has_dot = False  # on a GPU
        self.asserts = not self._has_asserts_on() and identity.has_asserts(runner.tuner)

    def _has_asserts_on(self) -> bool:
        kernel = self.runner.tuner.base_fn
        given = self.runner.kwargs.get("debug", getattr(kernel, "debug", None))
        return bool(given) or bool(knobs.runtime.debug)

    # -- what is written ---------------------------------------------------------------------------

    def watch(self, compiled: list[Any]) -> None:
        """Finds out what these write and read, and copies what is not copied yet; before their first run.

        Args:
            compiled: kernels; None for one that is not known before it runs.
        """
        dtypes: dict[str, str] = {}  # by the names that `dtype` has for them
        written: set[str] = set()
        read: set[str] | None = set()
        if self.device.is_gpu:
            texts = [kernel.asm.get("tile", "") for kernel in compiled if kernel is not None]
            self.has_dot = self.has_dot or any("tile.dot" in text for text in texts)
        for kernel in compiled:
            if kernel is None:
                # What it does is not known, and may be products. It sees arrays as they are, or so another says.
                read, written = None, set(self.arrays)
                self.has_dot = self.has_dot or self.device.is_gpu
                dtypes = {**self._own_dtypes(), **dtypes}
                continue
            names = [name for name, _, _ in kernel.arguments]
            dtypes.update(
                (name, dtype(kind.lstrip("*")).name) for name, kind, _ in kernel.arguments
            )
            written.update(name for name, _, is_written in kernel.arguments if is_written)
            for remark in kernel.remarks:
                if ACCESSES.get(remark["kind"], "store") != "store" and read is not None:
                    index = remark["numbers"].get("argument", -1)
                    read = read | {names[index]} if 0 <= index < len(names) else None
        for name in sorted(
            written - set(self.outputs) - self.given_up, key=list(self.arrays).index
        ):
            self._add(name, dtypes)
        self._choose_starts(read)

    def _own_dtypes(self) -> dict[str, str]:
        """The dtypes that the arrays themselves have, of those known here."""
        found = {}
        for name, array in self.arrays.items():
            with contextlib.suppress(ValueError):
                found[name] = dtype(str(array.dtype).removeprefix("torch.")).name
        return found

    def _add(self, name: str, dtypes: dict[str, str]) -> None:
        root = parameter_of(name)
        if isinstance(self.option, dict) and root not in self.option:
            self.given_up.add(name)  # by the user's wish: no note
            return
        try:
            memory = memory_of(self.arrays[name])
            if memory is None:
                kind = type(self.arrays[name])
                return self._give_up(
                    name, f"{kind.__module__}.{kind.__name__} is not a kind known here"
                )
            element = dtypes.get(name, f"int{8 * memory.width}")
            tolerance = self._tolerance(root, element, dtypes)
            self.outputs[name] = Output(name, memory, element, tolerance)
        except Exception as error:  # no memory for a copy, a view of overlapping elements ...
            self._give_up(name, f"it cannot be copied: {type(error).__name__}: {error}")

    def _tolerance(self, root: str, element: str, dtypes: dict[str, str]) -> float | None:
        given = self.option.get(root) if isinstance(self.option, dict) else self.option
        if given is not None and not isinstance(given, bool):
            return float(given) or None
        if element not in TOLERANCES:
            return None
        floats = [TOLERANCES[each] for each in dtypes.values() if each in TOLERANCES]
        return max([TOLERANCES[element], *floats, _TF32_TOLERANCE if self.has_dot else 0.0])

    def _choose_starts(self, read: set[str] | None) -> None:
        """Which arrays may be filled with a pattern: those that nothing reads, under no other name either."""
        hooked = self.runner.tuner.user_pre_hook is not None or any(
            config.pre_hook is not None for config in self.runner.tuner.configs
        )
        places = []
        for name in read or ():
            if name in self.arrays:
                try:
                    places.append(memory_of(self.arrays[name]))
                except Exception:
                    places.append(None)
        zeroed = self.runner.tuner.reset_to_zero
        for name, output in list(self.outputs.items()):
            memory = output.memory
            start = output.start
            if parameter_of(name) in zeroed:
                start = "zero"
            elif (
                read is None
                or hooked
                or any(
                    place is None or (place.start < memory.end and memory.start < place.end)
                    for place in places
                )
            ):
                start = "before"
            if start != output.start and any(name in group.results for group in self.groups):
                self._give_up(name, "some candidates read it, and others do not")
            output.start = start

    def _give_up(self, name: str, why: str) -> None:
        self.outputs.pop(name, None)
        self.given_up.add(name)
        self.notes.append(f"{name} is not compared: {why}")

    def compile(self, candidate: Candidate) -> None:
        """What a trial needs besides the kernel itself; in any thread."""
        if self.asserts:
            try:
                self.runner.compile(candidate.config, **_WITH_ASSERTS)
            except (
                Exception
            ):  # it takes more room, or kernels are sealed: no fault of the candidate
                self.without_asserts.add(candidate.id)

    def give_up_asserts(self, message: str) -> None:
        """For one of them fails with every candidate."""
        self.asserts = False
        self.alarms.append(
            f"an assert fails with every candidate, so none was left out for it: {message}"
        )

    # -- runs --------------------------------------------------------------------------------------

    def trial(self, candidate: Candidate) -> None:
        """Runs a candidate once, and puts it into the group it agrees with.

        Raises:
            what the launch raises.
        """
        self.trials.add(candidate.id)
        if self.asserts and candidate.id not in self.without_asserts:
            self._run(candidate, **_WITH_ASSERTS)
        # Elements of arrays of their own hold nothing that was computed until the first trial is over.
        trial = len(self.trials) if self.groups else None
        self._run(candidate, trial=trial, then=lambda: self._join(candidate))

    def _run(
        self, candidate: Candidate, turn: int = 0, trial: int | None = None, then: Any = None,
        **options: Any,
    ) -> None:  # fmt: skip
        for output in self.outputs.values():
            output.reset(turn, trial)
        runner, config, error = self.runner, candidate.config, None
        runner.prepare(config)
        try:
            runner.launch(config, **options)
            runner.synchronize()
            if then is not None:
                then()
        except Exception as raised:
            error = raised
            raise
        finally:
            runner.finish(config, error)

    def _join(self, candidate: Candidate) -> None:
        difference = None
        for group in self.groups:
            found = self._difference(group)
            if found is None:
                group.members.append(candidate)
                return
            difference = difference or self._told(found, self.groups[0])
        if len(self.groups) >= _MOST_GROUPS:
            self.unmatched.append((candidate, difference or ""))
            return
        results = {}
        for name, output in list(self.outputs.items()):
            try:
                results[name] = output.memory.copy()
            except Exception as error:
                self._give_up(name, f"no memory for its results: {type(error).__name__}: {error}")
        self.groups.append(Group(candidate, results))

    def _difference(self, group: Group, results: dict[str, Any] | None = None) -> Difference | None:
        """Between the results of a group and those given, or what is in the arrays now."""
        for name, output in list(self.outputs.items()):
            if name not in group.results:
                continue
            try:
                other = output.memory.view if results is None else results[name]
                found = self._difference_of(output, group, other)
            except Exception as error:
                self._give_up(name, f"comparing fails: {type(error).__name__}: {error}")
                continue
            if found is not None:
                return found
        return None

    def _difference_of(self, output: Output, group: Group, other: Any) -> Difference | None:
        memory, results = output.memory, group.results[output.name]
        blocks = memory.each(
            lambda begin, left, right: None if memory.are_equal(left, right) else (begin, left, right),
            results, other,
        )  # fmt: skip
        unequal = [block for block in blocks if block is not None]
        if not unequal:
            return None
        if output.tolerance is not None and output.name not in group.scales:
            group.scales[output.name] = output.scale(results)
        scale = group.scales.get(output.name, 0.0)

        def one(begin: int, left: Any, right: Any) -> tuple[int, int]:
            differ = output.unlike(left, right, scale)
            count = int(differ.sum())
            return count, begin + memory.first(differ) if count else 0

        if len(unequal) == len(blocks):
            found = memory.each(one, results, other)
        else:
            found = [one(*block) for block in unequal]
        count = sum(number for number, _ in found)
        return Difference(output, next(at for n, at in found if n), count) if count else None

    def restore(self, only_read: bool = False) -> None:
        """Every array holds what it held before the tuning; or every one that candidates read, which is
        enough while others are still to run."""
        outputs = [o for o in self.outputs.values() if o.start != "pattern" or not only_read]
        if outputs:
            self.runner.synchronize()
        for output in outputs:
            output.memory.put(output.before)
        if outputs:
            self.runner.synchronize()

    # -- which are right ---------------------------------------------------------------------------

    def decide(self) -> list[tuple[Candidate, str]]:
        """The candidates to leave out that were not left out before, each with the reason."""
        known = {candidate.id for candidate, _ in self.dropped}
        rivals = [group for group in self.groups if not group.reason]
        if len(rivals) > 1:
            rivals = self._contest(rivals)
            winner = rivals[0] if len(rivals) == 1 else self._likeliest(rivals)
            self.is_doubtful = self.is_doubtful or len(rivals) > 1
            for group in self.groups:
                if group is not winner and not group.reason:
                    group.reason = group.fault or self._comparison(group, winner)
            rivals = [winner]
        self.winner = rivals[0] if rivals else None
        fresh = [
            (candidate, group.reason)
            for group in self.groups if group.reason
            for candidate in group.members if candidate.id not in known
        ]  # fmt: skip
        fresh += [pair for pair in self.unmatched if pair[0].id not in known]
        self.dropped += fresh
        return fresh

    def _contest(self, rivals: list[Group]) -> list[Group]:
        for group in rivals:
            self._examine(group)
        rivals = [group for group in rivals if not group.fault] or rivals
        varying = set.intersection(*(group.varying for group in rivals))
        for name in sorted(varying & set(self.outputs)):
            self._give_up(name, "every candidate leaves something else there at each run")
            self.alarms.append(self.notes[-1])
        if varying:
            rivals = self._merged(rivals)
        steady = [group for group in rivals if not group.varying - varying]
        if steady:
            for group in rivals:
                if group not in steady:
                    names = ", ".join(sorted(group.varying - varying))
                    group.fault = f"it leaves something else in {names} at each run"
            rivals = steady
        return [
            group for group in rivals
            if not any(self._writes_more(other, group) for other in rivals if other is not group)
        ]  # fmt: skip

    def _examine(self, group: Group) -> None:
        if group.is_examined:
            return
        group.is_examined = True
        candidate = group.members[0]
        try:
            self._run(candidate, then=lambda: self._see_touched(group, 0), check="bounds")
        except OutOfBoundsError as error:
            group.fault = str(error).strip().splitlines()[0]
        except Exception:
            pass  # it shows nothing about the results of a run without checks
        try:
            self._run(candidate, turn=1, then=lambda: self._see_again(group))
        except Exception as error:
            group.fault = f"its second run fails: {str(error).strip().splitlines()[0]}"

    def _see_touched(self, group: Group, turn: int) -> None:
        for name, output in self.outputs.items():
            touched = output.is_touched(output.memory.view, turn)
            # What happens to be the one pattern is not the other.
            earlier = group.touched.get(name)
            group.touched[name] = touched if earlier is None else touched | earlier

    def _see_again(self, group: Group) -> None:
        self._see_touched(group, 1)
        for name, output in list(self.outputs.items()):
            if name not in group.results:
                continue
            memory = output.memory
            now = memory.copy()
            if output.start == "pattern":
                untouched = ~group.touched[name]
                now[untouched] = group.results[name][untouched]
            if self._difference_of(output, group, now) is not None:
                group.varying.add(name)

    def _merged(self, rivals: list[Group]) -> list[Group]:
        """Groups that differ in nothing that is still compared are one."""
        kept: list[Group] = []
        for group in rivals:
            for other in kept:
                if self._difference(other, group.results) is None:
                    other.members += group.members
                    self.groups.remove(group)
                    break
            else:
                kept.append(group)
        return kept

    def _writes_more(self, group: Group, other: Group) -> bool:
        """Whether `group` writes all that `other` writes, and more."""
        more = False
        for name in self.outputs:
            mine, its = group.touched.get(name), other.touched.get(name)
            if mine is None or its is None:
                continue
            if (its & ~mine).any():
                return False
            more = more or bool((mine & ~its).any())
        return more

    def _likeliest(self, rivals: list[Group]) -> Group:
        """The group to prefer where no rule decides which is right."""
        for group in rivals:  # what was chosen before is not given up for a guess
            if group is self.winner or self.prefers in group.members:
                return group

        def reach(candidate: Candidate) -> int:
            elements = self.runner.program_count(candidate.config) or 1
            for value in candidate.config.kwargs.values():
                if isinstance(value, int) and not isinstance(value, bool):
                    elements *= max(value, 1)
            return elements

        return max(
            rivals,
            key=lambda group: (
                len({str(sorted(each.config.kwargs.items(), key=str)) for each in group.members}),
                max(map(reach, group.members)),
                -min(each.index for each in group.members),
            ),
        )

    # -- what is reported of it --------------------------------------------------------------------

    def _comparison(self, group: Group, winner: Group) -> str:
        """The first element that `winner` writes and `group` does not, or else in which they differ."""
        for name, output in self.outputs.items():
            mine, its = winner.touched.get(name), group.touched.get(name)
            if mine is None or its is None or not bool((mine & ~its).any()):
                continue
            left_out = mine & ~its
            flat = output.memory.first(left_out)
            value = output.memory.value_at(winner.results[name], flat, output.dtype)
            return (
                f"{_element(output, flat)} is not written, where {_name(winner)} leaves {value:.6g}"
                f"; so are {int(left_out.sum())} of {output.memory.size} elements"
            )
        found = self._difference(winner, group.results)
        return self._told(found, winner, group.results) if found else ""

    def _told(self, found: Difference, group: Group, results: dict[str, Any] | None = None) -> str:
        output, flat = found.output, found.flat
        bits = output.memory.view if results is None else results[output.name]
        mine = output.memory.value_at(bits, flat, output.dtype)
        its = output.memory.value_at(group.results[output.name], flat, output.dtype)
        return (
            f"{_element(output, flat)} is {mine:.6g}, where {_name(group)} leaves {its:.6g}"
            f"; {found.count} of {output.memory.size} elements differ"
        )


def parameter_of(name: str) -> str:
    """The parameter that an array is, or is an item of."""
    return name.partition("[")[0].partition(".")[0]


def _name(group: Group) -> str:
    return group.members[0].text


def _element(output: Output, flat: int) -> str:
    index = ", ".join(map(str, output.memory.index_of(flat)))
    return f"{output.name}[{index}]" if index else output.name
