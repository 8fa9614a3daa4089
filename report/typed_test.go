package report

import (
	"strings"
	"testing"
)

// The left sides are what IPython 8 compiles for the right sides.
var rewritten = []struct{ compiled, typed string }{
	{`get_ipython().run_cell_magic('time', '', 'x=1\n')` + "\n", "%%time\nx=1\n"},
	{`get_ipython().run_cell_magic('time', '-q', 'x="a"\n')`, "%%time -q\nx=\"a\"\n"},
	{`get_ipython().run_cell_magic('bash', '', "echo 'it''s'\n")`, "%%bash\necho 'it''s'\n"},
	{`get_ipython().run_cell_magic('bash', '', 'echo "it\'s \\n"\n')`, "%%bash\necho \"it's \\n\"\n"},
	{`get_ipython().run_line_magic('timeit', '-n2 f()')`, "%timeit -n2 f()"},
	{`get_ipython().run_line_magic('pwd', '')`, "%pwd"},
	{`get_ipython().run_line_magic('time', '"a" + \'b\'')`, `%time "a" + 'b'`},
	{`get_ipython().run_line_magic('time', '"caf\xe9 \u20ac \U0001f642"')`, `%time "café € 🙂"`},
	{`get_ipython().system('echo hi')`, "!echo hi"},
	{`get_ipython().getoutput('ls')`, "!!ls"},
	{`a = get_ipython().getoutput('ls *.csv')`, "a = !ls *.csv"},
	{`a=get_ipython().getoutput('ls')`, "a=!ls"},
	{`a, b.c = get_ipython().run_line_magic('time', 'f()')`, "a, b.c = %time f()"},
	{`get_ipython().run_line_magic('pinfo', 'x')`, "x?"},
	{`get_ipython().run_line_magic('pinfo2', 'x')`, "x??"},
	{`get_ipython().run_line_magic('psearch', 'x.*')`, "x.*?"},
	{"if 1:\n    get_ipython().run_line_magic('time', 'x')\n    get_ipython().system('ls {a}')\n", "if 1:\n    %time x\n    !ls {a}\n"},
	{"get_ipython().run_line_magic('matplotlib', 'inline')\nx=1", "%matplotlib inline\nx=1"},
}

// These are not what the rewriting writes, or cannot be told from it.
var untouched = []string{
	"x = 1", "get_ipython()", "get_ipython().ast_node_interactivity = 'all'", "get_ipython().run_cell('z = 1')",
	"get_ipython().run_line_magic('time','x')", "get_ipython().run_line_magic('time', x)", "get_ipython().system('a' 'b')",
	"print(get_ipython().getoutput('ls'))", "get_ipython().system('ls')  # list", "x = get_ipython().system('ls')",
	"if a == get_ipython().getoutput('ls')", `get_ipython().system('\q')`, `get_ipython().system('ls`, `get_ipython().system('a\nb')`,
	"s = \"\"\"\nget_ipython().system('ls')\n\"\"\"", "s = '\\\nget_ipython().system('ls')", `get_ipython().system("\ud800")`, "get_ipython().run_cell_magic('time', '', 'x')\ny = 1",
}

func TestTyped(t *testing.T) {
	for _, test := range rewritten {
		if got := typed(test.compiled, false); got != test.typed {
			t.Errorf("typed(%q)\n got %q\nwant %q", test.compiled, got, test.typed)
		}
	}
	for _, source := range untouched {
		if got := typed(source, false); got != source {
			t.Errorf("typed(%q) = %q, want it untouched", source, got)
		}
	}
}

func TestTypedTruncated(t *testing.T) {
	full := `get_ipython().run_cell_magic('time', '', "x = '\u20ac'\ny = 2`
	for n := len(`get_ipython().run_cell_magic('time', '', "x`); n <= len(full); n++ {
		got := typed(full[:n], true)
		if !strings.HasPrefix(got, "%%time\nx") || strings.Contains(got, `\`) {
			t.Errorf("typed(%q) = %q", full[:n], got)
		}
		if got := typed(full[:n], false); got != full[:n] {
			t.Errorf("typed(%q), not truncated, = %q", full[:n], got)
		}
	}
}

func TestExcerpt(t *testing.T) {
	for _, test := range []struct {
		source    string
		truncated bool
		limit     int
		want      string
	}{
		{"", false, 20, ""},
		{"\n\n x = 1\n\n\ty = 2 \r\n", false, 0, " x = 1 ⏎ y = 2"},
		{"x = 1\ny = 2", false, 8, "x = 1 ⏎…"},
		{"x = 1", true, 0, "x = 1 …"},
		{"get_ipython().system('echo \\x1b[31m')", false, 0, `!echo \x1b[31m`},
	} {
		if got := excerpt(test.source, test.truncated, test.limit); got != test.want {
			t.Errorf("excerpt(%q) = %q, want %q", test.source, got, test.want)
		}
	}
	if got := excerpt(strings.Repeat("x = 1\n", 1<<16), false, 0); len(got) > 2*maxExcerpt {
		t.Errorf("an excerpt without limit has %d bytes", len(got))
	}
}
