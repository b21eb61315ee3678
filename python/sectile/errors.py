"""What can go wrong, by whose fault it is.

SectileError
 ├─ ArgumentError       the call is wrong (also a TypeError): an argument, a keyword, the grid
 │   ├─ IntegerRangeError   an integer beyond 64 bits (also an OverflowError)
 │   └─ GridKeyError    a grid function asks its dictionary for what is not in it (also a KeyError)
 ├─ CompilationError    the kernel is wrong; `diagnostics` show where and how to put it right
 │   ├─ CompileTimeAssertionFailure    a static_assert failed
 │   └─ UnsupportedLanguageConstruct   Python that kernels do not have
 ├─ LaunchError         the kernel stopped itself
 │   ├─ OutOfBoundsError       a checked access outside the argument arrays
 │   └─ DeviceAssertionError   a device_assert that failed
 ├─ TuningError         a configuration would have to be measured where that cannot be
 ├─ InternalError       the compiler is wrong; `reproducer` is the file to attach to a report
 └─ MachineError        the machine is wrong: a library is missing, no memory
     └─ OutOfResources         the kernel needs more than the device has
"""

from __future__ import annotations

from ._notebook import with_cells

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from typing import Any


class SectileError(Exception):
    """Base of all errors raised by Sectile."""

    # Shown as users import it, not by the file it happens to be in.
    __module__ = "sectile"


TritonError = SectileError  #: for programs written for Triton


class ArgumentError(SectileError, TypeError):
    """A kernel was called wrongly: an argument is missing, unknown, of the wrong kind; a bad grid."""

    __module__ = "sectile"


class IntegerRangeError(ArgumentError, OverflowError):
    """An integer argument does not fit into 64 bits."""

    __module__ = "sectile"


class GridKeyError(ArgumentError, KeyError):
    """A grid function asked its dictionary for a name that is not in it."""

    __module__ = "sectile"
    __str__ = Exception.__str__  # KeyError's shows the text as a literal


class Diagnostic:
    """One thing that is wrong with a kernel.

    Attributes:
        severity: ``"error"``, ``"warning"`` or ``"note"``.
        message: lower case, subject first.
        file, line, column, end_line, end_column: where; counted from 1; 0 when not known.
        function: the kernel or helper it is in.
        help: the remedy; may be empty.
        source_line: the text of that line; may be empty.
        callers: ``(function, (file, line, column, end_line, end_column))``, innermost first.
    """

    __slots__ = (
        "severity", "message", "file", "line", "column", "end_line", "end_column", "function", "help",
        "source_line", "callers",
    )  # fmt: skip

    def __init__(self, severity, message, place, function, help, source_line, callers) -> None:
        self.severity: str = severity
        self.message: str = message
        self.file, self.line, self.column, self.end_line, self.end_column = place
        self.function: str = function
        self.help: str = help
        self.source_line: str = source_line
        self.callers: list = callers

    def __repr__(self) -> str:
        return f"<{self.severity} {self.file}:{self.line}:{self.column}: {self.message}>"


class CompilationError(SectileError):
    """The kernel cannot be compiled. ``str(error)`` shows the source with a caret.

    Attributes:
        diagnostics: list of `Diagnostic`, one per thing that is wrong.
    """

    __module__ = "sectile"

    def __init__(self, text: str, diagnostics: list[Diagnostic] | None = None) -> None:
        super().__init__(text)
        self.diagnostics = list(diagnostics or [])

    @property
    def error_message(self) -> str:
        """The first message alone; with `sectile.as_triton` Triton's words for it."""
        words = self.__dict__.get("words")
        return words if words else self.diagnostics[0].message if self.diagnostics else str(self)


class CompileTimeAssertionFailure(CompilationError):
    """A ``tl.static_assert`` failed."""

    __module__ = "sectile"


class UnsupportedLanguageConstruct(CompilationError):
    """The kernel has a statement or expression of Python's that kernels do not have."""

    __module__ = "sectile"


def compilation_error(text: str, diagnostics: list[Diagnostic]) -> CompilationError:
    """Returns an error of the class that fits the first diagnostic."""
    text = with_cells(text)
    message = diagnostics[0].message if diagnostics else ""
    kind = CompilationError
    if message.startswith("static assertion failed"):
        kind = CompileTimeAssertionFailure
    elif message.endswith("not supported in a kernel"):
        kind = UnsupportedLanguageConstruct
    error = kind(text, diagnostics)
    if companion is not None:
        companion(error)
    return error


#: With `sectile.as_triton`: adds the words of Triton's to an error of a kernel, and its cause.
companion: Any = None
#: The same of a wrong call: from its text the error of a class of Triton's, or None.
call_companion: Any = None


def call_error(text: str) -> ArgumentError:
    """Returns the error of a wrong call."""
    error = call_companion(text) if call_companion is not None else None
    return error if error is not None else ArgumentError(text)


class LaunchError(SectileError, RuntimeError):
    """The kernel stopped itself while it ran."""

    __module__ = "sectile"

    def __init__(self, text: str = "") -> None:
        super().__init__(with_cells(text))


class OutOfBoundsError(LaunchError, IndexError):
    """With ``check="bounds"``: an access outside the argument arrays, which was not carried out."""

    __module__ = "sectile"


class DeviceAssertionError(LaunchError, AssertionError):
    """A ``tl.device_assert`` failed."""

    __module__ = "sectile"


class TuningError(SectileError, RuntimeError):
    """A configuration would have to be measured, and that is forbidden here or failed elsewhere."""

    __module__ = "sectile"


class TuningWarning(RuntimeWarning):
    """A candidate of `autotune` failed, or left other results than the others, and was left out; candidates
    disagree and no rule decides which are right; or the key names what is no parameter."""

    __module__ = "sectile"


class InternalError(SectileError, RuntimeError):
    """The compiler failed on a kernel that may well be right; please report it.

    Attributes:
        reproducer: path of a file that shows the failure, or ``""``.
    """

    __module__ = "sectile"

    def __init__(self, text: str, reproducer: str = "") -> None:
        super().__init__(text)
        self.reproducer = reproducer


class MachineError(SectileError, RuntimeError):
    """Something outside the program is missing or full; the message has the remedy."""

    __module__ = "sectile"


class OutOfResources(MachineError):
    """The kernel needs more registers or shared memory than the device has.

        OutOfResources("what was not enough")
        OutOfResources(required, limit, "shared memory")

    Attributes:
        required, limit, name: how much of what; None where only the text has it.
    """

    __module__ = "sectile"

    def __init__(self, required, limit=None, name: str | None = None) -> None:
        is_text = limit is None and name is None
        super().__init__(
            required
            if is_text
            else f"out of resource: {name}, Required: {required}, Hardware limit: {limit}. Reducing "
            "block sizes or `num_stages` may help."
        )
        self.required = None if is_text else required
        self.limit = limit
        self.name = name

    def __reduce__(self):
        if self.name is None and self.limit is None:
            return type(self), self.args
        return type(self), (self.required, self.limit, self.name)


class InterpreterError(SectileError):
    """For programs that catch Triton's. Never raised: on the CPU kernels are compiled, too."""

    __module__ = "sectile"


def with_article(noun: str) -> str:
    """``"an int"``, ``"a str"``: a noun in a message."""
    return f"{'an' if noun[:1] in tuple('AEIOUaeiou') else 'a'} {noun}"


def launch_error_class(message: str) -> type[LaunchError]:
    """Which class fits a kernel that stopped with `message`."""
    if "out of bounds" in message or "outside" in message:
        return OutOfBoundsError
    if "assert" in message:
        return DeviceAssertionError
    return LaunchError
