package syntax_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"ipytracer/internal/syntax"
)

// describe writes uses in one line: reads, then binds, then functions.
func describe(u *syntax.Uses) string {
	var all []string
	for _, use := range u.Reads {
		all = append(all, mark(use))
	}
	for _, b := range u.Binds {
		sure := ""
		if !b.Sure {
			sure = "?"
		}
		all = append(all, fmt.Sprintf("%s%s%s", b.Name, b.Kind, sure))
	}
	var names []string
	for name := range u.Functions {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		f := u.Functions[name]
		var inside []string
		for _, use := range f.Reads {
			inside = append(inside, mark(use))
		}
		for _, b := range f.Binds {
			inside = append(inside, b.Name+string(b.Kind))
		}
		if f.Loose {
			inside = append(inside, "loose")
		}
		all = append(all, name+"("+strings.Join(inside, " ")+")")
	}
	if u.Dynamic {
		all = append(all, "dynamic")
	}
	if u.BindsAny {
		all = append(all, "binds-any")
	}
	return strings.Join(all, " ")
}

func mark(use syntax.Use) string {
	text := use.Name
	for _, one := range []struct {
		is   bool
		mark string
	}{{use.Later, ".later"}, {use.Changed, ".changed"}} {
		if one.is {
			text += one.mark
		}
	}
	if use.Aliased {
		text += []string{"", ".kept", ".part", ".method", ".argument"}[use.How]
	}
	return text
}

// usesOf has sources, and what is read and bound.
var usesOf = map[string]string{
	"y = x":                               "x.kept y=",
	"y = x + 1":                           "x y=",
	"y = x.T":                             "x.part y=",
	"y = x[1:, i]":                        "x.part i y=",
	"y = x.shape":                         "x y=",
	"n = len(x), x.shape[0]":              "len x x n=",
	"y = x.head()":                        "x.method y=",
	"y = x.sum()":                         "x y=",
	"y = np.sqrt(x)":                      "np.method x.argument y=",
	"print(x)":                            "print x",
	"x":                                   "x.kept",
	"if a: x":                             "a x",
	"x += y":                              "y.part x.changed x+=",
	"x[i] = y":                            "y.kept x.changed i",
	"x.a = y; del x[0], z":                "y.kept x.changed x.changed zdel",
	"x = 1; y = x + 1":                    "x x= y=",
	"if a: x = 1\ny = -x":                 "a x x=? y=",
	"if a: x = 1\nelse: x = 2\ny = -x":    "a x x=? x=? y=",
	"for i in x: y = i":                   "x.part i.kept ifor? y=?",
	"for i, (j, *k) in x:\n print(i)":     "x.part print i ifor? jfor? kfor?",
	"while a: x = b":                      "a b.kept x=?",
	"with a as b, c: d":                   "a.kept c d bwith",
	"import a.b, c as d\nfrom e import f": "aimport dimport fimport",
	"from a import *":                     "binds-any",
	"try: a\nexcept E as e: b(e)\nelse: c\nfinally: d":            "a c E b e.argument d eexcept?",
	"def f(a, b=c):\n d = a + e\n return d":                       "c.kept fdef f(e)",
	"def f():\n global g\n g = h":                                 "fdef f(h.kept gglobal)",
	"def f():\n x = 1\n def g(): return x + y":                    "fdef f(y)",
	"def f():\n print(x)\n x = 1":                                 "fdef f(print)",
	"def f():\n for x in y: pass\n return x":                      "fdef f(y.part)",
	"@a\ndef f(): return b":                                       "a fdef f(b.kept loose)",
	"class C(B, m=n):\n x = y\n z = x\n def f(self): return x, w": "B n y.kept Cclass C(x.kept w.kept loose)",
	"f = lambda a, b=c: a + d":                                    "c.kept d.later f= f(c.kept d.later)",
	"[x for x in y if x > z]":                                     "y.part z",
	"[x for x in [w := x]]":                                       "x.kept w:= ",
	"g = (a * x for x in y)":                                      "y.part a.later g=",
	"{k: v for k, v in d.items()}":                                "d.method",
	"if (n := len(x)) > 3: print(n)":                              "len x print n n:=",
	"match x:\n case P(a, b=[c, *d]) if e: f":                     "x.kept P e f acase? ccase? dcase?",
	"f'{x} {y:{z}} {w!r}'":                                        "x y z w",
	"eval('x*y')":                                                 "eval x.argument y.argument",
	"eval(s)":                                                     "eval s.argument dynamic",
	"exec(s)":                                                     "exec s.argument dynamic binds-any",
	"def f(): return eval(s)":                                     "fdef f(eval s.argument)",
	"globals()['x'] = 1":                                          "globals dynamic binds-any",
	"df.query('a > @x')":                                          "df.method a.argument x.argument",
	"ne.evaluate('x*y')":                                          "ne.method x.argument y.argument",
	"%whos":                                                       "whos.argument dynamic binds-any",
	"%matplotlib inline":                                          "matplotlib.argument inline.argument",
	"%time y = f(x)":                                              "time.argument f x.argument y=",
	"%timeit y = f(x)":                                            "timeit.argument f x.argument",
	"%%timeit\ny = f(x)\ny":                                       "timeit.argument f x.argument",
	"%%time\ny = f(x)\ny":                                         "time.argument f x.argument y.kept y=",
	"%%capture out\nx":                                            "x.kept out%",
	"%%bash\necho $x":                                             "bash.argument echo.argument x.argument",
	"y = !cat {x}":                                                "cat.argument x.argument y=",
	"x?":                                                          "x.argument",
	"y = x if a else z or w":                                      "a x.kept z.kept w.kept y=",
	"l.append(x)":                                                 "l x.argument",
	"def f[T](a: T, b: U) -> V: return T":                         "U V fdef f()",
	"type A[T] = list[T] | B":                                     "list.later B.later A=",
	"x: int = y":                                                  "int y.kept x=",
	"y = x.copy()":                                                "x.method y=",
	"y = x + [z]":                                                 "x.part z.kept y=",
	"y = max(x)":                                                  "max x.argument y=",
	"y = x.max()":                                                 "x y=",
	"g = globals":                                                 "globals.kept g= dynamic binds-any",
	"a and (x := b)\nx":                                           "a.kept b.kept x.kept x:=?",
	"y = (x := a) if b else c\nx":                                 "b a.kept c.kept x.kept x:=? y=",
	"try: x = a\nfinally: print(x)\nx":                            "a.kept print x x.kept x=",
	"with suppress(E): x = a\nx":                                  "suppress E.argument a.kept x.kept x=?",
	"with open(a) as f: x = f\nx":                                 "open a.argument f.kept x.kept fwith x=",
	"await f(x)":                                                  "f x.argument",
	"yield x":                                                     "x.kept",
	"nonsense = [f(x) for f in fs for x in f(y)]":                 "fs.part y.argument nonsense=",
}

// TestNames checks what is read and bound, by Python's scopes.
func TestNames(t *testing.T) {
	for source, want := range usesOf {
		module, err := syntax.Parse(source)
		if err != nil {
			t.Errorf("%q: %v", source, err)
			continue
		}
		if got := describe(syntax.Names(module.Body...)); got != strings.TrimSpace(want) {
			t.Errorf("%q:\n got %s\nwant %s", source, got, want)
		}
	}
}

// TestNameIsBoundInAnyCase asks whether a name is bound in any case.
func TestNameIsBoundInAnyCase(t *testing.T) {
	for source, want := range map[string]bool{"x = 1\ndel x": false, "if a: x = 1": false, "with a as x: pass": true} {
		module, err := syntax.Parse(source)
		if err != nil {
			t.Fatalf("%q: %v", source, err)
		}
		if got := syntax.Names(module.Body...).Bound("x"); got != want {
			t.Errorf("%q: %v", source, got)
		}
	}
}
