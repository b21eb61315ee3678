"""Kernels that benchmarks/nvidia.py runs under two compilers: the text below is all that both see.

For Triton the two imports are replaced, nothing else.
"""

import sectile as dsl
import sectile.language as tl


@dsl.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(out_ptr + i, tl.load(x_ptr + i, mask=mask) + tl.load(y_ptr + i, mask=mask), mask=mask)


@dsl.jit
def copy(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i, mask=i < n), mask=i < n)


@dsl.jit
def softmax(out_ptr, x_ptr, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride + i, mask=i < n, other=-float("inf")).to(tl.float32)
    e = tl.exp(x - tl.max(x, axis=0))
    y = e / tl.sum(e, axis=0)
    tl.store(out_ptr + row * stride + i, y.to(out_ptr.dtype.element_ty), mask=i < n)


@dsl.jit
def layer_norm(x_ptr, y_ptr, w_ptr, b_ptr, mean_ptr, rstd_ptr, stride, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    mask = i < n
    x = tl.load(x_ptr + row * stride + i, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / n
    centred = tl.where(mask, x - mean, 0.0)
    rstd = 1 / tl.sqrt(tl.sum(centred * centred, axis=0) / n + eps)
    w = tl.load(w_ptr + i, mask=mask).to(tl.float32)
    b = tl.load(b_ptr + i, mask=mask).to(tl.float32)
    y = centred * rstd * w + b
    tl.store(y_ptr + row * stride + i, y.to(y_ptr.dtype.element_ty), mask=mask)
    tl.store(mean_ptr + row, mean)
    tl.store(rstd_ptr + row, rstd)


@dsl.jit
def layer_norm_backward(
    x_ptr, dy_ptr, w_ptr, mean_ptr, rstd_ptr, dx_ptr, dw_ptr, db_ptr, rows, n, BLOCK: tl.constexpr
):
    program = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    mask = i < n
    w = tl.load(w_ptr + i, mask=mask, other=0.0).to(tl.float32)
    dw = tl.zeros((BLOCK,), dtype=tl.float32)
    db = tl.zeros((BLOCK,), dtype=tl.float32)
    for row in range(program, rows, tl.num_programs(0)):
        x = tl.load(x_ptr + row * n + i, mask=mask, other=0.0).to(tl.float32)
        dy = tl.load(dy_ptr + row * n + i, mask=mask, other=0.0).to(tl.float32)
        rstd = tl.load(rstd_ptr + row)
        x_hat = tl.where(mask, (x - tl.load(mean_ptr + row)) * rstd, 0.0)
        g = dy * w
        along_x = tl.sum(g * x_hat, axis=0) / n
        along_one = tl.sum(g, axis=0) / n
        dx = (g - along_one - x_hat * along_x) * rstd
        tl.store(dx_ptr + row * n + i, dx.to(dx_ptr.dtype.element_ty), mask=mask)
        dw += dy * x_hat
        db += dy
    tl.store(dw_ptr + program * n + i, dw, mask=mask)
    tl.store(db_ptr + program * n + i, db, mask=mask)


@dsl.jit
def add_partial_sums(
    dw_ptr, db_ptr, out_w_ptr, out_b_ptr, rows, n, BM: tl.constexpr, BN: tl.constexpr
):
    j = tl.program_id(0) * BN + tl.arange(0, BN)
    w = tl.zeros((BM, BN), dtype=tl.float32)
    b = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, rows, BM):
        i = start + tl.arange(0, BM)
        mask = (i[:, None] < rows) & (j[None, :] < n)
        at = i[:, None] * n + j[None, :]
        w += tl.load(dw_ptr + at, mask=mask, other=0.0)
        b += tl.load(db_ptr + at, mask=mask, other=0.0)
    tl.store(out_w_ptr + j, tl.sum(w, axis=0).to(out_w_ptr.dtype.element_ty), mask=j < n)
    tl.store(out_b_ptr + j, tl.sum(b, axis=0).to(out_b_ptr.dtype.element_ty), mask=j < n)


@dsl.jit
def dropout(x_ptr, out_ptr, n, p, seed, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    x = tl.load(x_ptr + i, mask=mask)
    keep = tl.rand(seed, i) > p
    tl.store(out_ptr + i, tl.where(keep, x / (1 - p), 0.0), mask=mask)


@dsl.jit
def argmax(x_ptr, out_ptr, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride + i, mask=i < n, other=-float("inf"))
    tl.store(out_ptr + row, tl.argmax(x, axis=0))


@dsl.jit
def cumsum(x_ptr, out_ptr, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride + i, mask=i < n, other=0.0)
    tl.store(out_ptr + row * stride + i, tl.cumsum(x, axis=0), mask=i < n)


@dsl.jit
def sort(x_ptr, out_ptr, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    at = (tl.program_id(0) * ROWS + tl.arange(0, ROWS))[:, None] * BLOCK
    at += tl.arange(0, BLOCK)[None, :]
    tl.store(out_ptr + at, tl.sort(tl.load(x_ptr + at)))


@dsl.jit
def topk(x_ptr, out_ptr, ROWS: tl.constexpr, BLOCK: tl.constexpr, K: tl.constexpr):
    row = (tl.program_id(0) * ROWS + tl.arange(0, ROWS))[:, None]
    x = tl.load(x_ptr + row * BLOCK + tl.arange(0, BLOCK)[None, :])
    tl.store(out_ptr + row * K + tl.arange(0, K)[None, :], tl.topk(x, K))


@dsl.jit
def histogram(x_ptr, out_ptr, n, BLOCK: tl.constexpr, BINS: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    counts = tl.histogram(tl.load(x_ptr + i, mask=i < n, other=0), BINS, mask=i < n)
    tl.atomic_add(out_ptr + tl.arange(0, BINS), counts)


@dsl.jit
def transpose(x_ptr, out_ptr, rows, columns, BM: tl.constexpr, BN: tl.constexpr):
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    j = tl.program_id(1) * BN + tl.arange(0, BN)
    mask = (i < rows)[:, None] & (j < columns)[None, :]
    x = tl.load(x_ptr + i[:, None] * columns + j[None, :], mask=mask)
    mask_t = (j < columns)[:, None] & (i < rows)[None, :]
    tl.store(out_ptr + j[:, None] * rows + i[None, :], tl.trans(x), mask=mask_t)


@dsl.jit
def matmul(
    a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
    GROUP: tl.constexpr, PRECISION: tl.constexpr = None,
):  # fmt: skip
    program = tl.program_id(0)
    tiles_m = tl.cdiv(M, BM)
    tiles_n = tl.cdiv(N, BN)
    in_group = GROUP * tiles_n
    first = program // in_group * GROUP
    height = min(tiles_m - first, GROUP)
    m = (first + program % in_group % height) * BM + tl.arange(0, BM)
    n = (program % in_group // height) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    a = a_ptr + (m % M)[:, None] * K + k[None, :]
    b = b_ptr + k[:, None] * N + (n % N)[None, :]
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, K, BK):
        x = tl.load(a, mask=k[None, :] < K - start, other=0.0)
        y = tl.load(b, mask=k[:, None] < K - start, other=0.0)
        total = tl.dot(x, y, total, input_precision=PRECISION)
        a += BK
        b += BK * N
    mask = (m < M)[:, None] & (n < N)[None, :]
    tl.store(c_ptr + m[:, None] * N + n[None, :], total.to(c_ptr.dtype.element_ty), mask=mask)


@dsl.jit
def product_of_tiles(
    a_ptr, b_ptr, c_ptr, stride, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    """c[i, j] = a[i] @ b[j] for matrices of a tile each: little more than stores."""
    i, j = tl.program_id(0), tl.program_id(1)
    m, n, k = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    a = tl.load(a_ptr + i * BM * BK + m[:, None] * BK + k[None, :])
    b = tl.load(b_ptr + j * BK * BN + k[:, None] * BN + n[None, :])
    c = c_ptr + (i * BM + m)[:, None] * stride + (j * BN + n)[None, :]
    tl.store(c, tl.dot(a, b).to(c_ptr.dtype.element_ty))


@dsl.jit
def greatest_of_columns(x_ptr, out_ptr, columns, BLOCK: tl.constexpr):
    """out[j] = the greatest of out[j] and of all x[i] with i % columns == j."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_max(out_ptr + i % columns, tl.load(x_ptr + i), sem="relaxed")


@dsl.jit
def product(
    a_ptr, b_ptr, c_ptr, M, N, K, a_row, a_column, b_row, b_column, BM: tl.constexpr,
    BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr, SUM: tl.constexpr,
):  # fmt: skip
    """c = a b, operands of any strides, as Triton's tutorial 03 has it."""
    program = tl.program_id(0)
    tiles_m = tl.cdiv(M, BM)
    tiles_n = tl.cdiv(N, BN)
    in_group = GROUP * tiles_n
    first = program // in_group * GROUP
    height = min(tiles_m - first, GROUP)
    m = (first + program % in_group % height) * BM + tl.arange(0, BM)
    n = (program % in_group // height) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    a = a_ptr + (m % M)[:, None] * a_row + k[None, :] * a_column
    b = b_ptr + k[:, None] * b_row + (n % N)[None, :] * b_column
    total = tl.zeros((BM, BN), dtype=SUM)
    for start in range(0, K, BK):
        x = tl.load(a, mask=k[None, :] < K - start, other=0)
        y = tl.load(b, mask=k[:, None] < K - start, other=0)
        total = tl.dot(x, y, total)
        a += BK * a_column
        b += BK * b_row
    mask = (m < M)[:, None] & (n < N)[None, :]
    tl.store(c_ptr + m[:, None] * N + n[None, :], total.to(c_ptr.dtype.element_ty), mask=mask)


@dsl.jit
def product_of_blocks(
    a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
    SUM: tl.constexpr, TURNED: tl.constexpr, OUT: tl.constexpr,
):  # fmt: skip
    """The same of tensor descriptors, b that of the N x K array where TURNED."""
    program = tl.program_id(0)
    tiles_m = tl.cdiv(M, BM)
    in_group = GROUP * tl.cdiv(N, BN)
    first = program // in_group * GROUP
    height = min(tiles_m - first, GROUP)
    m = (first + program % in_group % height) * BM
    n = (program % in_group // height) * BN
    total = tl.zeros((BM, BN), dtype=SUM)
    for k in range(0, K, BK):
        x = a.load([m, k])
        if TURNED:
            y = b.load([n, k]).T
        else:
            y = b.load([k, n])
        total = tl.dot(x, y, total)
    c.store([m, n], total.to(OUT))


@dsl.jit
def batched(
    a, b, c, M, N, K, batch_a, row_a, batch_b, row_b, batch_c, row_c, BM: tl.constexpr, BN: tl.constexpr,
    BK: tl.constexpr,
):  # fmt: skip
    """Products of batches through pointers: arrays of [batches, rows, columns] with any strides but the last."""
    batch, program = tl.program_id(1), tl.program_id(0)
    m = program // tl.cdiv(N, BN) * BM + tl.arange(0, BM)
    n = program % tl.cdiv(N, BN) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    left = a + batch * batch_a + m[:, None] * row_a + k[None, :]
    right = b + batch * batch_b + k[:, None] * row_b + n[None, :]
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, K, BK):
        x = tl.load(left, mask=(m[:, None] < M) & (k[None, :] < K - start), other=0.0)
        y = tl.load(right, mask=(k[:, None] < K - start) & (n[None, :] < N), other=0.0)
        total = tl.dot(x, y, total)
        left += BK
        right += BK * row_b
    inside = (m[:, None] < M) & (n[None, :] < N)
    tl.store(
        c + batch * batch_c + m[:, None] * row_c + n[None, :], total.to(tl.float16), mask=inside
    )


@dsl.jit
def batched_of_blocks(a, b, c, K, across, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """The same of tensor descriptors with three axes."""
    batch, program = tl.program_id(1), tl.program_id(0)
    m, n = program // across * BM, program % across * BN
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        x = a.load([batch, m, k]).reshape(BM, BK)
        y = b.load([batch, k, n]).reshape(BK, BN)
        total = tl.dot(x, y, total)
    c.store([batch, m, n], total.to(tl.float16).reshape(1, BM, BN))


@dsl.jit
def product_with_digits(
    a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
    MOST: tl.constexpr, UNROLL: tl.constexpr,
):  # fmt: skip
    """c = a b^T of fp8, of whose sums no more than MOST products are added with fewer digits than fp32 has."""
    program = tl.program_id(0)
    tiles_m = tl.cdiv(M, BM)
    in_group = GROUP * tl.cdiv(N, BN)
    first = program // in_group * GROUP
    height = min(tiles_m - first, GROUP)
    m = (first + program % in_group % height) * BM
    n = (program % in_group // height) * BN
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for k in tl.range(0, K, BK, loop_unroll_factor=UNROLL):
        total = tl.dot(a.load([m, k]), b.load([n, k]).T, total, max_num_imprecise_acc=MOST)
    c.store([m, n], total.to(tl.bfloat16))


@dsl.jit
def product_of_scaled_blocks(
    a, b, c, a_scales, b_scales, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
    GROUP: tl.constexpr, UNROLL: tl.constexpr,
):  # fmt: skip
    """The same of fp8 with a scale for 128 of each row of a (a_scales: K / 128 x M), and for 128 x 128 of b (b_scales:
    N / 128 x K / 128), as DeepSeek's models have them; BK is 128, and BN divides it."""
    program = tl.program_id(0)
    tiles_m = tl.cdiv(M, BM)
    in_group = GROUP * tl.cdiv(N, BN)
    first = program // in_group * GROUP
    height = min(tiles_m - first, GROUP)
    m = (first + program % in_group % height) * BM
    n = (program % in_group // height) * BN
    rows = m + tl.arange(0, BM)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for k in tl.range(0, K, BK, loop_unroll_factor=UNROLL):
        scale = tl.load(a_scales + k // 128 * M + rows) * tl.load(
            b_scales + n // 128 * (K // 128) + k // 128
        )
        total += tl.dot(a.load([m, k]), b.load([n, k]).T) * scale[:, None]
    c.store([m, n], total.to(tl.bfloat16))


@dsl.jit
def grouped(
    a_list, b_list, c_list, sizes, rows, products, STEP: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
    BK: tl.constexpr,
):  # fmt: skip
    """c[i] = a[i] @ b[i] in one launch, as Triton's tutorial 08 writes it: lists of addresses, of M, N and K, and of
    the rows' lengths. Programs walk over the tiles of all products in turn; blocks divide the products."""
    tile = tl.program_id(0)
    done = 0
    for product in range(products):
        M = tl.load(sizes + 3 * product)
        N = tl.load(sizes + 3 * product + 1)
        K = tl.load(sizes + 3 * product + 2)
        across = tl.cdiv(N, BN)
        tiles = tl.cdiv(M, BM) * across
        while tile >= done and tile < done + tiles:
            row_a = tl.load(rows + 3 * product)
            row_b = tl.load(rows + 3 * product + 1)
            row_c = tl.load(rows + 3 * product + 2)
            a = tl.load(a_list + product).to(tl.pointer_type(tl.float16))
            b = tl.load(b_list + product).to(tl.pointer_type(tl.float16))
            c = tl.load(c_list + product).to(tl.pointer_type(tl.float16))
            m = (tile - done) // across * BM + tl.arange(0, BM)
            n = (tile - done) % across * BN + tl.arange(0, BN)
            k = tl.arange(0, BK)
            left = a + m[:, None] * row_a + k[None, :]
            right = b + k[:, None] * row_b + n[None, :]
            total = tl.zeros((BM, BN), dtype=tl.float32)
            for _ in range(0, tl.cdiv(K, BK)):
                tl.multiple_of(left, [16, 16])
                tl.multiple_of(right, [16, 16])
                total += tl.dot(tl.load(left), tl.load(right))
                left += BK
                right += BK * row_b
            tl.store(c + row_c * m[:, None] + n[None, :], total.to(tl.float16))
            tile += STEP
        done += tiles


@dsl.jit
def grouped_of_blocks(
    a_list, b_list, c_list, sizes, rows, products, STEP: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
    BK: tl.constexpr,
):  # fmt: skip
    """The same by descriptors made in the kernel; the arrays of b are N x K."""
    tile = tl.program_id(0)
    done = 0
    for product in range(products):
        M = tl.load(sizes + 3 * product)
        N = tl.load(sizes + 3 * product + 1)
        K = tl.load(sizes + 3 * product + 2)
        across = tl.cdiv(N, BN)
        tiles = tl.cdiv(M, BM) * across
        if tile >= done and tile < done + tiles:
            row_a = tl.load(rows + 3 * product)
            row_b = tl.load(rows + 3 * product + 1)
            row_c = tl.load(rows + 3 * product + 2)
            a = tl.load(a_list + product).to(tl.pointer_type(tl.float16))
            b = tl.load(b_list + product).to(tl.pointer_type(tl.float16))
            c = tl.load(c_list + product).to(tl.pointer_type(tl.float16))
            left = tl.make_tensor_descriptor(a, [M, K], [row_a, 1], [BM, BK])
            right = tl.make_tensor_descriptor(b, [N, K], [row_b, 1], [BN, BK])
            out = tl.make_tensor_descriptor(c, [M, N], [row_c, 1], [BM, BN])
            while tile >= done and tile < done + tiles:
                m = (tile - done) // across * BM
                n = (tile - done) % across * BN
                total = tl.zeros((BM, BN), dtype=tl.float32)
                for k in range(0, tl.cdiv(K, BK)):
                    total += tl.dot(left.load([m, k * BK]), right.load([n, k * BK]).T)
                out.store([m, n], total.to(tl.float16))
                tile += STEP
        done += tiles


@dsl.jit
def place_of_tile(tile, across, down, GROUP: tl.constexpr):
    first = tile // (GROUP * across) * GROUP
    height = min(down - first, GROUP)
    return first + tile % height, tile % (GROUP * across) // height


@dsl.jit
def persistent(
    a_ptr, b_ptr, c_ptr, M, N, K, a_row, a_column, b_row, b_column, c_row, BM: tl.constexpr, BN: tl.constexpr,
    BK: tl.constexpr, GROUP: tl.constexpr, STEP: tl.constexpr,
):  # fmt: skip
    """c = a b by programs that walk over tiles, as Triton's tutorial 09 has it: by pointers, and with a number of its
    own for the tile that is stored."""
    down, across, rounds = tl.cdiv(M, BM), tl.cdiv(N, BN), tl.cdiv(K, BK)
    stored = tl.program_id(0) - STEP
    for tile in tl.range(tl.program_id(0), down * across, STEP, flatten=True):
        i, j = place_of_tile(tile, across, down, GROUP)
        m = i * BM + tl.arange(0, BM)
        n = j * BN + tl.arange(0, BN)
        m = tl.max_contiguous(tl.multiple_of(tl.where(m < M, m, 0), BM), BM)
        n = tl.max_contiguous(tl.multiple_of(tl.where(n < N, n, 0), BN), BN)
        total = tl.zeros((BM, BN), dtype=tl.float32)
        for number in range(rounds):
            k = number * BK + tl.arange(0, BK)
            left = tl.arange(0, BK) < K - number * BK
            x = tl.load(
                a_ptr + (m[:, None] * a_row + k[None, :] * a_column), mask=left[None, :], other=0.0
            )
            y = tl.load(
                b_ptr + (k[:, None] * b_row + n[None, :] * b_column), mask=left[:, None], other=0.0
            )
            total = tl.dot(x, y, total)
        stored += STEP
        i, j = place_of_tile(stored, across, down, GROUP)
        m = i * BM + tl.arange(0, BM)
        n = j * BN + tl.arange(0, BN)
        inside = (m[:, None] < M) & (n[None, :] < N)
        tl.store(
            c_ptr + c_row * m[:, None] + n[None, :], total.to(c_ptr.dtype.element_ty), mask=inside
        )


@dsl.jit
def persistent_of_blocks(
    a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
    STEP: tl.constexpr, HALVES: tl.constexpr,
):  # fmt: skip
    """The same by descriptors made in the kernel; b is N x K. HALVES: of a tile, each narrowed and stored by itself."""
    down, across, rounds = tl.cdiv(M, BM), tl.cdiv(N, BN), tl.cdiv(K, BK)
    left = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [BM, BK])
    right = tl.make_tensor_descriptor(b_ptr, [N, K], [K, 1], [BN, BK])
    out = tl.make_tensor_descriptor(c_ptr, [M, N], [N, 1], [BM, BN // 2 if HALVES else BN])
    stored = tl.program_id(0) - STEP
    for tile in tl.range(tl.program_id(0), down * across, STEP, flatten=True):
        i, j = place_of_tile(tile, across, down, GROUP)
        total = tl.zeros((BM, BN), dtype=tl.float32)
        for number in range(rounds):
            x = left.load([i * BM, number * BK])
            total = tl.dot(x, right.load([j * BN, number * BK]).T, total)
        stored += STEP
        i, j = place_of_tile(stored, across, down, GROUP)
        if HALVES:
            first, second = tl.split(tl.permute(tl.reshape(total, (BM, 2, BN // 2)), (0, 2, 1)))
            out.store([i * BM, j * BN], first.to(c_ptr.dtype.element_ty))
            out.store([i * BM, j * BN + BN // 2], second.to(c_ptr.dtype.element_ty))
        else:
            out.store([i * BM, j * BN], total.to(c_ptr.dtype.element_ty))


@dsl.jit
def attention(
    out_ptr, q_ptr, k_ptr, v_ptr, length, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """Heads of length x D, contiguous; `length` is a multiple of the blocks, `scale` is positive
    and has log2 e in it.
    """
    head = tl.program_id(1) * length * D
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    rows = head + m[:, None] * D + d[None, :]
    q = tl.load(q_ptr + rows)
    top = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    mixed = tl.zeros((BM, D), tl.float32)
    for start in range(0, length, BN):
        columns = head + (start + tl.arange(0, BN))[:, None] * D + d[None, :]
        scores = tl.dot(q, tl.trans(tl.load(k_ptr + columns)))
        v = tl.load(v_ptr + columns)
        new_top = tl.maximum(top, tl.max(scores, axis=1) * scale)
        shrink = tl.exp2(top - new_top)
        weights = tl.exp2(scores * scale - new_top[:, None])
        total = total * shrink + tl.sum(weights, axis=1)
        mixed = tl.dot(weights.to(v.dtype), v, mixed * shrink[:, None])
        top = new_top
    tl.store(out_ptr + rows, (mixed / total[:, None]).to(out_ptr.dtype.element_ty))


@dsl.jit
def attention_of_heads(
    q, k, v, out, heads, batch_stride, head_stride, row_stride, length, scale, D: tl.constexpr, BM: tl.constexpr,
    BN: tl.constexpr,
):  # fmt: skip
    """The same by block pointers from each head on, as kernels before descriptors have it."""
    program = tl.program_id(1)
    start = (program // heads).to(tl.int64) * batch_stride + (program % heads).to(
        tl.int64
    ) * head_stride
    shape, strides, first = (length, D), (row_stride, 1), (tl.program_id(0) * BM, 0)
    keys = tl.make_block_ptr(k + start, (D, length), (1, row_stride), (0, 0), (D, BN), (0, 1))
    values = tl.make_block_ptr(v + start, shape, strides, (0, 0), (BN, D), (1, 0))
    queries = tl.load(tl.make_block_ptr(q + start, shape, strides, first, (BM, D), (1, 0)))
    top = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    mixed = tl.zeros((BM, D), tl.float32)
    for _ in range(0, length, BN):
        scores = tl.dot(queries, tl.load(keys))
        new_top = tl.maximum(top, tl.max(scores, axis=1) * scale)
        shrink = tl.exp2(top - new_top)
        weights = tl.exp2(scores * scale - new_top[:, None])
        total = total * shrink + tl.sum(weights, axis=1)
        mixed = tl.dot(weights.to(tl.float16), tl.load(values), mixed * shrink[:, None])
        top = new_top
        keys = tl.advance(keys, (0, BN))
        values = tl.advance(values, (BN, 0))
    results = tl.make_block_ptr(out + start, shape, strides, first, (BM, D), (1, 0))
    tl.store(results, (mixed / total[:, None]).to(tl.float16))


@dsl.jit
def attention_of_blocks(
    q, k, v, out, length, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, CAUSAL: tl.constexpr,
    OF_FP8: tl.constexpr,
):  # fmt: skip
    """The same of tensor descriptors of (heads * length) x D; where CAUSAL, no row sees later ones. OF_FP8: q, k and v
    are of fp8, and v of (heads * D) x length, as Hopper's products want it."""
    head = tl.program_id(1) * length
    first = tl.program_id(0) * BM
    if CAUSAL:
        first = (tl.num_programs(0) - 1 - tl.program_id(0)) * BM
    queries = q.load([head + first, 0])
    top = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    mixed = tl.zeros((BM, D), tl.float32)
    end = length
    if CAUSAL:
        end = first + BM
    for start in range(0, end, BN):
        scores = tl.dot(queries, k.load([head + start, 0]).T)
        if CAUSAL:
            seen = (first + tl.arange(0, BM))[:, None] >= (start + tl.arange(0, BN))[None, :]
            scores = tl.where(seen, scores, -float("inf"))
        new_top = tl.maximum(top, tl.max(scores, axis=1) * scale)
        shrink = tl.exp2(top - new_top)
        weights = tl.exp2(scores * scale - new_top[:, None])
        total = total * shrink + tl.sum(weights, axis=1)
        if OF_FP8:
            values = v.load([tl.program_id(1) * D, start]).T
            mixed = tl.dot(weights.to(tl.float8e4nv), values, mixed * shrink[:, None])
        else:
            mixed = tl.dot(
                weights.to(tl.float16), v.load([head + start, 0]), mixed * shrink[:, None]
            )
        top = new_top
    out.store([head + first, 0], (mixed / total[:, None]).to(tl.float16))


@dsl.jit
def decode(
    q, k, v, table, parts, tops, length, scale, GROUP: tl.constexpr, ROWS: tl.constexpr, D: tl.constexpr,
    BN: tl.constexpr, BLOCKS: tl.constexpr, TABLE: tl.constexpr,
):  # fmt: skip
    """One query of each of GROUP heads, which share keys and values of length x D, on a part of these: what the part
    gives, normalised, and the logarithm to base 2 of its weights' sum. Where BLOCKS, k and v are tensor descriptors;
    where TABLE, the table says which row each of them is.
    """
    head, part, span = tl.program_id(0), tl.program_id(1), tl.cdiv(length, tl.num_programs(1))
    span = tl.cdiv(span, BN) * BN
    row = tl.arange(0, ROWS)
    d = tl.arange(0, D)
    in_group = row < GROUP
    queries = tl.load(
        q + (head * GROUP + row[:, None]) * D + d[None, :], mask=in_group[:, None], other=0.0
    )
    top = tl.full((ROWS,), -float("inf"), tl.float32)
    total = tl.zeros((ROWS,), tl.float32)
    mixed = tl.zeros((ROWS, D), tl.float32)
    for start in range(part * span, min(part * span + span, length), BN):
        n = start + tl.arange(0, BN)
        rows = head * length + n
        if TABLE:
            rows = tl.load(table + rows, mask=n < length, other=0)
        columns = rows[:, None] * D + d[None, :]
        if BLOCKS:
            keys = k.load([head * length + start, 0])
        else:
            keys = tl.load(k + columns, mask=(n < length)[:, None], other=0.0)
        scores = tl.where(n < length, tl.dot(queries, keys.T), -float("inf"))
        if BLOCKS:
            values = v.load([head * length + start, 0])
        else:
            values = tl.load(v + columns, mask=(n < length)[:, None], other=0.0)
        new_top = tl.maximum(top, tl.max(scores, axis=1) * scale)
        shrink = tl.exp2(top - new_top)
        weights = tl.exp2(scores * scale - new_top[:, None])
        total = total * shrink + tl.sum(weights, axis=1)
        mixed = tl.dot(weights.to(values.dtype), values, mixed * shrink[:, None])
        top = new_top
    total = tl.maximum(total, 1.0)  # the largest weight is 1; without keys there is none
    place = (head * tl.num_programs(1) + part) * GROUP + row
    tl.store(
        parts + place[:, None] * D + d[None, :], mixed / total[:, None], mask=in_group[:, None]
    )
    tl.store(tops + place, top + tl.log2(total), mask=in_group)


@dsl.jit
def combine(out, parts, tops, GROUP: tl.constexpr, D: tl.constexpr, PARTS: tl.constexpr):
    """Puts together what `decode` made of PARTS parts, a power of two, of a head's query."""
    head, row = tl.program_id(0), tl.program_id(1)
    place = (head * PARTS + tl.arange(0, PARTS)) * GROUP + row
    d = tl.arange(0, D)
    top = tl.load(tops + place)
    weights = tl.exp2(top - tl.max(top, axis=0))
    values = tl.load(parts + place[:, None] * D + d[None, :])
    mixed = tl.sum(values * weights[:, None], axis=0) / tl.sum(weights, axis=0)
    tl.store(out + (head * GROUP + row) * D + d, mixed.to(out.dtype.element_ty))
