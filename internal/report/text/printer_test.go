package text

import (
	"strings"
	"testing"

	"ipytracer/internal/report/escape"
)

func TestProseWrapsBetweenWords(t *testing.T) {
	p := &printer{width: 20}
	p.prose("  ", span{"one two three four", plain}, span{" five", bold},
		span{" sixsixsixsixsixsixsixsix seven", plain})
	want := "one two three four\n  five\n  sixsixsixsixsixsixsixsix\n  seven\n"
	if got := p.b.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTableDropsColumnsByPriority(t *testing.T) {
	columns := []column{
		{title: "cell"}, {group: "a", title: "need", right: true}, {group: "b", title: "need", right: true, drop: 1},
		{title: "source", flex: true},
	}
	rows := []row{{cells: []span{{"In[1]", plain}, {"1", plain}, {"2", plain}, {strings.Repeat("x", 60), plain}}}}
	for _, test := range []struct {
		width   int
		dropped string
		longest int
	}{{0, "", 80}, {60, "", 60}, {40, "b", 40}, {10, "b", 37}} {
		p := &printer{width: test.width}
		dropped := strings.Join((&table{columns: columns, rows: rows}).print(p), ",")
		longest := 0
		for line := range strings.SplitSeq(p.b.String(), "\n") {
			longest = max(longest, escape.Cells(line))
		}
		if dropped != test.dropped || longest > test.longest {
			t.Errorf("width %d: dropped %q, longest line %d; want %q, at most %d\n%s",
				test.width, dropped, longest, test.dropped, test.longest, p.b.String())
		}
	}
}
