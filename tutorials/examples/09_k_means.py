"""Example 9: a step of k-means: the nearest center of each point, and the centers of the next step.

For a point p and a center c, ``|p - c|² = |p|² - 2 p·c + |c|²``, and the first term is the same for all centers. So the nearest one is the one with the least
``|c|² - 2 p·c``: a matrix product, and an argmin along the centers. `tl.min(..., return_indices=True)` gives the least value and where it is.

The new centers are means of points, so sums over programs: atomic additions. Those of floats come in the order in which programs arrive, so the last digits of the centers differ from
run to run; the labels do not.
"""

import numpy as np

import sectile as st
import sectile.language as tl


@st.jit
def assign(
    labels, costs, sums, counts, points, centers, n, k,
    DIMENSIONS: tl.constexpr, CENTERS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    c = tl.arange(0, CENTERS)
    d = tl.arange(0, DIMENSIONS)
    inside = i < n
    p = tl.load(points + i[:, None] * DIMENSIONS + d[None, :], mask=inside[:, None], other=0.0)
    m = tl.load(centers + c[:, None] * DIMENSIONS + d[None, :], mask=c[:, None] < k, other=0.0)
    product = tl.dot(p, tl.trans(m), input_precision="ieee")
    cost = tl.sum(m * m, axis=1)[None, :] - 2 * product
    cost = tl.where(
        c[None, :] < k, cost, float("inf")
    )  # centers beyond the last one are never chosen
    least, nearest = tl.min(cost, axis=1, return_indices=True)
    tl.store(labels + i, nearest, mask=inside)
    tl.store(costs + i, least + tl.sum(p * p, axis=1), mask=inside)
    tl.atomic_add(sums + nearest[:, None] * DIMENSIONS + d[None, :], p, mask=inside[:, None])
    tl.atomic_add(counts + nearest, 1, mask=inside)


def step(points, centers):
    """Labels, squared distances, and the centers of the next step; a center without points stays where it is."""
    (n, dimensions), k = points.shape, len(centers)
    labels, costs = np.empty(n, np.int64), np.empty(n, np.float32)
    sums, counts = np.zeros_like(centers), np.zeros(k, np.int32)
    assign[(st.cdiv(n, 128),)](
        labels, costs, sums, counts, points, centers, n, k,
        DIMENSIONS=dimensions, CENTERS=max(16, st.next_power_of_2(k)), BLOCK=128,
    )  # fmt: skip
    found = counts[:, None] > 0
    return (
        labels,
        costs,
        np.where(found, sums / np.maximum(counts, 1)[:, None], centers).astype(np.float32),
    )


random = np.random.default_rng(0)
true_centers = 10 * random.standard_normal((12, 16), np.float32)
points = true_centers[random.integers(0, 12, 5000)] + random.standard_normal((5000, 16), np.float32)
centers = points[:12].copy()
for number in range(5):
    labels, costs, new_centers = step(points, centers)

    # The same in float64. A point as far from two centers may have either label.
    distances = ((points[:, None].astype(np.float64) - centers[None]) ** 2).sum(2)
    assert np.allclose(distances[np.arange(5000), labels], distances.min(1), rtol=1e-4, atol=1e-3)
    assert np.allclose(costs, distances.min(1), rtol=1e-4, atol=1e-2)
    means = [
        points[labels == c].mean(0, dtype=np.float64) for c in range(12) if (labels == c).any()
    ]
    assert np.allclose(new_centers[np.unique(labels)], means, atol=1e-4)

    print(f"step {number}: mean squared distance {costs.mean():.3f}")
    centers = new_centers
print("correct: True")
