package arrays

import "testing"

// film is a cell that makes a frame of 4 MiB for a number.
const film = "import numpy as np\ndef frame(i):\n    return np.ones(524_288) * i\nlight = 0\n"

// over returns a cell with a loop on line 5 over 20 frames; so much outlives it.
func over(source string, keeps int64) ran {
	item := blocks{made: 80, kept: keeps, live: 80, count: 20, calls: []call{{"frame", 3}, {"<listcomp>", 5}}}
	return ran{film + source, []line{{1, 1, 1, nil}, {2, 0, 0, nil}, {4, 0, 0, nil}, {5, 84, keeps, []blocks{item}}}}
}

func TestIterated(t *testing.T) {
	const body = ":\n    light = max(light, float(x.mean()))"
	for _, of := range []struct{ source, want string }{
		{"for x in [frame(i) for i in range(20)]" + body, "for x in (frame(i) for i in range(20))" + body},
		{"for n, x in enumerate([frame(i) for i in range(20)])" + body,
			"for n, x in enumerate((frame(i) for i in range(20)))" + body},
		{"for n, x in zip(names, [frame(i) for i in range(20)])" + body,
			"for n, x in zip(names, (frame(i) for i in range(20)))" + body},
		{"for x in list(map(frame, range(20)))" + body, "for x in map(frame, range(20))" + body},
		{"for x in list(frame(i) for i in range(20))" + body, "for x in (frame(i) for i in range(20))" + body},
		{"for x in [frame(i) for i in range(20)]:\n    plot(x)",
			"for x in (frame(i) for i in range(20)):\n    plot(x)"},
	} {
		t.Run(of.source, func(t *testing.T) {
			check(t, session(t, nil, over(of.source, 4)), Generator, 72, film+of.want)
		})
	}
}

// TestIteratedByGenerator: a function that yields its items.
func TestIteratedByGenerator(t *testing.T) {
	const begin = "import numpy as np\ndef frames():\n    for i in range(20):\n        yield np.ones(524_288) * i\n"
	item := blocks{made: 80, kept: 4, live: 80, count: 20, calls: []call{{"frames", 4}}}
	n := session(t, nil, ran{begin + "for x in list(frames()):\n    print(x.mean())", []line{{1, 1, 1, nil},
		{2, 0, 0, nil}, {5, 84, 4, []blocks{item}}}})
	check(t, n, Generator, 72, begin+"for x in frames():\n    print(x.mean())")
}

// TestNotIterated: loops that keep their items, or whose items depend on what the loop does.
func TestNotIterated(t *testing.T) {
	const list = "for x in [frame(i) for i in range(20)]:\n    "
	for _, of := range []struct {
		source string
		keeps  int64
	}{
		{list + "all.append(x)", 4},
		{list + "last = x", 4},
		{list + "rows[0] = x[3:]", 4},
		{list + "later = lambda: x", 4},
		{list + "show(x)", 80}, // the figures show that all outlived the loop
		{list + "frame = other", 4},
		{list + "exec('i = 1')", 4},
		{"for x in [frame(i) * light for i in range(20)]:\n    light = x[0]", 4},
		{"for x in [frame(x) for i in range(20)]:\n    print(x.mean())", 4},
		{"for x in [cache[i] for i in range(20)]:\n    cache.clear()", 4},
		{"for x in [np.random.rand(9) for i in range(20)]:\n    print(np.random.rand(), x.mean())", 4},
		{"for x in [rng.random(524_288) for i in range(20)]:\n    print(rng.random(), x.mean())", 4},
		{"for x in [frame(i) for i in range(20)]: print(x.mean())", 4},
		{"for x in [frame(i) for i in\n  range(20)]: print(x.mean())", 4},
		{"for x in sorted([frame(i) for i in range(20)]):\n    print(x.mean())", 4},
		{"for x in {frame(i) for i in range(20)}:\n    print(x.mean())", 4},
		{"for x in list(known):\n    print(x.mean())", 4},
	} {
		t.Run(of.source, func(t *testing.T) { check(t, session(t, nil, over(of.source, of.keeps)), "", 0, "") })
	}
}

// TestIteratedThroughFunctions: a function that the items call shares a generator of random numbers with one that the
// body calls.
func TestIteratedThroughFunctions(t *testing.T) {
	const begin = "import numpy as np\ndef frame(i):\n    return np.random.rand(524_288)\ndef noise(): return "
	for _, of := range []struct{ body, kind string }{
		{"np.random.rand()", ""}, {"np.random.default_rng(1).random()", Generator}, {"frame(1)", ""},
	} {
		cell := over("", 4)
		cell.source = begin + of.body + "\nfor x in [frame(i) for i in range(20)]:\n    print(noise(), x.mean())"
		want := ""
		if of.kind != "" {
			want = begin + of.body + "\nfor x in (frame(i) for i in range(20)):\n    print(noise(), x.mean())"
		}
		check(t, session(t, nil, cell), of.kind, 72, want)
	}
}
