package text

import (
	"fmt"
	"slices"
	"strings"

	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// lacks returns the reasons why the certificate is not complete, in words; nil if it is.
func lacks(c *model.Certificate) []string {
	if !c.Complete && len(c.Incomplete) == 0 {
		return []string{"something is missing"}
	}
	return c.Incomplete
}

// unattributed returns the missing stacks, names and texts, in words.
func unattributed(c *model.Certificate) (reasons []string) {
	if !c.Attribution.Complete && len(c.Attribution.Incomplete) == 0 {
		return []string{"something is missing"}
	}
	for _, why := range c.Attribution.Incomplete {
		reasons = append(reasons, escape.Bounded(why, maxProse))
	}
	return reasons
}

// figuresStand says that these make no figure doubtful.
const figuresStand = "No figure and no window depends on it."

// proofView shows how certain the figures are.
type proofView struct{ *view }

// footnotes explains the marks on figures that are not exact. They have the error bound if that is no more than the
// figure itself.
func (v proofView) footnotes() {
	var off, vague, least []string
	for _, id := range v.meters {
		if bound, ok := v.off[id]; ok && v.vague[id] && !v.o.Full {
			vague = append(vague, meterName(id))
		} else if ok {
			off = append(off, fmt.Sprintf("%s by at most %s", meterName(id), words.Bytes(bound)))
		}
		if v.unknown[id] {
			least = append(least, meterName(id))
		}
	}
	if len(off)+len(vague)+len(least) > 0 {
		v.blank()
	}
	if len(off) > 0 {
		v.prose("  ", span{about + " ", yellow},
			span{"not exact; it can be off: " + strings.Join(off, ", ") + ".", plain})
	}
	if len(vague) > 0 {
		v.prose("  ", span{about + " ", yellow}, span{
			"not exact, and some of it " + words.Vague + " (" + strings.Join(vague, ", ") +
				"); --full says by how much it can be off.",
			plain,
		})
	}
	if len(least) > 0 {
		v.prose("  ", span{atLeast + " ", yellow},
			span{"at least this much (" + strings.Join(least, ", ") + "): the meter missed part of " +
				"the time or part of the memory, and nobody can say how much. " + about +
				" in its other columns is an estimate.", plain})
	}
}

// certificate shows the evidence behind the figures.
func (v proofView) certificate() {
	c := v.r.Certificate
	v.title("Certificate")
	if c.Complete {
		v.prose("  ", span{"✓ complete: ", green},
			span{"every change made in the kernel reached this report, and no window is missing.", plain})
	}
	for _, why := range lacks(&c) {
		v.prose("  ", span{"✗ not complete: ", yellow}, span{escape.Bounded(why, maxProse) + ".", plain})
	}
	if c.Attribution.Complete {
		v.prose("  ", span{"✓ who allocated: ", green}, span{"no stack, function or text is missing.", plain})
	}
	missing := unattributed(&c)
	for _, why := range missing {
		v.prose("  ", span{"- who allocated is not known in full: ", yellow}, span{why + ".", plain})
	}
	if len(missing) > 0 {
		v.prose("  ", span{"  " + figuresStand, plain})
	}
	v.proofs()
	v.blank()
	v.field("changes", span{words.Count(c.Made) + " made", plain}, span{words.Count(c.Delivered) + " delivered", plain},
		losses(&c))
	if c.BoundariesLost > 0 {
		v.field("boundaries",
			span{words.Count(c.BoundariesLost) + " lost: this is a defect of ipytracer, please report it", red})
	}
	for title, text := range words.UnknownFrees(&c) {
		v.field(title, span{text, plain})
	}
	v.list("joined late", c.LateLibraries)
	v.list("problem", c.Problems)
	v.probes()
}

// losses lists the losses, by reason.
func losses(c *model.Certificate) span {
	var parts []string
	for _, l := range c.Lost {
		if l.Count > 0 {
			parts = append(parts, words.Count(l.Count)+" lost ("+escape.Bounded(l.Reason, maxProse)+")")
		}
	}
	if len(parts) == 0 {
		return span{"none lost", plain}
	}
	return span{strings.Join(parts, ", "), yellow}
}

// list prints one field a line, under one name.
func (v proofView) list(name string, items []string) {
	for _, item := range items {
		v.field(name, span{escape.Bounded(item, maxProse), yellow})
		name = ""
	}
}

// proofs shows, for each meter, its probe, and the comparison of the kernel's peaks with the recomputed ones.
func (v proofView) proofs() {
	proofs := map[string]model.Proof{}
	ids := v.r.AllMeters()
	for _, p := range v.r.Certificate.Meters {
		proofs[p.ID] = p
		if !slices.Contains(ids, p.ID) {
			ids = append(ids, p.ID)
		}
	}
	meters := map[string]model.Meter{}
	for _, m := range v.r.Meters {
		meters[m.ID] = m
	}
	t := table{
		columns: []column{
			{title: "meter"}, {title: "figures are"}, {title: "windows proven"},
			{title: "served by", flex: true, drop: 1},
		},
	}
	evidence := func(id string) []span {
		p, compared := proofs[id]
		m, served := meters[id]
		return []span{quality(m, served, p), agreement(p, compared), {escape.Bounded(m.Source, maxProse), plain}}
	}
	for _, id := range ids {
		if words.IsPart(id) && slices.Equal(evidence(id), evidence("cpu.resident")) {
			continue // it would repeat the row of the whole
		}
		t.rows = append(t.rows, row{
			cells: append([]span{{escape.Bounded(meterName(id), maxName), plain}}, evidence(id)...),
		})
	}
	if len(t.rows) == 0 {
		return
	}
	v.prose("",
		span{"Peaks are kept by the kernel and computed again here from the stream of changes; " +
			"a window is proven where both agree to the byte.", dim})
	v.blank()
	t.print(v.printer)
}

func quality(m model.Meter, served bool, p model.Proof) span {
	text := span{"exact", green}
	switch {
	case !served, !m.Exact && m.Bound != nil && *m.Bound == 0: // no probe, so there is no bound
		text = span{"not served", dim}
	case !m.Exact && m.Bound == nil:
		text = span{"at least", yellow}
	case !m.Exact:
		text = span{"within " + words.Bytes(*m.Bound), yellow}
	}
	if p.Shed {
		return span{text.text + ", shed at times", yellow}
	}
	return text
}

func agreement(p model.Proof, compared bool) span {
	if !compared || p.Compared+p.Skipped == 0 {
		return span{"–", dim}
	}
	text, s := fmt.Sprintf("%d of %d", p.Agreed, p.Compared), green
	if p.Agreed < p.Compared {
		text, s = text+", off by up to "+words.Bytes(p.Difference), red
	}
	if p.Skipped > 0 {
		text += fmt.Sprintf(", %d not comparable", p.Skipped)
	}
	return span{text, s}
}

func (v proofView) probes() {
	if len(v.r.Certificate.Probes) == 0 {
		return
	}
	v.blank()
	t := table{columns: []column{{title: "probe"}, {title: "fired", right: true}, {title: "where", flex: true}}}
	for _, p := range v.r.Certificate.Probes {
		t.rows = append(t.rows, row{
			cells: []span{
				{escape.Bounded(p.Name, maxName), plain}, {words.Count(p.Hits), plain},
				{escape.Bounded(p.Site, maxProse), plain},
			},
		})
	}
	t.print(v.printer)
}
