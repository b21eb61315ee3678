"""Shapes, indices and masks of random kernels, wherever tiles are read and written. A part of `random_kernels.py`."""

EXTENTS = [1, 2, 3, 4, 5, 7, 8, 16, 16, 17, 32, 33, 48, 64, 96, 100, 128]
LONG = [128, 256, 257, 500, 512, 768, 1000, 1024, 2048, 4096]
LARGEST = 4096  # elements of a tile; 1024 for each warp, or compiling takes seconds


def size(shape):
    product = 1
    for extent in shape:
        product *= extent
    return product


def is_power_of_two(number):
    return number & (number - 1) == 0


class Addresses:
    def new_shape(self):
        while True:
            if self.random.random() < 0.15:
                shape = (self.random.choice(LONG),)
            else:
                rank = self.random.choice([1, 1, 2, 2, 2, 3])
                shape = tuple(self.random.choice(EXTENTS) for _ in range(rank))
            if size(shape) <= min(LARGEST, 1024 * self.case.options["num_warps"]):
                return shape

    def tile(self, test=lambda tile: True):
        return self.pick(lambda tile: tile.shape and test(tile)) or self.load()

    @staticmethod
    def along(shape, d):
        where = ", ".join(":" if e == d else "None" for e in range(len(shape)))
        return f"tl.arange(0, {shape[d]})" + (f"[{where}]" if len(shape) > 1 else "")

    def index(self, shape, injective):
        """(an int32 expression of that shape, all different where `injective`; the greatest value + 1)"""
        choose = self.random.choice
        kind = choose(
            ["rows", "rows", "rows", "rows", "columns", "reverse", "strided", "leading", "permuted",
             "downward"]
        )  # fmt: skip
        order = list(range(len(shape)))
        if kind == "columns":
            self.random.shuffle(order)
        strides, stride = {}, choose([2, 3]) if kind == "strided" else 1
        for d in reversed(order):
            strides[d] = stride
            stride *= shape[d]
        leading = self.case.scalars["ld"]
        if kind == "leading" and len(shape) == 2 and shape[1] <= leading:
            text = f"{self.along(shape, 0)} * ld + {self.along(shape, 1)}"
            return text, shape[0] * leading
        terms = []
        for d in range(len(shape)):
            factor = f" * {strides[d]}" if strides[d] != 1 else ""
            terms.append(self.along(shape, d) + factor)
        text = " + ".join(terms)
        if kind == "reverse":
            text = f"{stride - 1} - ({text})"
        if kind == "downward":  # a stride of the launch, which is negative
            steps = -self.case.scalars["down"]
            return f"({text}) * down + {(stride - 1) * steps}", (stride - 1) * steps + 1
        if kind == "permuted" and not injective:
            return f"(({text}) * {choose([3, 5, 77])}) % 8192", 8192
        if not injective and self.random.random() < 0.25:  # an index that wraps
            return self.wrapped_index(text)
        return text, stride

    def wrapped_index(self, text):
        """(an index that starts again somewhere, as bits of a number or the rest of a division do; its limit)"""
        choose = self.random.choice
        kind = choose(["bytes", "negative", "negative", "bits", "around"])
        if kind == "bytes":
            return self.wrapped(f"{text} + {choose([0, 1, 128, 250])}"), 256
        if kind == "negative":  # truncating, the rest of a negative number is negative
            period = choose([3, 16, 48, 64, 100, 256])
            start = choose(["- 1024", "- 16 * n", "- k * 64", "- n", "+ k", "- 5"])
            rest = choose(["%", "%", "//"])
            shift = period if rest == "%" else 2048 // period + 1
            return f"({text} {start}) {rest} {period} + {shift}", 1 << 13
        if kind == "bits":  # some bits, as a number with a sign or without
            width = choose([4, 6, 8])
            up = f"({text} + {choose([0, 7, 64])})"
            if choose([True, False]):
                return f"(({up} << {32 - width}) >> {32 - width}) + {1 << width - 1}", 1 << width
            return (
                f"tl.cast((tl.cast({up}, tl.uint32) << {32 - width}) >> {32 - width}, tl.int32)",
                1 << width,
            )
        # Beyond the greatest number and back, in one type or two.
        top = choose([2147483647, 2147483632, 2147480000])
        if choose([True, False]):
            return f"({text} + {top}) - {top}", 1 << 13
        return f"(({text} + {top}) & {choose([63, 255, 1023])})", 1024

    def wrapping_mask(self, shape):
        """A comparison of sums that wrap, or come close to it."""
        choose = self.random.choice
        d = self.random.randrange(len(shape))
        i, operator = self.along(shape, d), choose(["<", "<=", ">", ">=", "==", "!="])
        bound = choose(["n", "k", str(self.random.randint(0, shape[d]))])
        top = choose([2147483647, 2147483640, 2147483647 - shape[d] // 2, 255, -2147483648])
        j = self.along(shape, self.random.randrange(len(shape)))
        return choose(
            [
                f"({i} + {top} {operator} {j} + {choose([255, 0, 2147483647])})",
                f"({i} + {top} {operator} {bound})",
                f"(tl.cast({i} + {top}, tl.int64) {operator} tl.cast({bound}, tl.int64))",
                f"(({i} + {top}) // {choose([4, 16, 3])} {operator} {choose([0, -134217728, 134217727])})",
                f"(({i} - {choose([5, 16, 64])}) % {choose([3, 8, 48])} {operator} {choose([0, -1, 2])})",
                f"(tl.minimum({i} + {top}, {i}) {operator} {bound})",
            ]
        )

    def wrapped(self, text):
        """Of an int32 expression what bytes keep, and bytes compute: 0 to 255."""
        choose = self.random.choice
        kind = choose(["tl.uint8", "tl.uint8", "tl.int8"])
        text = f"tl.cast({text}, {kind})"
        if choose([True, False]):
            text = f"({text} {choose(['+', '*', '-'])} tl.cast({choose([1, 3, 100])}, {kind}))"
        return f"tl.cast({text}, tl.int32)" + (" + 128" if kind == "tl.int8" else "")

    def unsigned_mask(self, shape, bound):
        """0 <= i < bound as it is written with one comparison, and its likes at the ends of the type."""
        choose = self.random.choice
        i = self.along(shape, self.random.randrange(len(shape)))
        kind = choose(["tl.uint32", "tl.uint64"])
        number = f"tl.cast({i} - {choose([0, 1, 3, 16])}, {kind})"
        if choose([True, False]):
            number = f"({number} + tl.cast({choose([0, 5, 2**31 - 7])}, {kind}))"
        return f"({number} {choose(['<', '<=', '>', '>='])} tl.cast({bound}, {kind}))"

    def mask(self, shape):
        kind = self.random.choice(
            ["none", "none", "none", "prefix", "row", "odd", "value", "both", "scalar", "unsigned",
             "wrapping"]
        )  # fmt: skip
        if kind == "none" or not shape:
            return None
        d = self.random.randrange(len(shape))
        bound = self.random.choice(["n", "k", str(self.random.randint(0, shape[d]))])
        prefix = f"({self.along(shape, d)} < {bound})"
        if kind == "row":
            return f"({self.along(shape, 0)} < {bound})"
        if kind == "unsigned":
            return self.unsigned_mask(shape, bound)
        if kind == "wrapping":
            return self.wrapping_mask(shape)
        if kind == "odd":
            return f"(({self.along(shape, d)} * 7) % 3 != 1)"
        if kind == "scalar":
            return f"({prefix} & (n > {self.random.randint(0, 40)}))"
        if kind == "both":
            return f"({prefix} & ({self.along(shape, len(shape) - 1)} >= 1))"
        if kind == "value":
            value = self.pick(lambda tile: tile.shape == shape and tile.dtype in ("int32", "int1"))
            if value:
                return value if self.dtype(value) == "int1" else f"({value} > 3)"
        return prefix

    def index_of_rows(self, shape):
        stride, terms = 1, []
        for d in reversed(range(len(shape))):
            terms.append(f"{self.along(shape, d)} * {stride}")
            stride *= shape[d]
        return "(" + " + ".join(terms) + ")"
