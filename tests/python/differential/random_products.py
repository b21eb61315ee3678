"""Matrix products of random kernels: single ones, loops over the inner dimension, and attention."""

from error_bounds import is_float
from random_blocks import WHOLE

ROWS = [1, 4, 8, 16, 16, 32, 32, 48, 64, 64, 17, 33, 96, 128]
DEPTHS = [1, 4, 8, 16, 16, 32, 32, 64, 5, 17, 48, 96, 128]
GROUP_ROWS = [64, 64, 64, 64, 128, 128, 256, 192, 320]
# Of columns, beside ROWS: Hopper's instructions have any multiple of 16.
GROUP_COLUMNS = [64, 96, 80, 112, 144, 176, 192, 192, 320]
OPERANDS = [
    "float16",
    "float16",
    "bfloat16",
    "float32",
    "float32",
    "int8",
    "float8e4nv",
    "float8e5",
    "float64",
]
TYPES_BYTES = {
    "float16": 2,
    "bfloat16": 2,
    "float32": 4,
    "int32": 4,
    "int8": 1,
    "float8e4nv": 1,
    "float8e5": 1,
}
# Where a batch, a head or a page begins in an array, in elements: at multiples of 16, and anywhere.
ALIGNED_BATCHES = [
    "pid * 64",
    "pid % 3 * 48",
    "pid * (ld * 16)",
    "ld * pid * 16",
    "(32 + pid * 16)",
    "n // 7 * 16",
]
BATCHES = [*ALIGNED_BATCHES, "pid * ld"]
PRECISIONS = ["ieee", "tf32", "tf32", "tf32x3", "bf16x3", "bf16x6"]


def _listed(texts):
    return "[" + ", ".join(map(str, texts)) + "]"


class Products:
    def extents(self):
        """(M, N, K)"""
        choose = self.random.choice
        # Four warps have instructions of their own, on Hopper, for 64 rows or more.
        is_group = self.case.options["num_warps"] >= 4
        rows = ROWS + GROUP_ROWS * is_group
        while True:
            columns = GROUP_COLUMNS if is_group and self.random.random() < 0.3 else ROWS
            m, n, k = choose(rows), choose(columns), choose(DEPTHS)
            most = min(12288, 2048 * self.case.options["num_warps"] + 4096 * is_group)
            if m * n <= most and m * k <= most and n * k <= most:
                return m, n, k

    def operand_dtype(self):
        """Strict kernels multiply float32 as such, whatever they ask for."""
        is_strict = self.case.numerics == "strict"
        return (
            "float32" if is_strict and self.random.random() < 0.5 else self.random.choice(OPERANDS)
        )

    def operand(self, dtype, shape):
        """The text of an operand."""
        roll = self.random.random()
        if roll < 0.35:
            found = self.pick(lambda t: t.shape == shape and t.dtype == dtype)
            found = found or self.pick(
                lambda t: (
                    t.shape == shape and is_float(t.dtype) and is_float(dtype) and "8" not in dtype
                )
            )
            if found:
                return self.as_dtype(found, dtype)
        transposed = roll > 0.65 and len(shape) == 2
        stored = shape[::-1] if transposed else shape
        source = dtype
        if roll > 0.9:  # converted, as when weights are narrower
            source = {"float16": "int8", "bfloat16": "float16", "float32": "float16"}.get(
                dtype, dtype
            )
        name = self.fresh()
        array = self.array("x", source)
        mask = self.mask(stored)
        text = f"tl.load({array} + {self.random.choice(['', 'pid * 1024 + ', 'k + '])}({self.matrix_index(stored)})"
        text += f", mask={mask}, other=0)" if mask else ")"
        if not self.attempt(f"{name} = {text}"):
            if not self.attempt(f"{name} = tl.load({array} + {self.index_of_rows(stored)})"):
                return None
        if source != dtype:
            name = f"tl.cast({name}, tl.{dtype})"
        return f"tl.trans({name})" if transposed else name

    def matrix_index(self, shape):
        if len(shape) == 3:
            return self.index_of_rows(shape)
        rows, columns = self.along(shape, 0), self.along(shape, 1)
        kind = self.random.choice(["rows", "rows", "columns", "leading"])
        if kind == "leading" and shape[1] <= self.case.scalars["ld"]:
            return f"{rows} * ld + {columns}"
        if kind == "columns":
            return f"{rows} + {columns} * {shape[0]}"
        return f"{rows} * {shape[1]} + {columns}"

    def product_options(self, dtype, depth):
        """(dtype of rhs, text of further arguments, dtype of the result); `depth`: the inner extent."""
        other = dtype
        if "float8" in dtype:
            other = self.random.choice(["float8e4nv", "float8e5"])
            if self.random.random() < 0.5:
                most = self.random.choice([depth, depth // 2, self.random.randint(0, depth)])
                return other, f", max_num_imprecise_acc={most}", "float32"
        if dtype == "float32":
            return (
                other,
                self.random.choice(["", *(f', input_precision="{p}"' for p in PRECISIONS)]),
                "float32",
            )
        if dtype == "float64":
            return other, ", out_dtype=tl.float64", "float64"
        if dtype == "int8":
            return other, ", out_dtype=tl.int32", "int32"
        if dtype == "float16" and self.random.random() < 0.15:
            return other, ", out_dtype=tl.float16", "float16"
        return other, "", "float32"

    def dot(self):
        m, n, k = self.extents()
        dtype = self.operand_dtype()
        batch = ()
        if self.random.random() < 0.1 and m * n <= 1024:
            batch = (self.random.choice([2, 3]),)
        known = self.pick(
            lambda t: len(t.shape) == 2 and t.dtype == "float32" and max(t.shape) <= 128
        )
        if known and not batch and self.random.random() < 0.5:  # chained products
            m, k = self.shape(known)
        right_dtype, options, result = self.product_options(dtype, k)
        left, right = self.operand(dtype, (*batch, m, k)), self.operand(right_dtype, (*batch, k, n))
        if not left or not right:
            return None
        shape = (*batch, m, n)
        accumulator = self.pick(lambda t: t.shape == shape and t.dtype == result)
        roll = self.random.random()
        if roll < 0.2:
            accumulator = f"tl.full({list(shape)}, 1, tl.{result})"
        if accumulator and roll < 0.6:
            return self.define(f"tl.dot({left}, {right}, {accumulator}{options})")
        made = f"tl.dot({left}, {right}{options})"
        return self.define(f"{made} + {accumulator}" if accumulator and roll < 0.8 else made)

    def matmul(self):
        """A loop over the inner dimension, whose end may be masked: what pipelining is for."""
        choose, roll = self.random.choice, self.random.random
        m, n, k = self.extents()
        k = max(k, 4)
        total = self.case.scalars["depth"]
        if total > 6 * k or max(m, n) * max(total, k) > 8192:
            return None
        dtype = choose(OPERANDS)
        right_dtype, options, result = self.product_options(dtype, k)
        left_source = choose(
            [dtype, dtype, dtype, {"float16": "int8", "bfloat16": "int8"}.get(dtype, dtype)]
        )
        a, b = self.array("x", left_source), self.array("x", right_dtype)
        masked = total % k != 0 or roll() < 0.3
        inner, rows, columns = f"tl.arange(0, {k})", f"tl.arange(0, {m})", f"tl.arange(0, {n})"
        turned = roll() < 0.4  # the right operand as [N, K], transposed after the load
        left_index = choose(
            [
                f"{rows}[:, None] * depth + {inner}[None, :]",
                f"{rows}[:, None] + {inner}[None, :] * {m}",
            ]
        )
        left_step = k if "* depth" in left_index else k * m
        if turned:
            right_index = choose(
                [
                    f"{columns}[:, None] * depth + {inner}[None, :]",
                    f"{columns}[:, None] + {inner}[None, :] * {n}",
                ]
            )
            right_step = k if "* depth" in right_index else k * n
        else:
            right_index = choose(
                [
                    f"{inner}[:, None] * {n} + {columns}[None, :]",
                    f"{inner}[:, None] + {columns}[None, :] * depth",
                ]
            )
            right_step = k if "* depth" in right_index else k * n
        names = [self.fresh() for _ in range(7)]
        pa, pb, acc, i, va, vb, wide = names
        base = choose(["", "pid * 256 + ", "k * 16 + "])
        end = choose(["depth"] * 6 + ["tl.cast(depth, tl.int64)", "tl.cast(depth, tl.uint32)"])
        hint = choose(["", "", ", num_stages=1", ", num_stages=4", ", loop_unroll_factor=2"])
        lines = [
            f"{pa} = {a} + {base}({left_index})",
            f"{pb} = {b} + {base}({right_index})",
            f"{acc} = tl.{'zeros(%s' % [m, n] if roll() < 0.7 else 'full(%s, 1' % [m, n]}, tl.{result})",
            f"for {wide} in range(0, {end}, {k}):"
            if roll() < 0.6
            else f"for {wide} in tl.range(0, {total}, {k}{hint}):",
        ]
        left_mask = f", mask=({inner}[None, :] < depth - {i}), other=0" if masked else ""
        where = f"{inner}[None, :]" if turned else f"{inner}[:, None]"
        right_mask = f", mask=({where} < depth - {i}), other=0" if masked else ""
        increments = roll() < 0.5
        # Through a table: where a block lies, or each row of the right operand, is loaded in the round.
        table = choose(["blocks", "rows"]) if not increments and roll() < 0.4 else ""
        block, named = f"{i} // {k}", self.fresh()

        def step(pointer, by):
            return pointer if increments else f"{pointer} + {block} * {by}"

        body = [f"{i} = tl.cast({wide}, tl.int32)"]
        if table == "blocks":
            known = (
                f", mask={i} < {choose(['depth', 'depth - 1'])}, other=1" if roll() < 0.4 else ""
            )
            body.append(f"{named} = tl.load({self.array('x', 'int32')} + {block}{known}) & 3")
            block = named
        right_pointers = step(pb, right_step)
        if table == "rows" and not turned:
            known = f", mask={inner} < depth - {i}, other=0" if masked else ""
            body.append(
                f"{named} = tl.load({self.array('x', 'int32')} + {i} + {inner}{known}) & 31"
            )
            right_pointers = f"{b} + {base}({named}[:, None] * {n} + {columns}[None, :])"
        body += [
            f"{va} = tl.load({step(pa, left_step)}{left_mask})",
            f"{vb} = tl.load({right_pointers}{right_mask})",
        ]
        if left_source != dtype:
            body.append(f"{va} = tl.cast({va}, tl.{dtype})")
        elif dtype in ("float16", "float32") and roll() < 0.2:
            body.append(f"{va} = {va} * 0.5")
        right = f"tl.trans({vb})" if turned else vb
        if roll() < 0.15 and result == "float32":
            body.append(f"{acc} = {acc} * 0.5")
        body.append(
            f"{acc} = tl.dot({va}, {right}, {acc}{options})"
            if roll() < 0.6
            else f"{acc} += tl.dot({va}, {right}{options})"
        )
        if increments:
            body += [f"{pa} += {left_step}", f"{pb} += {right_step}"]
        if not self.attempt(*lines, *("    " + line for line in body)):
            return None
        self.pool.append(acc)
        return acc

    def gathered(self):
        """A sum of rows that a table names, without products of matrices: addresses wait for what is loaded."""
        choose, roll = self.random.choice, self.random.random
        n, d = choose([1, 4, 16, 32, 17]), choose([8, 16, 64, 128, 33])
        total = self.case.scalars["depth"]
        if total > 8 * n:
            return None
        array, table = (
            self.array("x", choose(["float16", "float32", "int8"])),
            self.array("x", "int32"),
        )
        acc, i, rows, value = (self.fresh() for _ in range(4))
        inner, columns = f"tl.arange(0, {n})", f"tl.arange(0, {d})"
        inside = f"{inner} < depth - {i}"
        body = [
            f"{rows} = tl.load({table} + {i} + {inner}, mask={inside}, other=0) & {choose([7, 31])}",
            f"{value} = tl.load({array} + {rows}[:, None] * {d} + {columns}[None, :], mask=({inside})[:, None], other=0)",
            f"{acc} += tl.sum(tl.cast({value}, tl.float32), 0)",
        ]
        if roll() < 0.3:
            body.append(f"{acc} += tl.cast(tl.sum({rows}), tl.float32) * 0.125")
        if roll() < 0.3:  # one number for the round
            body[0] = f"{rows} = (tl.load({table} + {i}) & 7) + {inner}"
        lines = [
            f"{acc} = tl.zeros([{d}], tl.float32)",
            f"for {i} in range(0, depth, {n}):",
            *("    " + line for line in body),
        ]
        if not self.attempt(*lines):
            return None
        self.pool.append(acc)
        return acc

    def matmul_of_blocks(self):
        """The same of blocks of arrays, as descriptors and block pointers read them: what copy engines are for."""
        choose, roll = self.random.choice, self.random.random
        m, n, k = self.extents()
        k = choose([16, 32, 32, 64])
        # All arrays as in a list of products, at addresses that the kernel makes itself.
        self.of_list = self.for_engines and roll() < 0.3
        if self.for_engines and roll() < 0.9:
            m, n = choose([(64, 16), (64, 32), (64, 64), (64, 64), (64, 128), (128, 16), (128, 64)])
        total = self.case.scalars["depth"]
        if total > 6 * k or max(m, n) * max(total, k) > 8192:
            return None
        dtype = choose(["float16", "float16", "bfloat16", "float32", "int8", "float8e4nv"])
        if self.for_engines and roll() < 0.7:
            dtype = choose(["float16", "bfloat16"])
        right_dtype, options, result = self.product_options(dtype, k)
        i, acc, turn = self.fresh(), self.fresh(), self.fresh()
        before, body = [], []

        def operand(side, dtype, rows, columns, moves):
            """The text of a block; axis `moves` is the inner dimension."""
            extents, array = (rows, columns), self.array("x", dtype)
            turned = roll() < 0.4 and (rows >= 16 or columns < 16)
            if turned:
                extents, moves = extents[::-1], 1 - moves
            if extents[1] * TYPES_BYTES[dtype] < 16:
                return None
            lengths = [choose([extents[axis], extents[axis] + 9, 100]) for axis in (0, 1)]
            lengths[moves] = choose(["depth", "depth", str(total), f"depth + {choose([1, 16])}"])
            rows = [128, 128, 256, 144]
            places = ["0", "0", "pid * 16", f"{turn} * {extents[0]}"]
            if not self.of_list and (not self.for_engines or roll() < 0.1):
                rows += [136, 200, 129, "ld + 112"]
                places += ["-3", "5"]
            row = choose(rows)
            start = [choose(places) for _ in (0, 1)]
            start[moves] = i
            shape = f"({lengths[0]}, {lengths[1]})"
            pointer, way = self.fresh(), choose(["descriptor"] * 4 + ["pointer"] * 3 + ["mask"] * 3)
            if self.of_list or (self.for_engines and roll() < 0.7):
                way = "descriptor"
            base = self.loaded(array, dtype, row) if way == "descriptor" else array
            if roll() < 0.25 and not self.of_list:  # from a batch or a head on
                # Descriptors of addresses that might be any promise that these are aligned.
                base = f"({base} + {choose(BATCHES if base == array else ALIGNED_BATCHES)})"
            if way != "mask" and roll() < 0.3 and not self.of_list:
                made, text = self.block_of_batches(
                    pointer, way, base, dtype, extents, lengths, row, start
                )
                before.extend(made)
            elif way == "mask":
                text = self.block_by_pointers(array, extents, lengths, row, start, moves)
            elif way == "descriptor":
                before.append(
                    f"{pointer} = tl.make_tensor_descriptor({base}, {shape}, ({row}, 1), {extents})"
                )
                text = f"{pointer}.load([{start[0]}, {start[1]}])"
            else:
                columns_first = roll() < 0.3
                strides = (1, row) if columns_first else (row, 1)
                places = [
                    f"tl.cast({place}, tl.int64)" if roll() < 0.3 else place for place in start
                ]
                text = (
                    f"tl.load(tl.make_block_ptr({base}, {shape}, ({strides[0]}, {strides[1]}), "
                    f"({places[0]}, {places[1]}), {extents}, (1, 0)), "
                    f"boundary_check={choose([(0, 1), (0, 1), (0,), (1,), ()])}, padding_option='zero')"
                )
            return f"tl.trans({text})" if turned else text

        left, right = operand("a", dtype, m, k, 1), operand("b", right_dtype, k, n, 0)
        if not left or not right:
            return None
        hints = ["", "", ", num_stages=4"]
        hint = choose(hints + [", num_stages=1", ", loop_unroll_factor=2"] * (not self.for_engines))
        body = [f"{acc} = tl.dot({left}, {right}, {acc}{options})"]
        if roll() < 0.15 and result == "float32":
            body.insert(0, f"{acc} = {acc} * 0.5")
        if roll() < 0.2:  # beside a load through pointers
            pointers = f"tl.arange(0, {m})[:, None] * {n} + tl.arange(0, {n})[None, :]"
            body.append(
                f"{acc} += tl.cast(tl.load({self.array('x', 'int8')} + {i} + {pointers}), tl.{result})"
            )
        end = choose(["depth", "depth", str(total)])
        # One tile, whose sum may go on through several rounds, or a tile in each round.
        turns = choose(["", "", "2", "3", "pid % 2, 3", "pid % 3, 3, 2"])
        if self.in_rounds:
            turns = choose(["1", "2", "3", "4", "5", "pid % 3, 7, 2", "pid % 2, 4", "pid % 2"])
        inside = turns and (roll() < 0.4 or "pid" in turns or self.in_rounds)
        kept, made, stores = self.stores_of_blocks(acc, (m, n), result)
        if self.in_rounds and not stores:
            return None
        zeros = f"{acc} = tl.zeros({[m, n]}, tl.{result})"
        heads, ends = [f"for {turn} in range({turns}):" if turns else f"{turn} = 0\nif True:"], []
        if turns and roll() < 0.4:
            heads, ends = self.counting_while(turn, turns)
        lines = [
            *before,
            *made,
            zeros,
            *heads,
            *([f"    {zeros}"] if "pid" in turns or (self.in_rounds and roll() < 0.9) else []),
            f"    for {i} in tl.range(0, {end}, {k}{hint}):",
            *("        " + line for line in body),
            *("    " + line.replace("TURN", turn) for line in stores if inside),
            *ends,
            *(line.replace("TURN", "0") for line in stores if not inside),
        ]
        if self.in_rounds:
            lines = self.around_rounds(lines)
        elif roll() < 0.25:
            lines = [
                *before,
                *made,
                zeros,
                *self.counted_tiles(i, turn, k, end, zeros, body, stores),
            ]
        if not self.attempt(*lines):
            return None
        self.stored.update(kept)
        self.pool.append(acc)
        return acc

    def around_rounds(self, lines):
        """The loop of tiles in a loop around it, as of a list of products, and in branches."""
        choose, roll, group = self.random.choice, self.random.random, self.fresh()
        if roll() < 0.4:
            return lines
        lines = ["    " + line for text in lines for line in text.split("\n")]
        if roll() < 0.4:
            tests = [f"{group} != 1", f"{group} == pid % 3", f"({group} + pid) % 2 == 0"]
            lines = [f"    if {choose(tests)}:", *("    " + line for line in lines)]
        return [f"for {group} in range({choose(['1', '2', '3', 'pid % 3', 'pid + 1'])}):", *lines]

    def counting_while(self, name, numbers):
        """A loop through range(numbers): the lines that it begins with, and those at its body's end."""
        start, end, step = {1: "0, {}, 1", 2: "{}, {}, 1", 3: "{}, {}, {}"}[
            len(bounds := numbers.split(", "))
        ].format(*bounds).split(", ")  # fmt: skip
        tests = [f"{name} < {end}", f"{end} > {name}", f"{name} >= {start} and {name} < {end}"]
        test = self.random.choice(tests)
        return [f"{name} = tl.cast({start}, tl.int32)", f"while {test}:"], [f"    {name} += {step}"]

    def counted_tiles(self, i, turn, k, end, zeros, body, stores):
        """One loop over the steps of several tiles, with a counter and branches at their first and last ones."""
        choose, step, steps = self.random.choice, self.fresh(), self.fresh()
        turns = choose([f"{steps} * {choose([1, 2, 3])}", f"(pid % 2 + 1) * {steps}"])
        first = choose([[f"{turn} += 1"], [f"{turn} += 1", zeros], [f"{turn} = {turn} + 1"]])
        last = [line.replace("TURN", turn) for line in stores] + choose([[zeros], [zeros], []])
        return [
            f"{steps} = (({end} + {k - 1}) // {k})",
            f"{step} = -1",
            f"{turn} = -1",
            f"for {self.fresh()} in range(0, {turns}):",
            f"    {step} = tl.where({step} == {steps} - 1, 0, {step} + 1)",
            f"    if {step} == 0:",
            *("        " + line for line in first),
            f"    {i} = {step} * {k}",
            *("    " + line for line in body),
            *([f"    if {step} == {steps} - 1:"] if last else []),
            *("        " + line for line in last),
        ]

    def loaded(self, array, dtype, row):
        """The array, or an address that might be any: then it, and its rows, begin at multiples of 16 bytes."""
        isAligned = row in (128, 256, 144) and array not in self.case.shifted
        if (self.random.random() < 0.6 and not self.of_list) or not isAligned:
            return array
        return f"tl.cast(tl.cast({array}, tl.int64) + pid // 1000, tl.pointer_type(tl.{dtype}))"

    def block_of_batches(self, pointer, way, base, dtype, extents, lengths, row, start):
        """What makes a descriptor, and the text of a block, of an array with one to three more axes, along which the
        block has extent one, and which it loses by a reshape."""
        choose = self.random.choice
        axes = [(extent, length, stride, place) for extent, length, stride, place in zip(extents, lengths, (row, 1), start)]  # fmt: skip
        for _ in range(choose([1, 1, 2, 3])):
            length, stride = choose([1, 2, 3, "(pid + 1)"]), choose([16, 32, 48, 1024])
            places = ["0", "pid % 2", "pid % 3", "1", "-1", "pid - 1"]
            axes.insert(self.random.randrange(len(axes)), (1, length, stride, choose(places)))
        block, shape, strides, places = ([axis[number] for axis in axes] for number in range(4))
        if way == "descriptor":
            made = [
                f"{pointer} = tl.make_tensor_descriptor({base}, {_listed(shape)}, {_listed(strides)}, {block})"
            ]
            text = f"{pointer}.load({_listed(places)})"
        else:
            order = list(reversed(range(len(axes))))
            made, text = (
                [],
                (
                    f"tl.load(tl.make_block_ptr({base}, {_listed(shape)}, {_listed(strides)}, {_listed(places)}, {block}, "
                    f"{order}), boundary_check={order}, padding_option='zero')"
                ),
            )
        if self.random.random() < 0.2:  # the other axes keep their order
            order = sorted(range(len(axes)), key=lambda axis: (block[axis] != 1, axis))
            text = f"tl.trans({text}, {', '.join(map(str, order))})"
        if self.random.random() < 0.2:
            text = f"tl.cast(tl.cast({text}, tl.float32), tl.{dtype})"
        return made, f"tl.reshape({text}, {list(extents)})"

    def block_by_pointers(self, array, extents, lengths, row, start, moves):
        """The text of a load of a block through pointers and masks, as Triton's tutorials write it, or with numbers
        of other widths, which wrap elsewhere."""
        choose = self.random.choice
        masks, indices = [], []
        areWide = choose([False, False, True])

        def cast(number, bits):
            number = f"(pid * 0 + {number})" if str(number).lstrip("-").isdigit() else number
            return f"tl.cast({number}, tl.int{bits})"

        for axis in (0, 1):
            along = f"tl.arange(0, {extents[axis]})" + ("[:, None]", "[None, :]")[axis]
            first, bound = start[axis], lengths[axis]
            if axis != moves:
                narrow = cast(f"({first} + {choose([0, 60, 100, 120])})", 8)
                narrow = choose([narrow, f"({narrow} + {narrow})"])
                first = choose([first, first, first, cast(narrow, 32)])
            index = f"{first} + {along}"
            beyond = choose(["", "", " + 4294967296", " + tl.cast(depth, tl.int64) * 1073741824"])
            wide = f"({cast(first, 64)}{beyond}) + {cast(along, 64)}"
            place = choose([wide, wide, cast(index, 64)]) if areWide else index
            kind = choose(["same", "same", "index", "left", "none"] + ["modulo"] * (axis != moves))
            if kind == "same":
                masks.append(f"({place} < {cast(bound, 64) if areWide else bound})")
            elif kind == "index":
                masks.append(choose([f"({index} < {bound})", f"({wide} < {cast(bound, 64)})"]))
            elif kind == "left":
                left = f"{bound} - ({first})"
                left = choose([left] * 4 + [cast(cast(left, 8), 32)])
                masks.append(f"({along} < {left})")
            elif kind == "modulo":
                place = f"({place}) % {cast(bound, 64) if areWide else f'({bound})'}"
            indices.append(f"({place})")
        masks = f", mask={' & '.join(masks)}, other=0" if masks else ""
        row = cast(row, 64) if areWide else f"({row})"
        columns, base = indices[1], array
        # Of a batch, a head, a page: with the array's address, or the column's number.
        if self.random.random() < 0.4:
            batch = choose(BATCHES)
            if choose([True, False]):
                base = f"{array} + {batch}"
            else:
                columns = f"({cast(f'({batch})', 64) if areWide else batch} + {columns})"
        return f"tl.load({base} + {indices[0]} * {row} + {columns}{masks})"

    def stores_of_blocks(self, tile, extents, result):
        """Stores of a tile to blocks of an output, one or two, by all ways to say that; in a loop they have its round.
        What is stored then, lines to stand before loops, and the stores."""
        choose, roll = self.random.choice, self.random.random
        m, n = extents
        dtype = choose([result, "float16", "float16", "bfloat16", "float32", "int8"])
        row = choose([64, 128, 256])
        rows = WHOLE // row  # of a program
        if (
            (roll() < 0.3 and not self.of_list)
            or self.stored.get(dtype)
            or n > row
            or m > rows
            or n * TYPES_BYTES[dtype] < 16
        ):
            return {}, [], []
        array = self.array("o", dtype)
        value = tile if dtype == result else f"tl.cast({tile}, tl.{dtype})"
        down = choose([f"{self.case.programs * rows}", f"{rows}", "40", "depth + 100"])
        across = choose([str(n), str(row), str(max(1, n - 3)), "depth"])
        across = across if across != "depth" or self.case.scalars["depth"] <= row else str(row)
        name, way = (
            self.fresh(),
            choose(["descriptor", "descriptor", "pointer", "mask", "mask", "free"]),
        )
        made, stores = [], []
        if self.of_list:
            way, row = "descriptor", max(row, 128)
            rows = WHOLE // row
        isBatch = (
            way == "descriptor" and roll() < 0.3 and not self.of_list
        )  # of an array that has an axis for programs
        if isBatch:
            made.append(
                f"{name} = tl.make_tensor_descriptor({self.loaded(array, dtype, row)}, "
                f"({self.case.programs}, {min(rows, 40)}, {across}), ({rows * row}, {row}, 1), {(1, *extents)})"
            )
        elif way == "descriptor":
            made.append(
                f"{name} = tl.make_tensor_descriptor({self.loaded(array, dtype, row)}, ({down}, {across}), "
                f"({row}, 1), {extents})"
            )
        for step in choose([[0], [0], [0, 0], [0, m], [0, n]]):
            moved = f" + TURN * {m}" if m * 4 <= rows and roll() < 0.3 else ""
            i = f"pid * {rows} + {step if step == m else 0}{moved}"
            j = f"{step if step == n else 0}"
            if (step == m and 5 * m > rows) or (step == n and 2 * n > row) or (step and m == n):
                continue
            if isBatch:
                i = f"{step if step == m else 0}{moved}"
                whole = choose([f"tl.reshape({value}, {[1, *extents]})", f"({value})[None, :, :]"])
                stores.append(f"{name}.store([pid, {i}, {j}], {whole})")
            elif way == "descriptor":
                stores.append(f"{name}.store([{i}, {j}], {value})")
            elif way == "pointer":
                stores.append(
                    f"tl.store(tl.make_block_ptr({array}, ({down}, {across}), ({row}, 1), ({i}, {j}), {extents}, "
                    f"(1, 0)), {value}, boundary_check=(0, 1))"
                )
            else:
                down_index, across_index = (
                    f"({i} + tl.arange(0, {m}))",
                    f"({j} + tl.arange(0, {n}))",
                )
                mask = f", mask=({down_index}[:, None] < {down}) & ({across_index}[None, :] < {across})"
                stores.append(
                    f"tl.store({array} + {down_index}[:, None] * {row} + {across_index}[None, :], {value}"
                    f"{mask if way == 'mask' else ''})"
                )
        return {dtype: WHOLE}, made, stores

    def attention(self):
        """Two products in a loop, the second of what becomes of the first one's sums: with running maxima and sums
        between them, or simpler things."""
        choose, roll = self.random.choice, self.random.random
        tall = [64, 64, 128] * (self.case.options["num_warps"] >= 4)
        m, d, n = choose([16, 32, 64, 17, *tall]), choose([16, 32, 64, 48]), choose([16, 32, 64])
        total = self.case.scalars["depth"]
        # Groups of warps, each with products of its own, that a multiprocessor with little shared memory has room
        # for once: there a thread beside the program may start the copies.
        of_groups = self.for_engines or roll() < 0.25
        if of_groups:
            self.case.options["num_warps"] = 8
            m, d, n = 128, choose([32, 64]), choose([16, 32, 64, 48, 80])
        if total * d > 8192 or total > 6 * n:
            return None
        dtype = choose(
            ["float16", "float16", "bfloat16", "float32", "float8e4nv"][
                : 3 if self.for_engines else 5
            ]
        )
        x = self.array("x", dtype)
        q, top, norm, acc, j, key, value, s, p, new, old, turn = (self.fresh() for _ in range(12))

        def grid(rows):
            return f"tl.arange(0, {rows})[:, None] * {d} + tl.arange(0, {d})[None, :]"

        precision = ', input_precision="ieee"' if dtype == "float32" else ""
        of_fp8 = dtype == "float8e4nv"
        of_blocks = roll() < (0.9 if of_groups else 0.4) and not of_fp8
        masked = not of_blocks and (total % n != 0 or roll() < 0.3)
        mask = f", mask=tl.arange(0, {n})[:, None] < depth - {j}, other=0" if masked else ""
        hidden = masked or (of_blocks and total % n != 0) or roll() < 0.2
        keys, values = self.fresh(), self.fresh()
        lines = [f"{q} = tl.load({x} + {choose(['', 'pid * 512 + '])}({grid(m)}))"]
        if self.for_engines and roll() < 0.7:
            queries = self.fresh()
            rows = 512 // d  # from program to program
            lines = [
                f"{queries} = tl.make_tensor_descriptor({x}, ({m + 6 * rows}, {d}), ({d}, 1), ({m}, {d}))",
                f"{q} = {queries}.load([pid * {rows}, 0])",
            ]
        if of_blocks:  # rows behind the last one are zeros
            lines += [
                f"{name} = tl.make_tensor_descriptor({x}, ({rows}, {d}), ({d}, 1), ({n}, {d}))"
                for name, rows in ((keys, "depth"), (values, f"{-(-1024 // d)} + depth"))
            ]
            loads = [f"{keys}.load([{j}, 0])", f"{values}.load([{-(-1024 // d)} + {j}, 0])"]
        else:
            loads = [
                f"tl.load({x} + {start}{j} * {d} + ({grid(n)}){mask})" for start in ("", "1024 + ")
            ]
        if of_fp8 and roll() < 0.8:  # values along the depth, as Hopper's products want them
            turned = f"tl.arange(0, {d})[:, None] * {total} + ({j} + tl.arange(0, {n}))[None, :]"
            inside = f", mask=tl.arange(0, {n})[None, :] < depth - {j}, other=0" if masked else ""
            loads[1] = f"tl.trans(tl.load({x} + 1024 + {turned}{inside}))"
        hint = choose(["", "", ", num_stages=1", ", num_stages=2", ", num_stages=4"])
        end = choose(["depth", "depth", str(total)])
        # The sums may go on through several rounds of a loop around.
        around = choose(["", "", "2", "pid % 2, 3"][: 2 if self.for_engines else 4])
        lines += [
            f'{top} = tl.full([{m}], -float("inf"), tl.float32)',
            f"{norm} = tl.zeros([{m}], tl.float32)",
            f"{acc} = tl.{choose(['zeros(%s' % [m, d], 'full(%s, 1' % [m, d]])}, tl.float32)",
            f"for {turn} in range({around}):" if around else "if True:",
            f"    for {j} in tl.range(0, {end}, {n}{hint}):",
            f"        {key} = {loads[0]}",
            f"        {s} = tl.dot({q}, tl.trans({key}){precision}) * 0.125",
        ]
        if roll() < 0.5:  # of numbers of rows and columns: true everywhere in some rounds
            row, column = f"tl.arange(0, {m})[:, None]", f"({j} + tl.arange(0, {n}))[None, :]"

            def seen():
                shift = self.random.randrange(-64, 160)
                return f"({row} + {shift} {choose(['>=', '>', '<', '<='])} {column})"

            seen_too = choose(["", "", f" & {seen()}", f" | {seen()}"])
            lines.append(f"        {s} = tl.where({seen()}{seen_too}, {s}, {choose([-8.0, 0.5])})")
        if roll() < 0.7:
            if hidden:
                lines.append(
                    f'        {s} = tl.where(tl.arange(0, {n})[None, :] < depth - {j}, {s}, -float("inf"))'
                )
            lines += [
                f"        {new} = tl.maximum({top}, tl.max({s}, axis=1))",
                f"        {p} = tl.{choose(['exp', 'exp2'])}({s} - {new}[:, None])",
                f"        {old} = tl.exp({top} - {new})",
                f"        {norm} = {norm} * {old} + tl.sum({p}, axis=1)",
                f"        {top} = {new}",
            ]
            scaled = f"{acc} * {old}[:, None]"
        else:  # nothing is carried but the sums
            between = choose([f"{s} * 0.0625", f"tl.maximum({s}, 0.0)", f"tl.abs({s} - 1.0)"])
            lines.append(f"        {p} = {between}")
            scaled = choose([acc, acc, f"{acc} * 0.5"])
        # What rounds do not look at, which threads combine behind the loop.
        carried = [self.fresh() for _ in range(choose([0, 0, 1, 2]))]
        for each in carried:
            axis, extent = choose([(0, n), (1, m), (None, 1)])
            of_axis, of_all = (f", axis={axis}", f"[{extent}]") if axis is not None else ("", "[1]")
            first, update = choose(
                [
                    ("0.0", f"{each} + tl.sum({p}{of_axis})"),
                    ("0.0", f"{each} * 0.5 + tl.sum({p}{of_axis})"),
                    ("-4.0", f"tl.maximum({each}, tl.max({p}{of_axis}))"),
                    ("4.0", f"tl.minimum(tl.min({p}{of_axis}), {each})"),
                ]
            )
            lines.insert(0, f"{each} = tl.full({of_all}, {first}, tl.float32)")
            lines.append(f"        {each} = {update}")
        lines.append(f"        {value} = {loads[1]}")
        product = f"tl.cast({p}, tl.{dtype}), {value}"
        lines += choose(
            [
                [
                    f"        {acc} = {scaled}",
                    f"        {acc} = tl.dot({product}, {acc}{precision})",
                ],
                [f"        {acc} = tl.dot({product}, {scaled}{precision})"],
                [f"        {acc} = {scaled} + tl.dot({product}{precision})"],
            ]
        )
        if not self.attempt(*lines):
            return None
        self.pool += [norm, acc, *carried]
        return self.define(f"{acc} / ({norm} + 1)[:, None]")
