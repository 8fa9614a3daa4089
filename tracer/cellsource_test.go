package tracer

import (
	"slices"
	"strings"
	"testing"

	"ipytracer/event"
	"ipytracer/internal/hostile"
	"ipytracer/internal/ledger"
	"ipytracer/tracer/internal/running"
)

func sources(s *Session) (out []event.CellSource) {
	for _, e := range s.queue.events {
		out = append(out, *e.(*event.CellSource))
	}
	return out
}

func wantSources(t *testing.T, s *Session, want ...event.CellSource) {
	t.Helper()
	if got := sources(s); !slices.Equal(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func compiled(s *Session, cell uint64, offset int, text string) {
	s.intake.Source(&ledger.SourceChunk{Cell: cell, PID: 5, Offset: offset, Text: []byte(text)})
}

func typed(s *Session, cell uint64, kind uint32, offset, total int, text string) {
	s.intake.Source(&ledger.SourceChunk{
		Cell: cell, PID: 5, Kind: kind, Offset: offset, Total: total, Text: []byte(text),
	})
}

func closed(s *Session, cell uint64) {
	s.intake.cellClosed(nil, &event.Boundary{Kind: event.CellClose, Cell: cell, PID: 5}, false)
}

func TestSourceOfSeveralChunks(t *testing.T) {
	s := newSession(Options{})
	compiled(s, 1, 0, "first ")
	compiled(s, 2, 0, "other\x00")
	compiled(s, 1, 6, "second\x00")
	compiled(s, 3, 0, "begin")
	compiled(s, 3, 99, "a chunk before this is missing\x00")
	wantSources(t, s, event.CellSource{Cell: 2, PID: 5, Text: "other"},
		event.CellSource{Cell: 1, PID: 5, Text: "first second"})
	closed(s, 3)
	if got := sources(s); len(got) != 3 ||
		got[2] != (event.CellSource{Cell: 3, PID: 5, Text: "begin", Truncated: true}) {
		t.Errorf("got %+v", got)
	}
}

// TestSourceAsTyped: the typed text is returned, in every width in which Python keeps it, if all of it has arrived.
func TestSourceAsTyped(t *testing.T) {
	s := newSession(Options{})
	typed(s, 1, 1, 0, 6, "%pwd ")
	typed(s, 1, 1, 5, 6, "\xe9")
	compiled(s, 1, 0, "get_ipython()\x00")
	typed(s, 2, 2, 0, 8, "\xac\x20\x00\xd8\x01\xdc\x0a\x00") // a euro sign, two surrogates, a line feed
	compiled(s, 2, 0, "x\x00")
	typed(s, 3, 4, 0, 12, "\x42\xf6\x01\x00\x00\xd8\x00\x00\xff\xff\xff\xff")
	compiled(s, 3, 0, "x\x00")
	typed(s, 4, 1, 0, 100, "only the beginning")
	compiled(s, 4, 0, "as compiled\xff\x00")
	compiled(s, 4, 0, "again\x00")
	typed(s, 5, 1, 0, 4, "nice")
	wantSources(t, s, event.CellSource{Cell: 1, PID: 5, Text: "%pwd é"},
		event.CellSource{Cell: 2, PID: 5, Text: "€\ufffd\ufffd\n"},
		event.CellSource{Cell: 3, PID: 5, Text: "🙂\ufffd\ufffd"},
		event.CellSource{Cell: 4, PID: 5, Text: "as compiled\ufffd"})
	s.queue.events = nil
	closed(s, 5)
	wantSources(t, s, event.CellSource{Cell: 5, PID: 5, Text: "nice"})
	for cell := range uint64(5) {
		closed(s, cell+1)
	}
	if len(s.code.Cells.Open) != 0 {
		t.Errorf("%d cells are kept", len(s.code.Cells.Open))
	}
}

func TestSourceThatIsTooLong(t *testing.T) {
	s := newSession(Options{})
	chunk := strings.Repeat("x", 8192)
	for i := range 64 {
		typed(s, 1, 1, i*8192, 1<<30, chunk)
	}
	for i := range 64 {
		compiled(s, 1, i*8191, chunk[1:])
	}
	if got := sources(s); len(got) != 1 || !got[0].Truncated || len(got[0].Text) != ledger.SourceLimit {
		t.Errorf("%d events", len(got))
	}
	if c := s.code.Cells.Open[1]; c.Typed != nil || c.Compiled != nil {
		t.Error("the chunks are kept")
	}
}

func TestTypedLines(t *testing.T) {
	for name, c := range map[string]struct {
		compiled, typed string
		want            []int32
	}{
		"the same":           {"x = 1\ny = 2\n", "x = 1\ny = 2", nil},
		"line for line":      {"get_ipython().system('ls')\ny = 2\n", "!ls\ny = 2\n\n", nil},
		"blank lines before": {"x = 1\n\ny = 2\n", "\n  \nx = 1\n\ny = 2\n", []int32{3, 4, 5}},
		"a whole cell": {"get_ipython().run_cell_magic('time', '', 'x = 1\\ny = 2\\n')\n",
			"%%time\nx = 1\ny = 2\n", []int32{1}},
		"blank, whole cell": {"get_ipython().run_cell_magic('time', '', 'x\\n')\n", "\n\n%%time\nx\n", []int32{3}},
		"a magic goes on": {
			"a = 1\nget_ipython().system('ls   -l   /')\nb = get_ipython().getoutput('ls -a')\nc = 3\n",
			"a = 1\n!ls \\\n  -l \\\n  /\nb = !ls \\\n-a\nc = 3\n", []int32{1, 2, 5, 7},
		},
		"not a magic": {"x = 1 + \\\n2\nget_ipython().system('a b')\n", "x = 1 + \\\n2\n!a \\\nb", []int32{1, 2, 3}},
		"help over lines": {
			"a = 1\nget_ipython().run_line_magic('pinfo', '(a +  b)')\nb = 2\n", "a = 1\n(a +\n b)?\nb = 2\n",
			[]int32{1, 2, 4},
		},
		"somebody's own":    {"one\nTWO\nTHREE\nfour\nfive\n", "one\nx\ny\nz\nfour\nfive\n", []int32{1, 0, 0, 5, 6}},
		"carriage returns":  {"x\ny\n", "\r\nx\r\ny\r\n", []int32{2, 3}},
		"indented":          {"x\ny\n", "\n    x\n    y\n", []int32{2, 3}},
		"nothing is there":  {"x\ny\n", "", []int32{0, 0}},
		"nothing is either": {"", "\n\nx\ny", []int32{1}},
	} {
		if got := running.TypedLines(c.compiled, c.typed); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	if running.LineIn([]int32{3, 5}, 2) != 5 || running.LineIn([]int32{3}, 2) != 0 || running.LineIn(nil, 7) != 7 ||
		running.LineIn([]int32{3}, 0) != 0 || running.LineIn([]int32{3}, -1) != -1 {
		t.Error("lineIn")
	}
}

// FuzzTypedLines: every line is one of the typed ones, or not known.
func FuzzTypedLines(f *testing.F) {
	f.Add("x\ny\n", "\n!a \\\nx\ny")
	hostile.Fuzz(f, 64<<20, func(t *testing.T, compiled, typed string) {
		lines := running.TypedLines(compiled, typed)
		last := len(running.SplitLines(typed))
		for i, line := range lines {
			if line < 0 || int(line) > last {
				t.Errorf("line %d of %q is %d of %q", i, compiled, line, typed)
			}
		}
	})
}
