package text

import (
	"fmt"
	"slices"
	"strings"

	"ipytracer/internal/report/doc"
	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// reasons returns why a certificate, or its part about who allocated, is not complete, escaped; nil if it is complete.
func reasons(complete bool, incomplete []string) (escaped []string) {
	if !complete && len(incomplete) == 0 {
		return []string{"something is missing"}
	}
	for _, why := range incomplete {
		escaped = append(escaped, escape.Bounded(why, maxProse))
	}
	return escaped
}

// unattributed returns the reasons why it is not known in full who allocated; nil if it is known.
func unattributed(c *model.Certificate) []string {
	return reasons(c.Attribution.Complete, c.Attribution.Incomplete)
}

// figuresStand says that no figure depends on who allocated.
const figuresStand = "No figure and no window depends on it."

// proofView shows how certain the figures are.
type proofView struct{ *view }

// footnotes explains the marks on figures that are not exact. It gives the error bound of a meter unless the bound is
// larger than a figure.
func (v proofView) footnotes() {
	var off, vague, least []string
	for _, id := range v.meters {
		if bound, ok := v.off[id]; ok && v.vague[id] && !v.o.Full {
			vague = append(vague, words.Meter(id))
		} else if ok {
			off = append(off, fmt.Sprintf("%s by at most %s", words.Meter(id), words.Bytes(bound)))
		}
		if v.unknown[id] {
			least = append(least, words.Meter(id))
		}
	}
	if len(off)+len(vague)+len(least) > 0 {
		v.Blank()
	}
	if len(off) > 0 {
		v.Prose("  ", doc.Yellow(words.About+" "), "not exact; it can be off: "+strings.Join(off, ", ")+"."+
			words.Uncounted(v.r))
	}
	if len(vague) > 0 {
		v.Prose("  ", doc.Yellow(words.About+" "),
			"not exact, and some of it "+words.Vague+" ("+strings.Join(vague, ", ")+
				"); --full says by how much it can be off."+words.Uncounted(v.r))
	}
	if len(least) > 0 {
		v.Prose("  ", doc.Yellow(words.AtLeastMark+" "),
			"at least this much ("+strings.Join(least, ", ")+"): the meter missed part of the time or part of the "+
				"memory, and nobody can say how much. "+words.About+" in its other columns is an estimate.")
	}
}

// certificate shows in full how the figures were proven.
func (v proofView) certificate() {
	c := v.r.Certificate
	v.Heading("Certificate")
	if c.Complete {
		v.Prose("  ", doc.Green("✓ complete: "),
			"every change made in the kernel reached this report, and no window is missing.")
	}
	for _, why := range reasons(c.Complete, c.Incomplete) {
		v.Prose("  ", doc.Yellow("✗ not complete: "), why+".")
	}
	if c.Attribution.Complete {
		v.Prose("  ", doc.Green("✓ who allocated: "), "no stack, function or text is missing.")
	}
	missing := unattributed(&c)
	for _, why := range missing {
		v.Prose("  ", doc.Yellow("- who allocated is not known in full: "), why+".")
	}
	if len(missing) > 0 {
		v.Prose("  ", "  "+figuresStand)
	}
	v.proofs()
	v.Blank()
	v.Field("changes", words.Count(c.Made)+" made", words.Count(c.Delivered)+" delivered", losses(&c))
	if c.BoundariesLost > 0 {
		v.Field("boundaries",
			doc.Red(words.Count(c.BoundariesLost)+" lost: this is a defect of ipytracer, please report it"))
	}
	for title, text := range words.UnknownFrees(&c) {
		v.Field(title, text)
	}
	v.container()
	v.list("joined late", c.LateLibraries)
	v.list("problem", c.Problems)
	v.probes()
}

// losses lists the losses, by reason.
func losses(c *model.Certificate) doc.Span {
	var parts []string
	for _, l := range c.Lost {
		if l.Count > 0 {
			parts = append(parts, words.Count(l.Count)+" lost ("+escape.Bounded(l.Reason, maxProse)+")")
		}
	}
	if len(parts) == 0 {
		return doc.Plain("none lost")
	}
	return doc.Yellow(strings.Join(parts, ", "))
}

// list prints one field a line, under one name.
func (v proofView) list(name string, items []string) {
	for _, item := range items {
		v.Field(name, doc.Yellow(escape.Bounded(item, maxProse)))
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
	t := &doc.Table{
		Columns: []doc.Column{doc.Left("meter"), doc.Left("figures are"), doc.Left("windows proven"),
			doc.Flex("served by").Drop(1),
		},
	}
	evidence := func(id string) []doc.Span {
		p, compared := proofs[id]
		m, served := meters[id]
		return []doc.Span{quality(m, served, p), agreement(p, compared), doc.Plain(escape.Bounded(m.Source, maxProse))}
	}
	for _, id := range ids {
		if words.IsPart(id) && slices.Equal(evidence(id), evidence("cpu.resident")) {
			continue // it would repeat the row of the whole
		}
		t.Row(append([]doc.Span{doc.Plain(escape.Bounded(words.Meter(id), maxName))}, evidence(id)...))
	}
	if t.Len() == 0 {
		return
	}
	v.Prose("", doc.Dim("Peaks are kept by the kernel and computed again here from the stream of changes; "+
		"a window is proven where both agree to the byte."))
	v.Blank()
	v.Table(t)
}

// quality returns how exact a meter is, in words. served is false if the report does not have the meter.
func quality(m model.Meter, served bool, p model.Proof) doc.Span {
	text := doc.Green("exact")
	hasProbe := m.Exact || m.Bound == nil || *m.Bound != 0 // what is not exact has a bound above 0, or an unknown one
	switch {
	case !served, !hasProbe:
		text = doc.Dim("not served")
	case !m.Exact && m.Bound == nil:
		text = doc.Yellow("at least")
	case !m.Exact:
		text = doc.Yellow("within " + words.Bytes(*m.Bound))
	}
	if p.Paused {
		return doc.Yellow(text.Text + ", shed at times")
	}
	return text
}

// agreement returns how many of a meter's windows are proven: "9 of 10, off by up to 1 KiB". compared is false if the
// report has no proof for the meter.
func agreement(p model.Proof, compared bool) doc.Span {
	if !compared || p.Compared+p.Skipped == 0 {
		return doc.Dim("–")
	}
	text, style := fmt.Sprintf("%d of %d", p.Agreed, p.Compared), doc.Green
	if p.Agreed < p.Compared {
		text, style = text+", off by up to "+words.Bytes(p.Difference), doc.Red
	}
	if p.Skipped > 0 {
		text += fmt.Sprintf(", %d not comparable", p.Skipped)
	}
	return style(text)
}

func (v proofView) probes() {
	if len(v.r.Certificate.Probes) == 0 {
		return
	}
	v.Blank()
	t := &doc.Table{Columns: []doc.Column{doc.Left("probe"), doc.Right("fired"), doc.Flex("where")}}
	for _, p := range v.r.Certificate.Probes {
		t.Row(escape.Bounded(p.Name, maxName), words.Count(p.Hits), escape.Bounded(p.Site, maxProse))
	}
	v.Table(t)
}

// doubts returns, in words, the reasons why some figures are not exact or not proven.
func (v *view) doubts() []string {
	c := v.r.Certificate
	all := reasons(c.Complete, c.Incomplete)
	for _, proof := range c.Meters {
		if words.IsPart(proof.ID) {
			continue
		}
		if proof.Agreed < proof.Compared {
			all = append(all, fmt.Sprintf("%s: %d of %s do not agree with the change stream, by up to %s",
				words.Meter(proof.ID), proof.Compared-proof.Agreed, words.Plural(proof.Compared, "window"),
				words.Bytes(proof.Difference)))
		}
		if proof.Skipped > 0 && !proof.Paused {
			all = append(all, fmt.Sprintf("%s: %s could not be proven",
				words.Meter(proof.ID), words.Plural(proof.Skipped, "window")))
		}
	}
	for _, meter := range v.r.Meters {
		hasProbe := meter.Exact || meter.Bound == nil || *meter.Bound > 0
		if meter.Exact || !hasProbe || words.IsPart(meter.ID) {
			continue
		}
		how := quality(meter, true, model.Proof{}).Text
		if v.vague[meter.ID] && !v.o.Full {
			how = "in places " + words.Vague
		}
		all = append(all, words.Meter(meter.ID)+" is "+how+" on this machine")
	}
	for _, problem := range c.Problems {
		all = append(all, escape.Bounded(problem, maxProse))
	}
	return all
}

// shortCertificate prints one line if everything is exact and proven, else the reasons for doubt.
func (v proofView) shortCertificate() {
	doubts := v.doubts()
	windows := 0
	for _, p := range v.r.Certificate.Meters {
		windows = max(windows, p.Compared)
	}
	v.Blank()
	changes := words.Count(v.r.Certificate.Made) + " changes"
	if len(doubts) == 0 {
		v.Prose("  ", doc.Green("✓ "), fmt.Sprintf(
			"Certificate: complete. %s made, all delivered; %s proven of each meter, to the byte (--full prints it).",
			changes, words.Plural(windows, "window")))
		v.shortAttribution()
		return
	}
	state := doc.Yellow("✗ Certificate: not complete. ")
	if v.r.Certificate.Complete {
		state = doc.Bold("Certificate: complete. ")
	}
	v.Prose("  ", state,
		fmt.Sprintf("%s made, %s delivered. What is not exact or not proven (--full prints all):", changes,
			words.Count(v.r.Certificate.Delivered)))
	const few = 8
	for _, r := range doubts[:min(len(doubts), few)] {
		v.Prose("    ", doc.Yellow("  - "+r))
	}
	if more := len(doubts) - few; more > 0 {
		v.Prose("    ", doc.Yellow(fmt.Sprintf("  … and %d more", more)))
	}
	v.shortAttribution()
}

// shortAttribution prints a line if stacks, names or texts are missing.
func (v proofView) shortAttribution() {
	missing := unattributed(&v.r.Certificate)
	if len(missing) == 0 {
		return
	}
	text := missing[0]
	if more := len(missing) - 1; more > 0 {
		text += fmt.Sprintf("; and %s (--full prints all)", words.Plural(more, "more reason"))
	}
	v.Prose("    ", doc.Bold("Who allocated is not known in full: "), text+". "+figuresStand)
}
