package sheet

import (
	"fmt"
	"strings"

	"ipytracer/internal/report/doc"
	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// nearest adds a paragraph on how near the session came to limits, the nearest first, and on the GPUs that it used;
// nothing if neither is known.
func (p *session) nearest(r *model.Report, near []model.Nearness) {
	var limits, parts []string
	for i := range near {
		if n := &near[i]; n.Share() > 0 {
			text := strings.TrimSuffix(words.Near(n), ",")
			if !n.Exact && model.Vague(n.Peak, n.Bound) {
				text += ", " + words.Vague
			}
			limits = append(limits, text)
		}
	}
	if len(limits) > 0 {
		parts = append(parts, "Nearest to a limit: "+strings.Join(limits, " · ")+".")
	}
	for _, g := range r.GPUs {
		if f := p.peaks[fmt.Sprintf("gpu.%d.driver", g.Index)]; f.Peak > 0 {
			g.Name = escape.Bounded(g.Name, maxExcerpt)
			parts = append(parts, fmt.Sprintf("GPU %d: %s.", g.Index, doc.Code(words.Device(&g))))
		}
	}
	if len(parts) > 0 {
		p.WriteString(strings.Join(parts, " ") + "\n\n")
	}
}

// slower adds a paragraph for each kind of probes at more expensive places than usual; nothing if they took almost no
// time.
func (p *session) slower(r *model.Report) {
	for i := range r.Certificate.Probes {
		if text := words.ExpensiveProbes(&r.Certificate.Probes[i]); text != "" {
			p.WriteString("Slower: " + doc.Code(escape.Bounded(text, maxSlower)) + "\n\n")
		}
	}
}

// maxSlower bounds the text, in characters: it may name a file.
const maxSlower = 600

func (p *session) exactness(r *model.Report) {
	if r.Certificate.Complete {
		p.WriteString("Nothing was lost, refused or guessed; sizes are measured by the kernel, not sampled. " +
			"`≈` is off by a known bound, `≥` is at least that much.\n")
		p.attribution(&r.Certificate.Attribution)
		return
	}
	p.WriteString("**Not complete.** `≈` is off by a known bound, `≥` is at least that much.\n\n")
	p.reasons(r.Certificate.Incomplete)
	p.attribution(&r.Certificate.Attribution)
}

// attribution lists missing stacks, names and texts, if there are any.
func (p *session) attribution(a *model.Attribution) {
	if a.Complete {
		return
	}
	p.WriteString("\nWho allocated is not known in full; no figure and no window depends on that.\n\n")
	p.reasons(a.Incomplete)
}

func (p *session) reasons(all []string) {
	for i, why := range all {
		if i == maxReasons {
			fmt.Fprintf(p, "- … and %d more\n", len(all)-i)
			break
		}
		p.WriteString("- " + doc.Code(escape.Bounded(why, 300)) + "\n")
	}
}
