"""A random kernel's Python source as C++ source of the same program.

    cpp_kernel(case.source, case.name)   # "kernel("kernel_7", {"x_int32", "n"}, [](Ptr<i32> x_int32, i32 n) {...})"

Every operation becomes a statement of its own, in the order in which Python evaluates them (C++ leaves that
of arguments open), and every assignment a variable of its own; what a body assigns is carried, in the order in
which the Python front end carries it. What C++ has no spelling for raises `Untranslatable`.
"""

import ast

TYPES = {
    "int1": "i1", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64",
    "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64",
    "float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64",
    "float8e4nv": "f8e4m3", "float8e5": "f8e5m2", "float8e4b15": "f8e4m3b15",
}  # fmt: skip
OPERATORS = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "/", ast.Mod: "%",
    ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>",
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
    ast.USub: "-", ast.Invert: "~",
}  # fmt: skip
# Operations whose positional arguments are the same in both languages.
PLAIN = """program_id num_programs arange exp exp2 log log2 sin cos tanh erf sqrt sqrt_rn rsqrt floor ceil abs
sigmoid div_rn umulhi fdiv fma minimum maximum where cdiv expand_dims broadcast_to reshape flip join split
interleave gather sum max min argmax argmin xor_sum softmax debug_barrier multiple_of""".split()
ATOMICS = ["add", "max", "min", "and", "or", "xor", "xchg", "cas"]


class Untranslatable(Exception):
    """The kernel uses what the C++ front end does not have."""


def assigned_names(statements):
    """Names in order of their first assignment, those of nested bodies too."""
    names = []
    for statement in statements:
        targets = []
        if isinstance(statement, ast.Assign):
            targets = statement.targets
        elif isinstance(statement, (ast.AugAssign, ast.For)):
            targets = [statement.target]
        for target in targets:
            names += [item.id for item in ast.walk(target) if isinstance(item, ast.Name)]
        for body in ("body", "orelse"):
            names += assigned_names(getattr(statement, body, []))
    return list(dict.fromkeys(names))


def is_cheap(node):
    """A comparison of variables and numbers, which has no effects."""
    parts = (ast.Compare, ast.Name, ast.Constant, ast.operator, ast.cmpop, ast.expr_context)
    return all(isinstance(part, parts) for part in ast.walk(node))


def tuple_of(names):
    return f"std::tuple{{{', '.join(names)}}}"


class Writer:
    """The statements of one kernel. `scope`: what a Python name is called in C++, and its version."""

    def __init__(self, helpers):
        self.helpers = helpers
        self.lines, self.depth, self.count, self.version = [], 1, 0, 0
        self.loops = []  # of each, the depth of its body and what it carries
        self.scope = {}

    # -- text and names

    def emit(self, text):
        self.lines.append("  " * self.depth + text)

    def fresh(self, name="t"):
        self.count += 1
        return f"{name}_{self.count}"

    def bind(self, name, cpp):
        self.version += 1
        self.scope[name] = (cpp, self.version)

    def define(self, text):
        name = self.fresh()
        self.emit(f"Value {name} = {text};")
        return name

    # -- expressions: each gives the name of a variable, or a literal

    def expression(self, node):
        match node:
            case ast.Constant(value=bool() | None):
                return {True: "true", False: "false", None: "none"}[node.value]
            case ast.Constant(value=str()):
                return f'"{node.value}"'
            case ast.Constant(value=int(number)) if number >= 2**63:
                return f"{number}u"
            case ast.Constant():
                return repr(node.value)
            case ast.Name():
                return self.scope[node.id][0]
            case ast.Attribute(attr=attr) if attr in TYPES:
                return f"dtypeOf<{TYPES[attr]}>"
            case ast.List() | ast.Tuple():
                return "{" + ", ".join(self.expression(item) for item in node.elts) + "}"
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=2147483648)):
                return "(-2147483647 - 1)"  # 2147483648 alone has 64 bits in C++
            case ast.UnaryOp(
                op=ast.USub(), operand=ast.Constant() | ast.Call(func=ast.Name(id="float"))
            ):
                return "-" + self.expression(node.operand)
            case ast.UnaryOp() if type(node.op) in OPERATORS:
                return self.define(OPERATORS[type(node.op)] + self.expression(node.operand))
            case ast.BinOp():
                left, right = self.expression(node.left), self.expression(node.right)
                if isinstance(node.left, ast.Constant) and isinstance(node.right, ast.Constant):
                    raise Untranslatable("arithmetic of literals")
                return self.define(f"{left} {OPERATORS[type(node.op)]} {right}")
            case ast.Compare(ops=[operator], comparators=[other]):
                left = self.expression(node.left)
                return self.define(f"{left} {OPERATORS[type(operator)]} {self.expression(other)}")
            case ast.BoolOp(values=sides) if all(map(is_cheap, sides)):  # Python computes both, too
                sign = " && " if isinstance(node.op, ast.And) else " || "
                return self.define(sign.join(map(self.expression, sides)))
            case ast.Subscript(slice=ast.Tuple(elts=places)):
                value = self.expression(node.value)
                return self.define(f"{value}[{{{', '.join(map(self.place, places))}}}]")
            case ast.Subscript():
                return self.define(f"{self.expression(node.value)}[{self.place(node.slice)}]")
            case ast.Call():
                return self.call(node)
        raise Untranslatable(ast.unparse(node))

    def place(self, node):
        """One part of an index."""
        if not isinstance(node, ast.Slice):
            return self.expression(node)
        bounds = [
            "none" if bound is None else self.expression(bound)
            for bound in (node.lower, node.upper, node.step)
        ]
        if bounds[2] == "none":
            bounds.pop()
        return "all" if bounds == ["none", "none"] else f"slice({', '.join(bounds)})"

    def call(self, node):
        if isinstance(node.func, ast.Name) and node.func.id == "float":
            return node.args[0].value
        if not isinstance(node.func, ast.Attribute):
            raise Untranslatable(ast.unparse(node))
        name = node.func.attr
        if ast.unparse(node.func.value) == "libdevice" and not node.keywords:
            return self.define(f"{name}({', '.join(map(self.expression, node.args))})")
        if ast.unparse(node.func.value) != "tl":
            raise Untranslatable(ast.unparse(node))
        text = self.call_text(name, node)
        return text if text.startswith("{") else self.define(text)

    def call_text(self, name, node):
        """The call, its arguments evaluated."""
        helpers = [a.id for a in node.args if isinstance(a, ast.Name) and a.id in self.helpers]
        given = [
            "helper" if isinstance(a, ast.Name) and a.id in self.helpers else self.expression(a)
            for a in node.args
        ]
        named = {keyword.arg: self.expression(keyword.value) for keyword in node.keywords}

        def call(function, *arguments):
            if named:
                raise Untranslatable(f"{name}({', '.join(named)}=)")
            return f"{function}({', '.join(arguments)})"

        def hints():
            options = [
                f".{k} = {named.pop(k)}"
                for k in ("cache_modifier", "eviction_policy", "sem", "scope")
                if k in named
            ]
            return [f"{{{', '.join(options)}}}"] if options else []

        if name == "load":
            mask, other = named.pop("mask", "none"), named.pop("other", "none")
            return call("load", *given, mask, other, *hints())
        if name == "store":
            return call("store", *given, named.pop("mask", "none"), *hints())
        if name == "atomic_cas":
            return call(name, *given, *hints())
        if name.startswith("atomic_") and name[7:] in ATOMICS:
            return call(name, *given, named.pop("mask", "none"), *hints())
        if name == "cast":
            kind = given[1].removeprefix("dtypeOf<").removesuffix(">")
            return call(
                "bitcast" if named.pop("bitcast", "") == "true" else "to", given[0]
            ).replace("(", f"<{kind}>(", 1)
        if name in ("zeros", "full"):
            return call(name, *given)
        if name == "trans":
            order = [f"{{{', '.join(given[1:])}}}"] if len(given) > 1 else []
            return call(name, given[0], *order)
        if name == "cat":
            return call(name, *given, named.pop("dim"))
        if name in ("cumsum", "cumprod"):
            reverse = ["Direction::Reverse"] if named.pop("reverse", "") == "true" else []
            return call(name, *given, *reverse)
        if name in ("reduce", "associative_scan"):
            reverse = ["Direction::Reverse"] if named.pop("reverse", "") == "true" else []
            return call(name, *given[:2], self.helpers[helpers[0]], *reverse)
        if name == "dot":
            options = [
                f".{k} = {named.pop(k)}"
                for k in ("input_precision", "max_num_imprecise_acc", "out_dtype")
                if k in named
            ]
            accumulator = given[2:] or ["none"]
            return call(
                name, *given[:2], *accumulator, *([f"{{{', '.join(options)}}}"] if options else [])
            )
        if name == "dot_scaled":
            packs = [named.pop(f"{side}_k_pack", "true") for side in ("lhs", "rhs")]
            sides = [f"{{{', '.join([*given[at : at + 3], packs[at // 3]])}}}" for at in (0, 3)]
            fast = ["{.fast_math = true}"] if named.pop("fast_math", "") == "true" else []
            return call(name, *sides, *(given[6:] or ["none"]), *fast)
        if name in ("sum", "max", "min", "argmax", "argmin", "xor_sum"):
            axis = given[1:] or [named.pop("axis", "none")]
            keep = ["true"] if named.pop("keep_dims", "") == "true" else []
            return call(name, given[0], *axis, *keep)
        if name in ("sort", "topk"):
            default = "false" if name == "sort" else "true"
            return call(name, *given, named.pop("dim"), named.pop("descending", default))
        if name == "histogram":
            return call(name, *given, named.pop("mask", "none"))
        if name in PLAIN:
            return call(name, *given)
        raise Untranslatable(name)

    # -- statements

    def statements(self, body):
        for statement in body:
            self.statement(statement)

    def statement(self, node):
        match node:
            case ast.Pass():
                return
            case ast.Assign(targets=[ast.Name(id=name)]):
                self.bind(name, self.as_variable(self.expression(node.value)))
            case ast.Assign(targets=[ast.Tuple(elts=targets)]):
                self.assign_several([target.id for target in targets], node.value)
            case ast.AugAssign(target=ast.Name(id=name)):
                value = self.expression(node.value)
                self.bind(
                    name, self.define(f"{self.scope[name][0]} {OPERATORS[type(node.op)]} {value}")
                )
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id="tl"), attr=attr))):
                text = self.call_text(attr, node.value)
                self.emit(text + ";")
            case ast.For(orelse=[]):
                self.loop(node)
            case ast.While(orelse=[]):
                self.while_loop(node)
            case ast.If(body=[ast.Break() | ast.Continue()], orelse=[]):
                self.leave_if(node)
            case ast.If():
                self.branch(node)
            case _:
                raise Untranslatable(ast.unparse(node))

    def as_variable(self, text):
        return text if text.isidentifier() else self.define(text)

    def assign_several(self, names, value):
        if isinstance(value, ast.Tuple):
            held = [self.expression(item) for item in value.elts]
        else:
            held = [self.fresh() for _ in names]
            self.emit(f"auto [{', '.join(held)}] = {self.call_text(value.func.attr, value)};")
        for name, cpp in zip(names, held):
            self.bind(name, cpp)

    def returned(self, names):
        return [f"return {tuple_of([self.scope[name][0] for name in names])};"] if names else []

    def parameters(self, names):
        return ", ".join(f"Value {name}" for name in names)

    def carried_names(self, body):
        return [name for name in assigned_names(body) if name in self.scope]

    def loop(self, node):
        bounds = [self.expression(bound) for bound in node.iter.args]
        if node.iter.keywords:
            bounds = ["0"] * (len(bounds) == 1) + bounds
            bounds += ["1"] * (len(bounds) == 2)
            hints = (f".{k.arg} = {str(k.value.value).lower()}" for k in node.iter.keywords)
            bounds.append(f"{{{', '.join(hints)}}}")
        bounds = ", ".join(bounds)
        names = [n for n in self.carried_names(node.body)]
        before = dict(self.scope)
        initial = f"{tuple_of([before[n][0] for n in names])}, " if names else ""
        results = [self.fresh(name) for name in names]
        inner = [self.fresh(name) for name in names]
        index = self.fresh(node.target.id)
        head = f"auto [{', '.join(results)}] = " if names else ""
        parameters = self.parameters([index, *inner])
        self.emit(f"{head}loop(range({bounds}), {initial}[&]({parameters}) {{")
        self.run_body(node.body, [(node.target.id, index), *zip(names, inner)], names)
        self.emit("});")
        self.leave(before, names, results)

    def while_loop(self, node):
        names = self.carried_names(node.body)
        before = dict(self.scope)
        results = [self.fresh(name) for name in names]
        tested = [self.fresh(name) for name in names]
        inner = [self.fresh(name) for name in names]
        initial = tuple_of([before[n][0] for n in names])
        self.emit(
            f"auto [{', '.join(results)}] = while_({initial}, [&]({self.parameters(tested)}) {{"
        )
        self.depth += 1
        for name, cpp in zip(names, tested):
            self.bind(name, cpp)
        self.emit(f"return {self.expression(node.test)};")
        self.depth -= 1
        self.emit(f"}}, [&]({self.parameters(inner)}) {{")
        self.scope = dict(before)
        self.run_body(node.body, list(zip(names, inner)), names)
        self.emit("});")
        self.leave(before, names, results)

    def leave_if(self, node):
        """`if condition: break`, in the body of a loop itself."""
        depth, names = self.loops[-1] if self.loops else (None, [])
        if depth != self.depth:
            raise Untranslatable("a break in a branch")
        condition = self.as_variable(self.expression(node.test))
        statement = "break_if" if isinstance(node.body[0], ast.Break) else "continue_if"
        values = [self.scope[name][0] for name in names]
        self.emit(f"{statement}({', '.join([condition, *values])});")

    def run_body(self, body, bound, returned):
        self.loops.append((self.depth + 1, returned))
        self.record_body(body, bound, returned)
        self.loops.pop()

    def record_body(self, body, bound, returned):
        self.depth += 1
        for name, cpp in bound:
            self.bind(name, cpp)
        self.statements(body)
        for line in self.returned(returned):
            self.emit(line)
        self.depth -= 1

    def leave(self, before, names, results):
        self.scope = dict(before)
        for name, cpp in zip(names, results):
            self.bind(name, cpp)

    def branch(self, node):
        condition = self.as_variable(self.expression(node.test))
        before, sides, texts = dict(self.scope), [], []
        for body in (node.body, node.orelse):
            self.scope = dict(before)
            outer, self.lines = self.lines, []
            self.depth += 1
            self.statements(body)
            self.depth -= 1
            sides.append(self.scope)
            texts.append(self.lines)
            self.lines = outer
        changed = []
        for after in sides:
            for name, (_, version) in sorted(after.items(), key=lambda item: item[1][1]):
                if (name not in before or before[name][1] != version) and name not in changed:
                    changed.append(name)
        merged = [n for n in changed if n in sides[0] and n in sides[1]]
        # Of one value on both sides nothing is returned.
        same = [n for n in merged if sides[0][n][0] == sides[1][n][0]]
        names = [n for n in merged if n not in same]
        results = [self.fresh(name) for name in names]
        head = f"auto [{', '.join(results)}] = " if names else ""
        self.emit(f"{head}if_({condition}, [&] {{")
        for side, text in zip(sides, texts):
            if side is sides[1]:
                if not text and not names:
                    break
                self.emit("}, [&] {")
            self.lines += text
            self.depth += 1
            if names:
                self.emit(f"return {tuple_of([side[n][0] for n in names])};")
            self.depth -= 1
        self.emit("});")
        self.scope = {n: v for n, v in before.items() if n not in changed}
        for name in merged:
            self.bind(name, results[names.index(name)] if name in names else sides[0][name][0])


def helper_text(function):
    """A combining function as a lambda."""
    writer = Writer({})
    names = [argument.arg for argument in function.args.args]
    for name in names:
        writer.bind(name, name)
    returned = isinstance(function.body[0], ast.Return) and function.body[0].value
    if len(names) != 2 or not returned or isinstance(returned, ast.Tuple):
        raise Untranslatable(function.name)
    result = writer.expression(returned)
    lines = "\n".join(writer.lines)
    left, right = names
    return f"[](Value {left}, Value {right}) {{\n{lines}\n  return {result};\n  }}"


def parameter(name):
    role, _, dtype = name.partition("_")
    return f"Ptr<{TYPES[dtype]}> {name}" if dtype else f"i32 {name}"


def cpp_kernel(source, name):
    functions = {f.name: f for f in ast.parse(source).body if isinstance(f, ast.FunctionDef)}
    kernel = functions.pop(name)
    writer = Writer({n: helper_text(f) for n, f in functions.items()})
    names = [argument.arg for argument in kernel.args.args]
    for each in names:
        writer.bind(each, each)
    writer.statements(kernel.body)
    quoted = ", ".join(f'"{each}"' for each in names)
    declared = ", ".join(parameter(each) for each in names)
    body = "\n".join(writer.lines)
    return f'kernel("{name}", std::vector<std::string>{{{quoted}}}, [](\n    {declared}) {{\n{body}\n}})'
