"""The table that benchmarks print row by row and write into benchmarks/results."""


class Table:
    """Rows of what was measured, the figure, the bar, and whether that was met.

    Args:
        widths: of the first three columns, as they are printed.
    """

    def __init__(self, *widths):
        self.widths = widths
        self.rows = []

    def add(self, what, figure, bar="", met=None):
        row = (what, figure, bar, "" if met is None else "yes" if met else "NO")
        self.rows.append(row)
        print(
            "  " + " ".join(f"{text:<{width}}" for text, width in zip(row, (*self.widths, 0))),
            flush=True,
        )

    def markdown(self):
        head = "| what | measured | bar | met |\n|---|---|---|---|\n"
        return head + "".join("| " + " | ".join(row) + " |\n" for row in self.rows)
