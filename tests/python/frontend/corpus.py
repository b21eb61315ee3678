"""Kernels with one kind of statement or a common shape each: for golden IR and for fuzzing."""

from frontend_support import Const, jit, tl

F32, F16, I32, I64 = "*fp32", "*fp16", "i32", "i64"
KERNELS = {}
SCALE: tl.constexpr = 4
NAMES = ("sum", "max")
WIDTH = tl.constexpr(16)


def kernel(**signature):
    def add(fn):
        decorated = jit(fn)
        KERNELS[fn.__name__] = (decorated, signature)
        return decorated

    return add


@kernel(x=F32, y=F32, out=F32, n="i32:16", BLOCK=Const(64))
def vector_add(x, y, out, n, BLOCK: tl.constexpr):
    offset = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offset < n
    total = tl.load(x + offset, mask=mask) + tl.load(y + offset, mask=mask)
    tl.store(out + offset, total, mask=mask)


@kernel(out=F32, inp=F32, stride=I32, cols=I32, BLOCK=Const(64))
def softmax(out, inp, stride, cols, BLOCK: tl.constexpr):
    row = tl.program_id(axis=0)
    col = tl.arange(0, BLOCK)
    x = tl.load(inp + row * stride + col, mask=col < cols, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out + row * stride + col, e / tl.sum(e, axis=0), mask=col < cols)


@kernel(a=F16, b=F16, c=F16, K=I32, BM=Const(32), BN=Const(16), BK=Const(8))
def matmul(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.arange(0, BM)
    rn = tl.arange(0, BN)
    rk = tl.arange(0, BK)
    pa = a + rm[:, None] * K + rk[None, :]
    pb = b + rk[:, None] * BN + rn[None, :]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in tl.range(0, K, BK, num_stages=3):
        acc = tl.dot(tl.load(pa, mask=rk[None, :] < K - k, other=0.0), tl.load(pb), acc)
        pa += BK
        pb += BK * BN
    tl.store(c + rm[:, None] * BN + rn[None, :], acc.to(tl.float16))


@kernel(x=F32, n=I32)
def assignments(x, n):
    a = b = n + 1
    c, (d, e) = a, (b, n)
    first, *rest = (c, d, e, 2.0)
    a += 1
    b *= a
    count: tl.int32 = b - c
    SIZE: tl.constexpr = 8 // 2
    if (m := count * 2) > 0:
        count = m
    rest = rest + (first,)
    tl.store(x + tl.arange(0, SIZE), rest[-2] + count + len(rest[1:]))


@kernel(x=F32, n=I32)
def branches(x, n):
    i = tl.program_id(0)
    v = tl.load(x + i)
    if i == 0:
        v = v + 1.0
    elif n > 3:
        v = v * 2.0
        w = v
    else:
        pass
    if SCALE > 2:
        v = v - 0.5
    else:
        v = tl.missing(v)
    w = v if i > n else -v
    tl.store(x + i, w)


@jit
def pick(x, n):
    if n == 0:
        return x
    y = x * 2.0
    if n < 0:
        y = -y
        return y + 1.0
    return y


@kernel(x=F32, n=I32)
def early_return(x, n):
    i = tl.program_id(0)
    if i >= n:
        return
    v = pick(tl.load(x + i), n)
    if v > 1.0:
        if n == 5:
            return
        v = 1.0
    tl.store(x + i, v)


@kernel(x=F32, n=I32)
def loops(x, n):
    total = 0.0
    pair = (n, 1.0)
    for i in range(n):
        total += tl.load(x + i)
        pair = (pair[0] + 1, pair[1] * 2.0)
    for i in range(10, 0, -3):
        total += i
    for i in tl.static_range(3):
        if i == 1:
            continue
        total += i
        if i == 2:
            break
    for name in NAMES:
        total += len(name)
    k = n
    while (k > 0) and (total < 100.0):
        k = k // 2
        total += 1.0
    tl.store(x, total + pair[0] * pair[1])


@jit
def combine(a_value, a_index, b_value, b_index):
    take = a_value > b_value
    return tl.where(take, a_value, b_value), tl.where(take, a_index, b_index)


@jit
def multiply(a, b):
    return a * b


@kernel(x=F32, out=F32, N=Const(16))
def reductions(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    best, where = tl.reduce((v, i), 0, combine)
    product = tl.reduce(v, 0, multiply)
    running = tl.associative_scan(v, 0, multiply)
    tl.store(out + i, running * product + best + where + v.sum(axis=0))


@jit
def scaled(x, factor=2.0, *, BIAS: tl.constexpr = 1):
    return x * factor + BIAS


@jit
def apply(fn, *values):
    return fn(*values)


@kernel(x=F32, ACT=Const("relu"), N=Const(8))
def calls(x, ACT: tl.constexpr, N: tl.constexpr):
    p = x + tl.arange(0, N)
    v = scaled(tl.load(p), BIAS=3)
    v = scaled(v, 0.5)
    v = apply(scaled, v, 1.5)
    v = v + apply(multiply, v, v)
    if ACT == "relu":
        v = tl.maximum(v, 0.0)
    tl.store(p, v)


@kernel(x=F32, N=Const(8))
def constants(x, N: tl.constexpr):
    tl.static_assert(N % 2 == 0, f"N is {N}")
    assert N > 0
    halves = [N // d for d in (1, 2, 4) if d > 1]
    size = max(halves) + min(1, 2) - abs(-1)
    shape: tl.constexpr = (size, len(halves))
    total = sum(halves) + int(2.5) + (7 - 9) // 2 + (-7) % 3 + 2**3
    flags = isinstance(N, int) and not isinstance(x, tl.constexpr)
    if flags and hasattr(x, "to") and "a" in ("a", "b") and N is not None:
        total = total + (1 if 1 < N < 100 else 0)
    tl.store(x + tl.arange(0, size), tl.full((size,), total, tl.float32) + float("1e3"))
    for i, (a, b) in enumerate(zip(halves, range(2))):
        tl.store(x + i, a + b)
    tl.store(x + WIDTH + shape[1], 1.0)


@kernel(x=F32, y="*i64", N=Const(8))
def attributes(x, y, N: tl.constexpr):
    v = tl.load(x + tl.arange(0, N))
    w = v[:, None] + v[None, :]
    z = w.T.to(y.dtype.element_ty)
    if v.dtype.is_floating() and w.type.scalar == tl.float32:
        z = z + w.shape[1] + w.numel
    tl.store(y + tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :], z)


@kernel(x="*i32", n=I32, m="u32")
def operators(x, n, m):
    a = (n & 3) | (n ^ 5) + (n << 1) - (n >> 2)
    b = ~a if not (a != 0) else -a
    c = 1 < a <= n
    d = (a > 0 and b > 0) or c
    e = a // 3 + a % 3
    tl.store(x, e + d.to(tl.int32))
    tl.store(x + 1, n / 2 + m)
    assert a > 0, "a is positive"
    print("a", a)


@kernel(x="*i32", n=I32, N=Const(8))
def atomics(x, n, N: tl.constexpr):
    i = tl.arange(0, N)
    keep = (i * n) % 7 > 3
    old = tl.atomic_add(x + i, tl.where(keep, 1, 0), mask=i < 4)
    tl.atomic_max(x, tl.sum(old, axis=0))


@kernel(x=F32, n=I32)
def nested(x, n):
    for i in range(n):
        for j in range(i):
            v = tl.load(x + j)
            if v > 0.0:
                v = v + i
                while v > 10.0:
                    v = v / 2
            tl.store(x + j, v)


@kernel(x="*i32", n=I32)
def leaving_early(x, n):
    total = 0
    for i in range(n):
        number = tl.load(x + i)
        if number == 0:
            continue
        if number < 0:
            break
        total += number
    else:
        total = -1
    while True:
        total += 1
        if total > 100:
            last = total * 2
            break
        if total == n:
            return
    tl.store(x, last)


@kernel(x="*i32", n=I32)
def conditions(x, n):
    if n > 3 and n < 9 or n == 1:
        tl.store(x, 1)
    if n > 0 and tl.load(x + n) > 0:
        tl.store(x, 2)
    if n == 0 or 7 // n > 2:
        tl.store(x, 3)
    i = 0
    while i < n and tl.load(x + i) != 3:
        i += 1
        if i == 5:
            break
    tl.store(x, i)
