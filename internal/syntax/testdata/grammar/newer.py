"""What Python got after 3.11, up to 3.15."""
type A = int
type B[T] = list[T]
type C[T: int = str, *Ts = *tuple[int], **P = [int]] = T
type D[T: (int, str),] = T
def f[T](a: T) -> T: return a
async def g[*Ts, **P](*a: *Ts): pass
class E[T: int](F[T], metaclass=G): pass
class H[T]: pass
f'{a['b']} {'c' 'd'} {f'{f"{e}"}'}'
f'{a  # comment
}'
f"""{a:{b}
c}"""
f'{'\n'.join(a)} {x!r:{'>'}{10}} {"'"}'
f'{x=!r:>{w}}{ x = }'
f'{"#" + x # comment
  = # another
}'
f'{(a
  + b):>5}'
try: pass
except A, B: pass
try: pass
except* A, B: pass
t'a{b!r:c}d' t"{e=}"
rt'\d{x}' Tr'{y:{z}}'
[*a for a in b]
{*a for a in b}
{**a for a in b}
(*a for a in b)
lazy import a.b as c, d
lazy from e import f
