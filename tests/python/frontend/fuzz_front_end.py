"""Mutates the kernels of corpus.py and sends what Python still parses through the front end.

    python fuzz_front_end.py SEED COUNT LAST

LAST is a file that always holds the mutant being evaluated, for when the process dies over it. The last
line printed says how many mutants parsed, and how many of them were accepted.
"""

import inspect
import io
import linecache
import random
import sys
import time
import tokenize
from pathlib import Path

import corpus
from frontend_support import evaluate, jit

SOURCES = {}
for name, (kernel, signature) in corpus.KERNELS.items():
    lines = inspect.getsource(kernel.fn).splitlines(keepends=True)
    start = next(i for i, line in enumerate(lines) if line.startswith("def "))
    SOURCES[name] = ("".join(lines[start:]), signature)

EXTRA = ["None", "0", "-1", "2**200", "1e400", "''", "()", "[]", "lambda: 0", "x", "n", "N", "tl", "tl.float32", ":",
         "*", "**", "return", "break", "continue", "if", "for", "while", "in", "is", "not", "-", "~", "@", "tl.arange(0, 8)",
         "tl.static_range(5)", "range(3)", "x[:, None]", ".T", "global x", "del x", "(yield)", "1 << 90", "...", "b''", "1j",
         "tl.constexpr", "len", "max", "f'{n}'", "(n := 3)", "float('nan')", "pick", "combine", "tl.dot", "int", "pass"]  # fmt: skip


def tokens_of(source):
    return [
        t
        for t in tokenize.generate_tokens(io.StringIO(source).readline)
        if t.type != tokenize.COMMENT
    ]


def mutate(source, rng, others):
    lines = source.splitlines(keepends=True)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        tokens = [
            t for t in tokens_of("".join(lines))
            if t.type in (tokenize.NAME, tokenize.OP, tokenize.NUMBER, tokenize.STRING) and t.start[0] == t.end[0] and t.start[0] > 1
        ]  # fmt: skip
        if not tokens:
            break
        token = rng.choice(tokens)
        row, first, last = token.start[0] - 1, token.start[1], token.end[1]
        line = lines[row]
        kind = rng.randrange(7)
        if kind == 0:  # delete
            new = ""
        elif kind == 1:  # duplicate
            new = f"{token.string} {token.string}"
        elif kind == 2:  # swap with another token's text
            new = rng.choice(tokens).string
        elif kind == 3:  # another kernel's token
            new = rng.choice(others)
        elif kind == 4:
            new = rng.choice(EXTRA)
        elif kind == 5 and len(lines) > 2:  # move, drop or repeat a line
            other = rng.randrange(1, len(lines))
            lines[row], lines[other] = lines[other], lines[row]
            continue
        else:
            lines.insert(row, lines[rng.randrange(1, len(lines))])
            continue
        lines[row] = line[:first] + new + line[last:]
    return "".join(lines)


def main(seed, count, last):
    rng = random.Random(seed)
    others = [
        t.string for source, _ in SOURCES.values() for t in tokens_of(source) if t.string.strip()
    ]
    last = Path(last)
    parsed = accepted = 0
    slowest = 0.0
    for index in range(count):
        name = rng.choice(list(SOURCES))
        source, signature = SOURCES[name]
        try:
            mutant = mutate(source, rng, others)
            code = compile(mutant, file := f"mutant_{index}.py", "exec", dont_inherit=True)
        except (SyntaxError, tokenize.TokenError, ValueError, IndentationError):
            continue
        namespace = dict(vars(corpus))
        try:
            exec(code, namespace)  # only defines the function; defaults and annotations run
        except Exception:
            continue
        if not inspect.isfunction(namespace.get(name)):
            continue
        parsed += 1
        last.write_text(mutant)
        linecache.cache[file] = (len(mutant), None, mutant.splitlines(keepends=True), file)
        start = time.perf_counter()
        try:
            result = evaluate(jit(namespace[name]), **signature)
        except ValueError:
            continue  # no source, or parameters without names
        finally:
            linecache.cache.pop(file, None)
        slowest = max(slowest, time.perf_counter() - start)
        if result["verifier_error"]:
            print("invalid IR from:\n" + mutant + "\n" + result["verifier_error"])
            return 1
        if not result["diagnostics"]:
            accepted += 1
            assert result["ir"]
        for diagnostic in result["diagnostics"]:
            if not diagnostic["message"] or diagnostic["line"] < 1 or diagnostic["column"] < 1:
                print("diagnostic without a place from:\n" + mutant + "\n" + diagnostic["text"])
                return 1
    print(f"{parsed} {accepted} slowest {slowest * 1e3:.0f} ms")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]), sys.argv[3]))
