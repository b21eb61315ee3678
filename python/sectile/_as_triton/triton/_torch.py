"""What torch asks of Triton's IR, answered from what the compiler knows of the kernel."""


def adapt_when_imported():
    pass
