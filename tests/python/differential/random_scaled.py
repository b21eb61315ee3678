"""Products of matrices in block-scaled formats (`tl.dot_scaled`) in random kernels."""

FORMATS = ["e2m1", "e2m1", "e4m3", "e5m2", "bf16", "fp16"]
ARRAYS = {"bf16": "bfloat16", "fp16": "float16", "e4m3": "float8e4nv", "e5m2": "float8e5"}
NO_TOP_EXPONENT = 0xBF  # neither an infinity nor a NaN of fp8


class ScaledProducts:
    def dot_scaled(self):
        choose, roll = self.random.choice, self.random.random
        m, n, k = (
            choose([1, 16, 16, 32, 48, 64, 17]),
            choose([8, 16, 32, 64, 33]),
            choose([32, 32, 64, 96, 128]),
        )
        if m * n > min(8192, 2048 * self.case.options["num_warps"]):
            return None
        formats = choose(FORMATS), choose(FORMATS)
        along_k = [
            f != "e2m1" or outer % 2 == 1 or roll() < 0.5 for f, outer in zip(formats, (m, n))
        ]
        left = self.scaled_operand(formats[0], (m, k), 1 if along_k[0] else 0)
        right = self.scaled_operand(formats[1], (k, n), 0 if along_k[1] else 1)
        scales = [self.scales(outer, k) for outer in (m, n)]
        accumulator = self.pick(lambda t: t.shape == (m, n) and t.dtype == "float32")
        if roll() < 0.3:
            accumulator = f"tl.full([{m}, {n}], 2, tl.float32)"
        options = f", {accumulator}" if accumulator and roll() < 0.6 else ""
        if roll() < 0.2:
            options += ", fast_math=True"
        options += "".join(
            f", {side}_k_pack=False" for side, along in zip(("lhs", "rhs"), along_k) if not along
        )
        return self.define(
            f'tl.dot_scaled({left}, {scales[0]}, "{formats[0]}", {right}, {scales[1]}, "{formats[1]}"{options})'
        )

    def scaled_operand(self, name, shape, packed):
        """The text of a matrix, of e2m1 with two numbers to a byte along the dimension `packed`."""
        from_bits = name in ("e4m3", "e5m2") and self.random.random() < 0.5
        stored = list(shape)
        if name == "e2m1":
            stored[packed] //= 2
        array = self.array("x", "uint8" if from_bits or name == "e2m1" else ARRAYS[name])
        base = self.random.choice(["", "pid * 512 + ", "k * 8 + "])
        text = f"tl.load({array} + {base}({self.matrix_index(tuple(stored))}))"
        return f"{text} & {NO_TOP_EXPONENT}" if from_bits else text

    def scales(self, rows, inner):
        """The text of factors between 2^-3 and 2^4, or of none."""
        if self.random.random() < 0.35:
            return "None"
        array = self.array("x", "uint8")
        base = self.random.choice(["", "n + ", "pid * 64 + "])
        return f"(tl.load({array} + {base}({self.matrix_index((rows, inner // 32))})) & 7) + 124"
