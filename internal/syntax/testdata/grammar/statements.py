"""Every statement and expression that Python 3.11 has, for positions and fields. Nothing here runs."""
from __future__ import annotations

import a, b.c, d.e as f
from . import g
from .... import h as i
from ..j.k import (l, m as n,)
from o import *

x = y = z = 1; x += 1; x -= 1; x *= 1; x /= 1;
x //= 1; x %= 1; x @= 1; x &= 1; x |= 1; x ^= 1; x >>= 1; x <<= 1; x **= 1;
(x) = 1
(x): int = 2
x.y: int
x[0]: "text" = yield
a, *b = c = d, *e
[a, (b, c)], d.e, f[0] = range(3)
for a, (b, *c), d[e] in 1, *x, 2: pass
else: pass
for (x) in y: continue
for x, in y: break
del a, (b, c), [d], e.f, g[h],
del (a), b
assert x, "why"
assert (yield)
raise
raise A
raise A from B
global q, r
pass
if a: pass
elif b: pass
elif (c := d) and e:
    pass
else:
    pass

while a: pass
else: pass
while x := y:
    break

try: pass
except: pass
try:
    pass
except A: pass
except (A, B) as c: pass
else: pass
finally: pass
try: pass
finally: pass
try: pass
except* A: pass
except* (B, C) as d: pass

with a: pass
with a as b, c as (d, e), f as [g, *h]: pass
with (a): pass
with (a) as b: pass
with (a, b): pass
with (a, b) as c: pass
with (a as b, c as d,): pass
with (a, b as c): pass
with (yield): pass
with (x for x in y): pass
with (a := b): pass
with (a, b)[0]: pass
with (a)(b) as c, (d): pass
with (*a, b): pass
with a as b.c, d as e[f]: pass


@a
@b.c(d)
@e[f]
@(g := h)
@lambda x: x
def f(a, b: int = 1, /, c=2, *d: e, f, g: h = 3, **i: j) -> k: return
def g(*, a): return 1
def h(a, /): return 1, *b
def i(*a,): yield
def j(**a,): x = yield from b
def k(a, /, *, b): nonlocal a, b
def l(*a: *b): await c
async def m():
    async for x in y: pass
    else: pass
    async with a as b: pass
    async with (a, b as c): pass
    return [x async for x in y if await z async for a in b]
@a
async def n(): pass
@a
class B: pass
class C(): pass
class D(A, *b, metaclass=c, **d):
    x: int
    def f(self): return self

lambda: 0
lambda a, b=1, /, c=2, *d, e, f=3, **g: (a, b)
lambda *, a: a
lambda *a: a
lambda x: lambda y: x
a if b else c if d else e
a or b or c and d and not e
not not a
a < b <= c == d != e > f >= g in h not in i is j is not k
a | b ^ c & d << e >> f + g - h * i / j // k % l @ m ** n
-a ** -b
~-+a
(a or b) or c
((a) + b) * (c)
(a + b) + c
(a < b) < c
await a ** b
a.b.c(d)(e)[f][g:h].i
a[b, c], a[b,], a[:], a[::], a[b:c:d], a[:, 1:], a[*b], a[*b, c], a[b := c], a[(b, c)], a[...], a[()]
f(a, *b, c=d, *e, **g, h=i, **j)
f(a for a in b)
f((a for a in b), c)
f(a := b, c)
f(*a if b else c)
f(a,)
()
(a,)
(a, *b)
(yield)
(yield a, *b)
(yield from a)
[]
[a, *b,]
{a, *b}
{}
{a: b, **c, d: e}
{**a}
{a: b for a, b in c}
{a for a in b if c if d for e in f}
[a := 1, b]
{a := 1}
(a for a in b if c for d in e)
[lambda: a for b in c]
[a for b, in c]
[a for (b) in (c if d else e)]
None, True, False, ..., NotImplemented
1, 0, 00, 0_0, 1_000, 0xFf, 0XdeadBEEF, 0x_f, 0o17, 0B1_0
1.5, 1., .5, 1e5, 1E+5, 1e-5_0, 1.5j, 1J, 0777j, 09.5, 1_0e1_0
1if a else 2
0xfor b
'a' "b" '''c
d''' """e\
f"""
'\n\t\\\'\"\x41\101\0\u00e9\U0001F600\a\b\f\v\r\d\
rest'
r'\n' R"\x" u'a' U'b'
b'\x41\'' B"b" br'\x' Rb'\y' bR"""z"""
f''
f'a' f"b{c}" rf'\d{e}\d' fR"{g}"
f'{a}{b!r}{c:>10}{d!s:{e}.{f}}{g=}{h = !a:x}'
f'{{a}} {{{b}}} }}'
f'''a
{b} {c
}'''
f'{a["b"]} {(lambda: 1)()} {x if y else z} {a:%Y-%m-%d} {a!r:^{b}}'
f'{c != d} {{}}{x:=5}' 'tail'
'head' f'{a}'
f'\N{BULLET}{a}\x41\{a}'
f'{(yield)}{*a, b}{a, b}'
é = naïve + Ω + ﬁ + µ + 名前
x = '名' + f'名{名}'; y = é
if a:
	tab
	if b:
	  	eight
	tab
if a:
 one
# comment
  # other comment

 one; two
a = b \
    + c
a = (b  # comment
     + c)

match = case = type = _ = lazy = 1
match(x)
match[x]
match.x
match * x
match: int
match -x
print(match, case, type, _)
type(x)
type = x
match x:
    case 1 | -2 | 3.5 | 1+2j | -1-2j: pass
    case "a" "b": pass
    case b"c" b"d": pass
    case None | True | False: pass
    case a if a > 1: pass
    case A.B.c: pass
    case [a, *b, _]: pass
    case (a, b): pass
    case (a): pass
    case (a,): pass
    case (): pass
    case []: pass
    case a, *_: pass
    case *a, b: pass
    case {"a": 1, 2: b, A.c: d, -1: e, None: f, **rest}: pass
    case {}: pass
    case A(): pass
    case A.B(1, c, x=d, y=[e, f],): pass
    case (1 | 2) as g: pass
    case [1, [2, 3 as h]] | {"k": h}: pass
    case _: pass
match x, *y:
    case a: pass
match (x):
    case case: pass
match (yield):
    case _:
        match y:
            case match: pass
match not x:
    case _: pass
match lambda: x:
    case _: pass
match {1: 2}, [3]:
    case _: pass
def last():
    if a:
        pass
    # trailing comment
