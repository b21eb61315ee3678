"""The compiler's remarks on accesses to memory (`lang/README.md`), by their kinds."""

#: What each is of; those of other names are asynchronous.
ACCESSES = {
    "load": "load", "store": "store", "atomic": "atomic",
    "async-copy": "load", "tensor-copy": "load", "tensor-store": "store",
}  # fmt: skip
