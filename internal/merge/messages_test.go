package merge

import (
	"slices"
	"strings"
	"testing"
)

func TestTags(t *testing.T) {
	trace := "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	for _, c := range []struct {
		name      string
		sent, got []string
	}{
		{"load", nil, nil},
		{"", nil, nil},
		{"load@sent:a", []string{"a"}, nil},
		{"load@got:" + trace, nil, []string{trace}},
		{"@got:a@sent:b", []string{"b"}, []string{"a"}},
		{"me@home@got:a@sent:b@sent:c", []string{"c", "b"}, []string{"a"}},
		{"x@sent:a@other:b", nil, nil},
		{"x@sent:", nil, nil},
		{"x@sent:a b", nil, nil},
		{"x@sent:é", nil, nil},
		{"x@sent:" + strings.Repeat("a", 64), []string{strings.Repeat("a", 64)}, nil},
		{"x@sent:" + strings.Repeat("a", 65), nil, nil},
		{strings.Repeat("x", 153) + "@sent:a", nil, nil}, // it may be cut
		{strings.Repeat("x", 152) + "@sent:a", []string{"a"}, nil},
		{"é@sent:a", nil, nil},
	} {
		if sent, got := Tags(c.name); !slices.Equal(sent, c.sent) || !slices.Equal(got, c.got) {
			t.Errorf("%q: sent %q, got %q", c.name, sent, got)
		}
	}
}

// TestMessages: the earliest time of sending and of receiving counts; one that two clocks sent, and one that stays on
// its clock, says nothing.
func TestMessages(t *testing.T) {
	s := &Set{}
	a, b := &clock{}, &clock{}
	for _, at := range []int64{5, 3, 4} {
		s.addMessage(&a.post.sent, "one", at)
		s.addMessage(&b.post.got, "one", at+10)
	}
	s.addMessage(&a.post.got, "one", 1)
	s.addMessage(&a.post.sent, "two", 1)
	s.addMessage(&b.post.sent, "two", 1)
	s.addMessage(&b.post.got, "two", 2)
	all, ambiguous := messages([]*clock{a, b})
	if len(all) != 1 || all[0] != (message{0, 1, 3, 13}) || ambiguous != 1 {
		t.Errorf("%+v, %d ambiguous", all, ambiguous)
	}
	for s.marks < maxEvents {
		s.marks = maxEvents
	}
	if s.addMessage(&a.post.sent, "three", 1); s.dropped != 1 || len(a.post.sent) != 2 {
		t.Errorf("%d dropped, %d kept", s.dropped, len(a.post.sent))
	}
}
