x = 1
x = b'x' * (1 << 26)
y = x[1:]
del x, y
