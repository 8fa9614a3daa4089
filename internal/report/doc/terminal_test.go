package doc

import (
	"strings"
	"testing"

	"ipytracer/internal/report/escape"
)

func onTerminal(t *testing.T, d *Document, width int) string {
	t.Helper()
	var b strings.Builder
	if err := d.Text(&b, Size{Width: width}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestProseWrapsBetweenWords(t *testing.T) {
	d := &Document{}
	d.Prose("  ", "one two three four", Bold(" five"), " sixsixsixsixsixsixsixsix seven")
	want := "one two three four\n  five\n  sixsixsixsixsixsixsixsix\n  seven\n"
	if got := onTerminal(t, d, 20); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTableDropsColumnsByPriority(t *testing.T) {
	for _, test := range []struct {
		width   int
		dropped string
		longest int
	}{{0, "", 80}, {60, "", 60}, {40, "b", 40}, {10, "b", 37}} {
		table := NewTable(Left("cell"), Right("need").In("a"), Right("need").In("b").Drop(1), Flex("source"))
		table.Names = true
		table.Row("In[1]", 1, 2, strings.Repeat("x", 60))
		d := &Document{}
		d.Table(table)
		got, note, _ := strings.Cut(onTerminal(t, d, test.width), "No room")
		longest := 0
		for line := range strings.SplitSeq(got, "\n") {
			longest = max(longest, escape.Cells(line))
		}
		dropped, _, _ := strings.Cut(strings.Join(strings.Fields(note), " "), ":")
		if dropped = strings.TrimPrefix(dropped, "here for "); dropped != test.dropped || longest > test.longest {
			t.Errorf("width %d: dropped %q, longest line %d; want %q, at most %d\n%s",
				test.width, dropped, longest, test.dropped, test.longest, got)
		}
	}
}

func TestDocumentForAMediumHasItsBlocks(t *testing.T) {
	made := func() *Document {
		d := &Document{Title: "Title"}
		d.Field("both", "everywhere")
		d.On(Terminal)
		d.Field("one", "terminal")
		d.On(Page)
		d.Field("other", "page")
		return d
	}
	var page strings.Builder
	if err := made().Write(&page, "markdown", Size{}); err != nil {
		t.Fatal(err)
	}
	for got, want := range map[string]string{
		onTerminal(t, made(), 80): "both        everywhere\none         terminal\n",
		page.String():             "### Title, by ipytracer\n\n- both: everywhere\n- other: page\n",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestPageCountsItemsWithoutARow(t *testing.T) {
	d := &Document{}
	d.Heading("Cells")
	table := NewTable(Left("cell"))
	table.Item = "cell"
	for i := range 25 {
		table.Row(i)
		table.Also("of the same cell")
	}
	d.Table(table)
	var b strings.Builder
	if err := d.Markdown(&b); err != nil {
		t.Fatal(err)
	}
	if text := b.String(); strings.Count(text, "of the same cell") != 20 ||
		!strings.HasSuffix(text, "\n… and 5 more cells; --format json has all\n") {
		t.Errorf("%s", text)
	}
}
