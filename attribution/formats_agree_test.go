package attribution

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"

	"ipytracer/event"
	"ipytracer/internal/report/html"
	"ipytracer/internal/report/sheet"
	"ipytracer/internal/report/text"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// meterGroups returns the groups of probes that can be paused and stop a meter on the CPU.
func meterGroups() (groups []event.Group) {
	for m := range event.Meter(event.CPUMeters) {
		for _, group := range m.Facts().Paused {
			if !slices.Contains(groups, group) {
				groups = append(groups, group)
			}
		}
	}
	return groups
}

// noGroup stands for no pause.
const noGroup = event.OtherProbes

// TestFormatsAgreeOnWhatIsComplete: whichever group is paused, the certificate, the windows, and the report as
// text, in Markdown and as a page call the same meters incomplete; and none of them does so without a pause.
func TestFormatsAgreeOnWhatIsComplete(t *testing.T) {
	t.Parallel()
	groups := meterGroups()
	if len(groups) < 4 {
		t.Fatalf("%d groups: %v", len(groups), groups)
	}
	for _, group := range append(groups, noGroup) {
		paused := group.Paused()
		s := newScript()
		start := s.events[0].(*event.Start)
		for _, m := range paused {
			if !slices.ContainsFunc(start.Meters, func(one event.MeterSource) bool { return one.Meter == m }) {
				start.Meters = append(start.Meters, event.MeterSource{Meter: m, Source: "s", Exact: true})
			}
		}
		s.openCell(1, true)
		s.boundary(event.ExperimentBegin, main, func(b *event.Boundary) {
			for _, m := range paused { // a meter that was never other than 0 is not in the report
				b.Value[m], b.High[m], b.Tree[m], b.TreeHigh[m] = 64, 64, 64, 64
			}
		})
		s.boundary(event.ExperimentEnd, main)
		if group != noGroup {
			s.boundary(event.MeterShed, main, func(b *event.Boundary) { b.Group = group })
		}
		s.closeCell(1, event.OutcomeOK)
		r := s.run(t)
		var reasons []string
		for _, m := range paused {
			reasons = append(reasons, words.MeterPaused(m.String()))
			if isExact(nth(t, r, model.Cell, 0), m.String()) {
				t.Errorf("%q: %s of the cell is exact", words.Group(group), m)
			}
		}
		checkFormats(t, words.Group(group), r, reasons)
	}
}

func checkFormats(t *testing.T, group string, r *model.Report, reasons []string) {
	t.Helper()
	c := &r.Certificate
	expect(t, group+": certificate", []any{c.Complete, len(c.Incomplete)}, []any{len(reasons) == 0, len(reasons)})
	for name, one := range map[string]struct {
		print   func(w io.Writer) error
		not, is string
	}{
		"first screen": {func(w io.Writer) error { return text.Report(w, r, text.Options{Width: -1}) },
			"not counted at times", "exact: every change arrived"},
		"text": {func(w io.Writer) error { return text.Report(w, r, text.Options{Width: -1, Full: true}) },
			"✗ not complete", "✓ complete"},
		"Markdown": {func(w io.Writer) error { return sheet.SessionMarkdown(w, r) }, "**Not complete.**",
			"Nothing was lost, refused or guessed"},
		"page": {func(w io.Writer) error { return html.Write(w, r, html.Options{}) },
			`"complete":false,"finished"`, `"complete":true,"finished"`},
	} {
		var out bytes.Buffer
		if err := one.print(&out); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(out.String(), one.not) != (len(reasons) > 0) ||
			strings.Contains(out.String(), one.is) != (len(reasons) == 0) {
			t.Errorf("%q: %s says otherwise than the certificate, %q", group, name, c.Incomplete)
		}
		for _, reason := range reasons {
			if !slices.Contains(c.Incomplete, reason) {
				t.Errorf("%q: %q is not in the certificate: %q", group, reason, c.Incomplete)
			}
			if name != "first screen" && !strings.Contains(strings.Join(strings.Fields(out.String()), " "), reason) {
				t.Errorf("%q: %s does not say that %s", group, name, reason)
			}
		}
	}
}
