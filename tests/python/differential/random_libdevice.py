"""Functions of libdevice in random kernels: arguments in their domains, special values among them."""

import bounded_libdevice as reference

# How arguments of any size come into the domain.
INTO = {
    "tgamma": "tl.abs({}) * 0.125 + 0.5",
    "lgamma": "tl.abs({}) + 0.25",
    "erfc": "{} * 0.5",
    "normcdf": "{} * 0.5",
    "erfcx": "{} * 0.25",
    "rcbrt": "tl.abs({}) + 0.25",
    "exp10": "{} * 0.125",
    "expm1": "{} * 0.25",
    "log1p": "tl.abs({})",
    "log10": "tl.abs({}) + 0.25",
    "sinh": "{} * 0.25",
    "cosh": "{} * 0.25",
    "tan": "{} * 0.125",
    "asin": "{} * 0.0625",
    "acos": "{} * 0.0625",
    "acosh": "tl.abs({}) + 1.0",
    "atanh": "{} * 0.0625",
    "cyl_bessel_i0": "{} * 0.5",
    "pow": "tl.abs({}) * 0.5 + 0.125",
    "rhypot": "tl.abs({}) + 0.25",
    "rnorm3d": "tl.abs({}) + 0.25",
    "rnorm4d": "tl.abs({}) + 0.25",
}
SPECIAL = [
    "0.0",
    "-0.0",
    "1.0",
    "-1.0",
    "0.5",
    'float("inf")',
    '-float("inf")',
    "7.888609052210118e-31",
    "3e9",
]


class LibdeviceCalls:
    def libdevice(self):
        """Several calls: many an argument is outside of a domain."""
        for _ in range(3):
            self.libdevice_call()

    def libdevice_call(self):
        choose, roll = self.random.choice, self.random.random()
        if roll < 0.15:
            return self.libdevice_of_integers()
        name = None
        if self.random.random() < 0.7:  # most functions take exact numbers
            name = self.pick(
                lambda t: t.shape and t.dtype in ("float32", "float64") and t.is_exact()
            )
        name = name or self.load(dtype=choose(["float32", "float32", "float64"]))
        if not name:
            return None
        if self.random.random() < 0.3:
            name = self.with_special_values(name) or name
        if roll < 0.25:
            return self.libdevice_with_integers(name)
        if roll < 0.45:
            function = choose([*reference.EXACT, "round"])
            count = reference.EXACT.get(function, (1,))[0]
        elif roll < 0.6:
            function = choose(list(reference.SEVERAL))
            count = reference.ARGUMENTS.get(function, 2)
        else:
            function, count = choose(list(reference.FUNCTIONS)), 1
        first = name
        if function in INTO and self.random.random() < 0.85:
            first = INTO[function].format(name)
        others = [self.same_kind(name) for _ in range(count - 1)]
        return self.define(f"libdevice.{function}({', '.join([first, *others])})")

    def same_kind(self, name):
        """Text of a further argument."""
        tile = self.of(name)
        other = self.pick(lambda found: found.shape == tile.shape and found.dtype == tile.dtype)
        return self.random.choice([name, other or name, f"{name} + 1.0", f"{name} * 0.5"])

    def with_special_values(self, name):
        shape = self.shape(name)
        if not shape:
            return None
        value = self.random.choice(SPECIAL)
        d = self.random.randrange(len(shape))
        place = f"{self.along(shape, d)} == {self.random.randrange(shape[d])}"
        return self.define(f"tl.where({place}, {value}, {name})")

    def libdevice_with_integers(self, name):
        choose = self.random.choice
        if self.dtype(name) == "float32" and self.random.random() < 0.5:
            function = choose(list(reference.TO_INT))
            return self.define(f"libdevice.{function}({name}{choose(['', ' * 0.5', ' * 1e9'])})")
        if self.random.random() < 0.3:
            return self.define(f"libdevice.ilogb({name})")
        shape = self.shape(name)
        exponent = self.pick(lambda tile: tile.shape == shape and tile.dtype == "int32")
        text = f"({exponent} & 15) - 7" if exponent else f"tl.full({list(shape)}, 3, tl.int32)"
        return self.define(f"libdevice.{choose(['ldexp', 'scalbn'])}({name}, {text})")

    def libdevice_of_integers(self):
        name = self.pick(lambda tile: tile.shape and tile.dtype == "int32")
        name = name or self.load(dtype="int32")
        if not name:
            return None
        function = self.random.choice(list(reference.INTEGERS))
        tile = self.of(name)
        other = self.pick(lambda found: found.shape == tile.shape and found.dtype == "int32")
        others = [other or name] if reference.INTEGERS[function][0] == 2 else []
        return self.define(f"libdevice.{function}({', '.join([name, *others])})")
