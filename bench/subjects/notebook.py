"""A working day in small: the cells of a NumPy and pandas notebook, and a loop of plain Python. Run All takes some
seconds."""

CELLS = [
    "import io, math\nimport numpy as np\nimport pandas as pd",
    # load
    """rng = np.random.default_rng(7)
n = 800_000
sales = pd.DataFrame({"day": pd.Timestamp("2023-01-01") + pd.to_timedelta(rng.integers(0, 730, n), unit="D"),
                      "shop": rng.integers(0, 200, n), "product": rng.integers(0, 3000, n),
                      "units": rng.poisson(3, n), "price": rng.gamma(3, 9, n).round(2)})""",
    'text = sales.head(120_000).to_csv(index=False)\nlen(text)',
    'loaded = pd.read_csv(io.StringIO(text), parse_dates=["day"])\nloaded.dtypes',
    "sales.describe()",
    # clean
    'sales["revenue"] = sales.units * sales.price\nsales = sales[sales.units > 0].reset_index(drop=True)\nsales.head()',
    'sales["month"] = sales.day.dt.to_period("M").astype(str)\nsales.memory_usage(deep=True).sum()',
    # group, join, order
    'by_shop = sales.groupby("shop").agg(revenue=("revenue", "sum"), units=("units", "sum"), days=("day", "nunique"))\n'
    "by_shop.tail()",
    'monthly = sales.pivot_table(index="month", columns="shop", values="revenue", aggfunc="sum", fill_value=0)\n'
    "monthly.shape",
    """products = pd.DataFrame({"product": np.arange(3000), "cost": rng.gamma(2, 8, 3000),
                         "group": rng.choice(list("abcdefgh"), 3000)})
joined = sales.merge(products, on="product", how="left")
joined["margin"] = joined.revenue - joined.units * joined.cost""",
    'top = joined.sort_values(["group", "margin"], ascending=[True, False]).groupby("group").head(10)\nlen(top)',
    'smooth = monthly.rolling(3).mean().dropna()\nsmooth.iloc[-1].mean()',
    'labels = [f"{g}-{p % 17}" for g, p in zip(joined.group, joined["product"])]\nlen(set(labels))',
    'counts = pd.Series(labels).value_counts()\ncounts.head()',
    # arrays
    "x = rng.standard_normal((1200, 600))\ncovariance = x.T @ x / len(x)\n"
    "values, vectors = np.linalg.eigh(covariance)\nvalues[-1]",
    "signal = np.cumsum(rng.standard_normal(1 << 19))\nspectrum = np.abs(np.fft.rfft(signal)) ** 2\n"
    "int(spectrum[1:].argmax())",
    "ordered = np.sort(rng.random(3_000_000))\nordered[::600_000]",
    # data of a plot, without the display
    "heights, edges = np.histogram(joined.margin, bins=200)\n"
    "picture = np.histogram2d(joined.price, joined.margin, bins=100)[0]\npicture.max()",
    """def step(w, x, y, rate=0.1):
    return w - rate * x.T @ (1 / (1 + np.exp(-(x @ w))) - y) / len(y)

w, y = np.zeros(600), (x[:, 0] + 0.1 * rng.standard_normal(1200) > 0).astype(float)
for _ in range(250):
    w = step(w, x, y)
w[:3]""",
    "draws = [rng.choice(signal[:5000], 500).mean() for _ in range(4000)]\nnp.percentile(draws, [2.5, 97.5])",
    "del joined, labels, sales, ordered, x",
]

LOOP = """
def _loop(n):
    seen, total = {}, 0
    for i in range(n):
        seen[i & 1023] = str(i)
        total += len(seen[i & 1023])
    return total
_loop(%d)
"""
