# The cells of the pictures in docs/, recorded by
#   sudo CELLS=docs/pictures/notebook.py RECORD=/tmp/notebook.arrows scripts/demo.sh
# %%
import numpy as np
import pandas as pd
# %%
rng = np.random.default_rng(0)
df = pd.DataFrame(rng.random((1_500_000, 12)), columns=list("abcdefghijkl"))
# %%
def features(df):
    squares = df.to_numpy() ** 2          # a temporary as large as the data
    scaled = (squares - squares.mean(0)) / squares.std(0)
    return scaled.astype("float32")

X = features(df)
# %%
def fit(X, y, steps=3):
    w = np.zeros(X.shape[1], dtype="float32")
    for _ in range(steps):
        error = X @ w - y
        w -= 0.1 * (X * error[:, None]).mean(0)   # one more copy of X, for a moment
    return w

weights = fit(X, df.a.to_numpy("float32"))
# %%
history = []
# %%
history.append(X[:400_000].copy())        # grows with each run
# %%
history.append(X[:400_000].copy())        # grows with each run
# %%
history.append(X[:400_000].copy())        # grows with each run
# %%
!/usr/bin/python3 -c "b = bytearray(200 << 20)"
# %%
def check(frame):
    wide = frame.to_numpy().copy()
    raise ValueError("a column is missing")

check(df[["a", "b", "c"]])
# %%
df.describe()
