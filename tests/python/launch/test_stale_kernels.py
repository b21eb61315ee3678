"""No kernel runs code that was made for another value of something it depends on.

Each case is a way to depend on a value: Python text with ``VALUE`` in it that defines ``k``, a kernel that stores
``program_id(0)`` plus that value, and ``change``, which makes the value another one while the program runs
(None: only editing the file does). Each is tried

- in one process: launched, changed, launched again;
- through the disk cache: three processes launch it with the value 10, edited to 20, and 10 again;

and without a change nothing is compiled again, in neither.
"""

import json
import os
import subprocess
import sys
import textwrap

import pytest

CASES = {}


def case(name, text, change=None):
    assert name not in CASES
    CASES[name] = (textwrap.dedent(text), textwrap.dedent(change) if change else None)


def simple(name, setup, expression, change=None):
    """`expression` in the kernel, `setup` before it."""
    case(
        name,
        f"{textwrap.dedent(setup)}\n@st.jit\ndef k(o):\n    tl.store(o, tl.program_id(0) + {expression})\n",
        change,
    )


# -- what is named plainly ----------------------------------------------------------------------------

simple("global constexpr", "V = tl.constexpr(VALUE)", "V", "V = tl.constexpr(NEXT)")
simple("global constexpr in place", "V = tl.constexpr(VALUE)", "V", "V.value = NEXT")
simple("annotated global", "V: tl.constexpr = VALUE", "V", "V = NEXT")
simple("tuple", "V = (tl.constexpr(VALUE), None)", "V[0]", "V = (tl.constexpr(NEXT), None)")
simple("numpy scalar", "V = tl.constexpr(np.int32(VALUE))", "V", "V = tl.constexpr(np.int32(NEXT))")
simple(
    "float from numpy",
    "V = tl.constexpr(np.float32(VALUE))",
    "int(V)",
    "V = tl.constexpr(np.float32(NEXT))",
)
simple("module", "import m_settings\nm_settings.x = VALUE", "m_settings.x", "m_settings.x = NEXT")
simple("class attribute", "class C:\n    x = VALUE", "C.x", "C.x = NEXT")
simple("enumeration", "import enum\nclass C(enum.Enum):\n    X = VALUE", "C.X.value")
simple(
    "namespace", "import types\nc = types.SimpleNamespace(x=VALUE)", "c.x", "c.x = NEXT"
)  # fmt: skip
simple(
    "frozen dataclass",
    "import dataclasses\n@dataclasses.dataclass(frozen=True)\nclass C:\n    x: int\nc = C(VALUE)",
    "c.x",
    "c = C(NEXT)",
)
case(
    "default of a helper",
    """
    @st.jit
    def h(a, b: tl.constexpr = VALUE):
        return a + b
    @st.jit
    def k(o):
        tl.store(o, h(tl.program_id(0)))
    """,
    "h.fn.__defaults__ = (NEXT,)",
)
HELPER_WITH_KEYWORD = """
    @st.jit
    def h(a, *, b: tl.constexpr = VALUE):
        return a + b
    @st.jit
    def k(o):
        tl.store(o, h(tl.program_id(0)))
    """
case("named default of a helper", HELPER_WITH_KEYWORD, "h.fn.__kwdefaults__ = {'b': NEXT}")
case("named default of a helper in place", HELPER_WITH_KEYWORD, "h.fn.__kwdefaults__['b'] = NEXT")
simple(
    "function, named default in place",
    "def f(*, x=VALUE):\n    return x",
    "f()",
    "f.__kwdefaults__['x'] = NEXT",
)
simple(
    "function that hides what it reads, named default in place",
    "import os\ndef f(*, x=VALUE):\n    os.getpid()\n    return x",
    "f()",
    "f.__kwdefaults__['x'] = NEXT",
)
for kind, annotation in (("number", ""), ("constant", ": tl.constexpr")):
    positional = f"@st.jit\ndef k(o, x=1, n{annotation} = VALUE): tl.store(o, n)"
    named = f"@st.jit\ndef k(o, *, n{annotation} = VALUE): tl.store(o, n)"
    case(f"default of the kernel, {kind}", positional, "k.fn.__defaults__ = (1, NEXT)")
    case(f"more defaults of the kernel, {kind}", positional, "k.fn.__defaults__ = (0, 1, NEXT)")
    case(f"named default of the kernel, {kind}", named, "k.fn.__kwdefaults__ = {'n': NEXT}")
    case(f"named default of the kernel in place, {kind}", named, "k.fn.__kwdefaults__['n'] = NEXT")
case(
    "text of a helper",
    """
    @st.jit
    def h(a):
        return a + VALUE
    @st.jit
    def g(a):
        return a + NEXT
    @st.jit
    def k(o):
        tl.store(o, h(tl.program_id(0)))
    """,
    "h = g",
)
case(
    "code of a helper",
    """
    @st.jit
    def h(a):
        return a + VALUE
    @st.jit
    def g(a):
        return a + NEXT
    @st.jit
    def k(o):
        tl.store(o, h(tl.program_id(0)))
    """,
    "h.fn.__code__ = g.fn.__code__",
)
case(
    "source override of a helper",
    """
    @st.jit
    def h(a):
        return a + VALUE
    @st.jit
    def k(o):
        tl.store(o, h(tl.program_id(0)))
    """,
    "h._unsafe_update_src('def h(a):\\n    return a + NEXT\\n')",
)
case(
    "code of the kernel",
    """
    @st.jit
    def k(o):
        tl.store(o, tl.program_id(0) + VALUE)
    @st.jit
    def g(o):
        tl.store(o, tl.program_id(0) + NEXT)
    """,
    "k.fn.__code__ = g.fn.__code__",
)
simple("closure of globals()", "V = VALUE", "globals()['V']", "V = NEXT")
simple("environment variable", "os.environ['V_OF_KERNEL'] = 'VALUE'", "int(os.environ['V_OF_KERNEL'])",
       "os.environ['V_OF_KERNEL'] = 'NEXT'")  # fmt: skip

# -- objects ------------------------------------------------------------------------------------------

PLAIN_CLASS = """
class C:
    def __init__(self, x):
        self.x = x
    @property
    def p(self):
        return self.x + 0
    def method(self):
        return self.x
    def indirect(self):
        return self.method()
    def __getitem__(self, key):
        return self.x
    def __call__(self):
        return self.x
    def __getattr__(self, name):
        if name == 'missing':
            return self.x
        raise AttributeError(name)
    @classmethod
    def of_class(cls):
        return cls.y
    @staticmethod
    def static():
        return C.y
    y = VALUE
c = C(VALUE)
"""
for what, expression in {
    "attribute": "c.x",
    "property": "c.p",
    "method": "c.method()",
    "method that calls another": "c.indirect()",
    "__getitem__": "c['a']",
    "__call__": "c()",
    "__getattr__": "c.missing",
    "getattr": "getattr(c, 'x')",
    "hasattr": "(VALUE if not hasattr(c, 'z') else NEXT)",
}.items():
    simple(
        f"object, {what}", PLAIN_CLASS, expression, "c.z = 1" if what == "hasattr" else "c.x = NEXT"
    )
simple("object, class method", PLAIN_CLASS, "c.of_class()", "C.y = NEXT")
simple("object, static method", PLAIN_CLASS, "c.static()", "C.y = NEXT")
simple(
    "object with slots",
    "class C:\n    __slots__ = ('x',)\nc = C()\nc.x = VALUE",
    "c.x",
    "c.x = NEXT",
)
simple(
    "slots read by a method",
    "class C:\n    __slots__ = ('x',)\n    def f(self):\n        return self.x\nc = C()\nc.x = VALUE",
    "c.f()",
    "c.x = NEXT",
)
simple(
    "cached property",
    "import functools\nclass C:\n    x = VALUE\n    @functools.cached_property\n"
    "    def p(self):\n        return self.x\nc = C()",
    "c.p",
    "c = C(); C.x = NEXT",
)
simple("nested object", PLAIN_CLASS + "d = C(C(C(VALUE)))", "d.x.x.x", "d.x.x.x = NEXT")
simple(
    "nested deeper than any limit",
    PLAIN_CLASS + "d = C(C(C(C(C(C(C(VALUE)))))))",
    "d.x.x.x.x.x.x.x",
    "d.x.x.x.x.x.x.x = NEXT",
)
simple(
    "dictionary of objects", PLAIN_CLASS + "d = {'a': c}", "d['a'].x", "d['a'] = C(NEXT)"
)  # fmt: skip
simple("object in a tuple", PLAIN_CLASS + "d = (None, c)", "d[1].x", "c.x = NEXT")
simple("object in a list", PLAIN_CLASS + "d = [None, c]", "d[1].x", "d[1] = C(NEXT)")
simple("metaclass", "class M(type):\n    @property\n    def p(cls):\n        return cls.y\n"
       "class C(metaclass=M):\n    y = VALUE", "C.p", "C.y = NEXT")  # fmt: skip
simple(
    "another object of equal class",
    PLAIN_CLASS + "a, b = C(VALUE), C(NEXT)\nc = a",
    "c.method()",
    "c = b",
)
case(
    "which of two objects",
    PLAIN_CLASS
    + "a, b = C(1), C(1)\nFLAG = (VALUE == 10)\nc = a if FLAG else b\n"
    + "@st.jit\ndef k(o):\n    if c is a:\n        tl.store(o, tl.program_id(0) + 10)\n"
    "    else:\n        tl.store(o, tl.program_id(0) + 20)\n",
    "c = b",
)

# What an operator makes of an object, its class says; a class may ask anything else.
OPERATORS = """
class C:
    def __init__(self, x):
        self.x = x
    def __eq__(self, other):
        return self.x == (other.x if isinstance(other, C) else other)
    def __lt__(self, other):
        return self.x < other
    def __bool__(self):
        return self.x == VALUE
    def __len__(self):
        return self.x
    def __contains__(self, item):
        return item == self.x
    def __add__(self, other):
        return self.x + other
    def __neg__(self):
        return -self.x
    def __int__(self):
        return self.x
    def __abs__(self):
        return self.x
    def __repr__(self):
        return 'x' * self.x
c, same = C(VALUE), C(VALUE)
"""
for what, expression in {
    "==": "(VALUE if c == VALUE else NEXT)",
    "!=": "(NEXT if c != same else VALUE)",
    "== in a tuple": "(VALUE if (1, c) == (1, VALUE) else NEXT)",
    "<": "(VALUE if c < VALUE + 1 else NEXT)",
    "in": "(VALUE if VALUE in c else NEXT)",
    "not in a tuple": "(NEXT if c not in (1, same) else VALUE)",
    "truth": "(VALUE if c else NEXT)",
    "not": "(NEXT if not c else VALUE)",
    "and": "(VALUE if c and c else NEXT)",
    "+": "(c + 0)",
    "-": "-(-c)",
    "len": "len(c)",
    "int": "int(c)",
    "abs": "abs(c)",
    "max": "max(c, -1).x",
    "str": "len(str(c))",
    "repr in a tuple": "(len(repr((c,))) - 3)",
    "f-string": "len(f'{c}')",
}.items():
    simple(f"operator of an object, {what}", OPERATORS, expression, "c.x = NEXT")
simple(
    "operator of an object, its class",
    "class C:\n    pass\nif VALUE == 20:\n    C.__bool__ = lambda self: False\nc = C()",
    "(10 if c else 20)",
    "C.__bool__ = lambda self: False",
)
simple(
    "isinstance of an object",
    "class C: pass\nclass D: pass\nc = C() if VALUE == 10 else D()",
    "(10 if isinstance(c, C) else 20)",
    "c = D()",
)
simple(
    "function, a name that is not there yet",
    "def f():\n    try:\n        return LATE\n    except NameError:\n        return 10\n"
    "if VALUE == 20:\n    LATE = VALUE",
    "f()",
    "LATE = NEXT",
)

# -- containers ---------------------------------------------------------------------------------------

simple("dictionary", "d = {'a': VALUE}", "d['a']", "d['a'] = NEXT")
simple("dictionary of dictionaries", "d = {'a': {'b': VALUE}}", "d['a']['b']", "d['a']['b'] = NEXT")
simple(
    "large dictionary",
    "d = {i: 1 for i in range(1000)}\nd[500] = VALUE",
    "d[500]",
    "d[500] = NEXT",
)
simple("dictionary, get", "d = {'a': VALUE}", "d.get('a')", "d['a'] = NEXT")
simple("list", "d = [tl.constexpr(VALUE)]", "d[0]", "d[0] = tl.constexpr(NEXT)")
simple("list in a list", "d = [[tl.constexpr(VALUE)]]", "d[0][0]", "d[0][0] = tl.constexpr(NEXT)")
simple("list of an object", PLAIN_CLASS + "c.x = [VALUE, 1]", "c.x[0]", "c.x[0] = NEXT")
simple("array", "d = np.array([VALUE, 1])", "d[0]", "d[0] = NEXT")
simple("array of two axes", "d = np.full((2, 2), VALUE)", "d[1, 1]", "d[1, 1] = NEXT")
simple("deque", "import collections\nd = collections.deque([VALUE])", "d[0]", "d[0] = NEXT")
simple(
    "mapping of the user's",
    "import collections.abc\nclass D(collections.abc.Mapping):\n    def __init__(self, **x):\n"
    "        self.x = x\n    def __getitem__(self, key):\n        return self.x[key]\n"
    "    def __iter__(self):\n        return iter(self.x)\n    def __len__(self):\n"
    "        return len(self.x)\nd = D(a=VALUE)",
    "d['a']",
    "d.x['a'] = NEXT",
)
simple("default dictionary", "import collections\nd = collections.defaultdict(lambda: VALUE)", "d['a']",
       "d['a'] = NEXT")  # fmt: skip
simple("ordered dictionary", "import collections\nd = collections.OrderedDict(a=VALUE)", "d['a']",
       "d['a'] = NEXT")  # fmt: skip
simple("view of a dictionary", "import types\nbelow = {'a': VALUE}\nd = types.MappingProxyType(below)",
       "d['a']", "below['a'] = NEXT")  # fmt: skip
HELPERS = """
@st.jit
def one(a):
    return a + VALUE
@st.jit
def two(a):
    return a + NEXT
"""
for what, setup, call, change in [
    ("dictionary", "OPS = {'f': one}", "OPS['f'](tl.program_id(0))", "OPS['f'] = two"),
    ("list", "OPS = [one]", "OPS[0](tl.program_id(0))", "OPS[0] = two"),
    ("tuple", "OPS = (one,)", "OPS[0](tl.program_id(0))", "OPS = (two,)"),
    ("class", "class OPS:\n    f = one", "OPS.f(tl.program_id(0))", "OPS.f = two"),
    ("deeper", "OPS = {'a': [{'f': one}]}", "OPS['a'][0]['f'](tl.program_id(0))",
     "OPS['a'][0]['f'] = two"),
    ("function", "def pick():\n    return OPS\nOPS = one", "pick()(tl.program_id(0))", "OPS = two"),
    ("mapping", "import types\nbelow = {'f': one}\nOPS = types.MappingProxyType(below)",
     "OPS['f'](tl.program_id(0))", "below['f'] = two"),
]:  # fmt: skip
    case(
        f"@jit function in a {what}",
        f"{HELPERS}\n{setup}\n@st.jit\ndef k(o):\n    tl.store(o, {call})\n",
        change,
    )

# -- Python functions ---------------------------------------------------------------------------------

simple(
    "function, global", "V = VALUE\ndef f():\n    return V", "f()", "V = NEXT"
)  # fmt: skip
simple("function, attribute", PLAIN_CLASS + "def f():\n    return c.x", "f()", "c.x = NEXT")
simple("function, item", "d = {'a': VALUE}\ndef f():\n    return d['a']", "f()", "d['a'] = NEXT")
simple(
    "function, closure",
    "def make(v):\n    def f():\n        return v\n    def change(x):\n        nonlocal v\n"
    "        v = x\n    return f, change\nf, change = make(VALUE)",
    "f()",
    "change(NEXT)",
)
simple("function, another's global", "V = VALUE\ndef g():\n    return V\ndef f():\n    return g()",
       "f()", "V = NEXT")  # fmt: skip
simple("function, globals()", "V = VALUE\ndef f():\n    return globals()['V']", "f()", "V = NEXT")
simple("function, import", "import m_settings\nm_settings.x = VALUE\n"
       "def f():\n    import m_settings as m\n    return m.x", "f()", "m_settings.x = NEXT")  # fmt: skip
simple("function, environment", "os.environ['V_OF_FUNCTION'] = 'VALUE'\n"
       "def f():\n    return int(os.environ.get('V_OF_FUNCTION'))", "f()",
       "os.environ['V_OF_FUNCTION'] = 'NEXT'")  # fmt: skip
simple(
    "function, array",
    "d = np.array([VALUE])\ndef f():\n    return int(d.sum())",
    "f()",
    "d[0] = NEXT",
)
simple("function, default", "def f(x=VALUE):\n    return x", "f()", "f.__defaults__ = (NEXT,)")
simple(
    "function, mutable default", "V = [VALUE]\ndef f(x=V):\n    return x[0]", "f()", "V[0] = NEXT"
)
simple("function, code", "def f():\n    return VALUE\ndef g():\n    return NEXT", "f()",
       "f.__code__ = g.__code__")  # fmt: skip
simple("function, its attribute", "def f():\n    return f.x\nf.x = VALUE", "f()", "f.x = NEXT")
simple(
    "function of arguments",
    "V = VALUE\ndef f(a, b=1):\n    return a * b + V",
    "f(0, b=2)",
    "V = NEXT",
)
simple("constexpr function", "V = tl.constexpr(VALUE)\n@st.constexpr_function\ndef f(a):\n"
       "    return a + V.value", "f(0)", "V = tl.constexpr(NEXT)")  # fmt: skip
simple("lambda", "V = VALUE\nf = lambda: V", "f()", "V = NEXT")
simple("partial", "import functools\ndef g(a):\n    return a\nf = functools.partial(g, VALUE)", "f()",
       "f = functools.partial(g, NEXT)")  # fmt: skip
simple("cached function", "import functools\nV = VALUE\n@functools.lru_cache\ndef f():\n    return V",
       "f()", "V = NEXT; f.cache_clear()")  # fmt: skip
simple(
    "generator inside", "V = [VALUE]\ndef f():\n    return sum(x for x in V)", "f()", "V[0] = NEXT"
)
simple(
    "function that returns a tuple",
    "V = VALUE\ndef f():\n    return (1, [V])",
    "f()[1][0]",
    "V = NEXT",
)
simple(
    "function that returns an object", PLAIN_CLASS + "def f():\n    return c", "f().x", "c.x = NEXT"
)
simple("class that is called", PLAIN_CLASS + "V = VALUE\nclass D:\n    def __init__(self):\n"
       "        self.x = V", "D().x", "V = NEXT")  # fmt: skip
simple("function of another module", "import m_functions\nm_functions.V = VALUE", "m_functions.f()",
       "m_functions.V = NEXT")  # fmt: skip
simple("bound method by itself", PLAIN_CLASS + "f = c.method", "f()", "c.x = NEXT")
simple("condition", "def f():\n    return len(V)\nV = [0] * VALUE", "f()", "V.extend([0] * 10)")

# -- @jit helpers -------------------------------------------------------------------------------------

case(
    "helper reads an object",
    PLAIN_CLASS
    + "@st.jit\ndef h(a):\n    return a + c.method()\n"
    + "@st.jit\ndef k(o):\n    tl.store(o, h(tl.program_id(0)))\n",
    "c.x = NEXT",
)
case(
    "helper of another module",
    """
    import m_functions
    m_functions.c.x = VALUE
    @st.jit
    def k(o):
        tl.store(o, m_functions.helper(tl.program_id(0)))
    """,
    "m_functions.c.x = NEXT",
)

# -- constants passed by the launch: `launch` says how ---------------------------------------------------


def passed(name, setup, body, argument, change=None):
    text = textwrap.dedent(setup) + (
        f"\n@st.jit\ndef helper(c: tl.constexpr):\n    return c.x\n"
        f"@st.jit\ndef k(o, c: tl.constexpr):\n    tl.store(o, tl.program_id(0) + {body})\n"
        f"def arguments():\n    return ({argument},)\n"
    )
    case(name, text, change)


for what, body in {
    "attribute": "c.x",
    "attribute in a helper": "helper(c)",
    "property": "c.p",
    "method": "c.method()",
    "method that calls another": "c.indirect()",
    "__getitem__": "c[0]",
    "__call__": "c()",
    "Python function": "outside(c)",
}.items():
    setup = PLAIN_CLASS + "def outside(c):\n    return c.x\n"
    passed(f"passed object, {what}, in place", setup, body, "c", "c.x = NEXT")
    passed(f"passed object, {what}, another", setup, body, "c", "c = C(NEXT)")
passed("passed object, nested", PLAIN_CLASS + "c = C(C(VALUE))", "helper(c.x)", "c", "c.x.x = NEXT")
passed("passed object, slots", "class C:\n    __slots__ = ('x',)\nc = C()\nc.x = VALUE", "helper(c)", "c",
       "c.x = NEXT")  # fmt: skip
passed("passed in a tuple", PLAIN_CLASS, "helper(c[0])", "(c, 1)", "c.x = NEXT")
passed("passed in tl.constexpr", PLAIN_CLASS, "helper(c)", "tl.constexpr(c)", "c.x = NEXT")
passed("passed dictionary", "d = {'a': VALUE}", "c['a']", "d", "d['a'] = NEXT")
passed(
    "passed dictionary of functions", HELPERS + "d = {'f': one}", "c['f'](0)", "d", "d['f'] = two"
)
passed("passed list", "d = [VALUE]", "c[0]", "d", "d[0] = NEXT")
passed("passed list of objects", PLAIN_CLASS + "d = [c]", "helper(c[0])", "d", "d[0] = C(NEXT)")
passed("passed frozen dataclass", "import dataclasses\n@dataclasses.dataclass(frozen=True)\nclass C:\n"
       "    x: int\nc = C(VALUE)", "helper(c)", "c", "c = C(NEXT)")  # fmt: skip
passed("passed dataclass", "import dataclasses\n@dataclasses.dataclass\nclass C:\n    x: int\nc = C(VALUE)",
       "helper(c)", "c", "c.x = NEXT")  # fmt: skip
passed("passed enumeration", "import enum\nclass C(enum.Enum):\n    X = VALUE\n    Y = NEXT\nc = C.X",
       "c.value", "c", "c = C.Y")  # fmt: skip
passed("passed function", HELPERS + "d = one", "c(0)", "d", "d = two")
passed("passed function that reads", PLAIN_CLASS + "@st.jit\ndef d(a):\n    return a + c.method()\n",
       "c(0)", "d", "c.x = NEXT")  # fmt: skip
passed("passed partial", "import functools\ndef f(a):\n    return a\nd = functools.partial(f, VALUE)",
       "c()", "d", "d = functools.partial(f, NEXT)")  # fmt: skip
case(
    "which of two passed objects",
    PLAIN_CLASS
    + "a, b = C(1), C(1)\nboth = (a, a) if VALUE == 10 else (a, b)\n"
    + "@st.jit\ndef k(o, x: tl.constexpr, y: tl.constexpr):\n"
    "    tl.store(o, tl.program_id(0) + (10 if x is y else 20))\n"
    "def arguments():\n    return both\n",
    "both = (a, b)",
)
FACTORY = """
def make(c):
    @st.jit
    def k(o):
        tl.store(o, tl.program_id(0) + c.method())
    return k
k = make(C(VALUE))
"""
case("closure of a factory", PLAIN_CLASS + FACTORY, "k = make(C(NEXT))")
case("closure of a factory in place", PLAIN_CLASS + "k = None\n" + FACTORY.replace("C(VALUE)", "c"),
     "c.x = NEXT")  # fmt: skip

# -- the programs -------------------------------------------------------------------------------------

HEADER = "import os\nimport numpy as np\nimport sectile as st\nimport sectile.language as tl\n"
MODULES = {
    "m_settings": "x = 1\n",
    "m_functions": (
        "import sectile as st\nimport sectile.language as tl\n"
        "V = 1\ndef f():\n    return V\n"
        "class C:\n    def read(self):\n        return self.x\nc = C()\n"
        "@st.jit\ndef helper(a):\n    return a + c.read()\n"
    ),
}

PROGRAM = """
import importlib, json, os, sys
import numpy as np
import sectile as st
folder, changes = sys.argv[1], json.loads(sys.argv[2])
sys.path.insert(0, folder)
from sectile import _native

def made():
    # Neither compiled nor evaluated again to the same IR.
    statistics = _native.statistics()
    return statistics["compiles"] + statistics["same_ir_hits"]

def launch(module):
    out = np.zeros(1, np.int32)
    module.k[(1,)](out, *getattr(module, "arguments", tuple)())
    return int(out[0])

results = {}
for name, change in changes.items():
    try:
        module = importlib.import_module(name)
        start = made()
        values, counts = [launch(module)], [made()]
        values.append(launch(module))
        counts.append(made())
        if change:
            exec(change, module.__dict__)
            for _ in range(2):
                values.append(launch(module))
                counts.append(made())
        results[name] = [values, [start, *counts]]
    except Exception as error:
        results[name] = [f"{type(error).__name__}: {error}"[:300], []]
print(json.dumps(results))
"""

NAMES = {name: f"case_{index}" for index, name in enumerate(CASES)}


def run(folder, cache, value, changes):
    """The values that each case stores, in a process of their own: before and after its change."""
    other = 30 - value
    for name, (text, _) in CASES.items():
        text = text.replace("VALUE", str(value)).replace("NEXT", str(other))
        (folder / f"{NAMES[name]}.py").write_text(HEADER + text)
    for name, text in MODULES.items():
        (folder / f"{name}.py").write_text(text)
    asked = {
        NAMES[name]: change.replace("NEXT", str(other)) if changes and change else None
        for name, (_, change) in CASES.items()
    }
    environment = {**os.environ, "SECTILE_CACHE_DIR": str(cache), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(folder), json.dumps(asked)],
        env=environment, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def in_one_process(tmp_path_factory):
    return run(tmp_path_factory.mktemp("one_process"), "", 10, changes=True)


@pytest.fixture(scope="module")
def through_the_cache(tmp_path_factory):
    folder = tmp_path_factory.mktemp("through_the_cache")
    return [run(folder, folder / "cache", value, changes=False) for value in (10, 20, 20, 10)]


@pytest.mark.parametrize("name", [name for name, (_, change) in CASES.items() if change])
def test_a_change_is_seen(in_one_process, name):
    values, _ = in_one_process[NAMES[name]]
    assert values == [10, 10, 20, 20]


@pytest.mark.parametrize("name", CASES)
def test_an_edit_is_seen(through_the_cache, name):
    assert [run[NAMES[name]][0] for run in through_the_cache] == [
        [10, 10],
        [20, 20],
        [20, 20],
        [10, 10],
    ]


@pytest.mark.parametrize("name", CASES)
def test_nothing_is_made_again_without_a_change(in_one_process, through_the_cache, name):
    _, counts = in_one_process[NAMES[name]]
    assert counts[2] == counts[1], "made again at the second launch"
    assert len(set(counts[3:])) <= 1, "made again after the change was seen"
    before, *_, after = through_the_cache[2][NAMES[name]][1]
    assert after == before, "made again by another process"


def test_a_kernel_that_moved_with_its_helper_names_its_new_file(tmp_path):
    (tmp_path / "before").mkdir()
    (tmp_path / "before" / "helper_file.py").write_text(
        "import sectile as st\n@st.jit\ndef helper(x):\n    return x\n"
    )
    (tmp_path / "before" / "kernel_file.py").write_text(
        HEADER
        + "from helper_file import helper\n"
        + "@st.jit\ndef k(o, n, f: tl.constexpr):\n"
        + "    tl.device_assert(n < 5, 'too large')\n    tl.store(o, f(n))\n"
        + "try:\n    k[(1,)](np.zeros(1, np.int32), 9, helper, debug=True)\n"
        + "except Exception as error:\n    print(error)\n"
    )

    def message(folder):
        environment = {**os.environ, "SECTILE_CACHE_DIR": str(tmp_path / "cache")}
        return subprocess.run(
            [sys.executable, str(tmp_path / folder / "kernel_file.py")],
            env=environment, capture_output=True, text=True, timeout=100,
        ).stdout  # fmt: skip

    assert str(tmp_path / "before" / "kernel_file.py") in message("before")
    (tmp_path / "before").rename(tmp_path / "after")
    moved = message("after")
    assert str(tmp_path / "after" / "kernel_file.py") in moved and "before" not in moved


@pytest.mark.host
def test_defaults_of_a_kernel_are_those_of_its_function(tmp_path):
    """A launch takes them from the Python function, as a call of that would; a bound kernel keeps those it has."""
    import numpy as np

    import sectile as st
    import sectile.language as tl

    @st.jit
    def kernel(o, a=2, *, b=3):
        tl.store(o, a * 10 + b)

    out = np.zeros(1, np.int32)

    def launch(*args, **kwargs):
        kernel[(1,)](out, *args, **kwargs)
        return int(out[0])

    assert launch() == 23
    bound = kernel[(1,)].bind(out)
    kernel.fn.__defaults__ = (5,)
    kernel.fn.__kwdefaults__["b"] = 6
    assert launch() == 56 and launch(1) == 16 and launch(b=1) == 51
    assert kernel.params[1].default == 5 and kernel.params[2].default == 6
    bound()
    assert out[0] == 23
    assert kernel[(1,)].bind(out).arguments["a"] == 5

    kernel.fn.__defaults__ = None
    assert launch(4) == 46 and not kernel.params[1].has_default
    with pytest.raises(st.ArgumentError, match="kernel: argument 'a' is missing"):
        launch()
    kernel.fn.__kwdefaults__ = None
    with pytest.raises(st.ArgumentError, match="kernel: arguments 'a', 'b' are missing"):
        launch()
    kernel.fn.__defaults__ = (np.ones(1, np.int32), 7)  # the array's: it had none
    kernel.fn.__kwdefaults__ = {"b": 8}
    kernel[(1,)]()
    assert kernel.fn.__defaults__[0][0] == 78


@pytest.mark.host
def test_a_default_that_is_replaced_during_a_launch_lives_to_its_end():
    import gc
    import weakref

    import numpy as np

    import sectile as st
    import sectile.language as tl

    class Array(np.ndarray):
        pass

    seen = []

    def grid(arguments):
        kernel.fn.__defaults__ = (None,)
        kernel.fn.__kwdefaults__ = {"named": None}
        gc.collect()
        seen.append([reference() is not None for reference in alive])
        return (1,)

    @st.jit
    def kernel(o, x=None, *, named=None):
        tl.store(o, tl.load(x) + tl.load(named))

    def array(value):
        made = np.full(1000, value, np.float32).view(Array)
        alive.append(weakref.ref(made))
        return made

    alive = []
    kernel.fn.__defaults__ = (array(3),)
    kernel.fn.__kwdefaults__ = {"named": array(4)}
    out = np.zeros(1, np.float32)
    kernel[grid](out)
    assert seen == [[True, True]] and out[0] == 7
    gc.collect()
    assert [reference() for reference in alive] == [None, None]


@pytest.mark.host
def test_functions_of_one_line_are_told_apart():
    import numpy as np

    import sectile as st
    import sectile.language as tl

    one, two = lambda: 1, lambda: 2
    chosen = one

    @st.jit
    def kernel(o):
        tl.store(o, chosen())

    out = np.zeros(1, np.int32)
    kernel[(1,)](out)
    assert out[0] == 1
    chosen = two
    kernel[(1,)](out)
    assert out[0] == 2
