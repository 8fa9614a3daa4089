package text

import (
	"fmt"

	"ipytracer/internal/report/doc"
	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// doubts returns the reasons why not everything is exact and proven, in words.
func (v *view) doubts() (reasons []string) {
	c := v.r.Certificate
	for _, why := range lacks(&c) {
		reasons = append(reasons, escape.Bounded(why, maxProse))
	}
	for _, p := range c.Meters {
		if words.IsPart(p.ID) {
			continue
		}
		if p.Agreed < p.Compared {
			reasons = append(reasons, fmt.Sprintf("%s: %d of %s do not agree with the change stream, by up to %s",
				words.Meter(p.ID), p.Compared-p.Agreed, words.Plural(p.Compared, "window"), words.Bytes(p.Difference)))
		}
		if p.Skipped > 0 && !p.Paused {
			reasons = append(reasons, fmt.Sprintf("%s: %s could not be proven",
				words.Meter(p.ID), words.Plural(p.Skipped, "window")))
		}
	}
	for _, m := range v.r.Meters {
		if !m.Exact && !words.IsPart(m.ID) && (m.Bound == nil || *m.Bound > 0) {
			how := quality(m, true, model.Proof{}).Text
			if v.vague[m.ID] && !v.o.Full {
				how = "in places " + words.Vague
			}
			reasons = append(reasons, words.Meter(m.ID)+" is "+how+" on this machine")
		}
	}
	for _, p := range c.Problems {
		reasons = append(reasons, escape.Bounded(p, maxProse))
	}
	return reasons
}

// shortCertificate prints one line if everything is exact and proven, else the reasons.
func (v proofView) shortCertificate() {
	reasons := v.doubts()
	most, windows := 0, 0
	for _, p := range v.r.Certificate.Meters {
		windows = max(windows, p.Compared)
		most++
	}
	v.Blank()
	changes := words.Count(v.r.Certificate.Made) + " changes"
	if len(reasons) == 0 {
		v.Prose("  ", doc.Green("✓ "),
			fmt.Sprintf(
				"Certificate: complete. %s made, all delivered; %s proven of each meter, to the "+
					"byte (--full prints it).",
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
	for _, r := range reasons[:min(len(reasons), few)] {
		v.Prose("    ", doc.Yellow("  - "+r))
	}
	if more := len(reasons) - few; more > 0 {
		v.Prose("    ", doc.Yellow(fmt.Sprintf("  … and %d more", more)))
	}
	v.shortAttribution()
}

// shortAttribution prints a line if stacks, names or texts are missing.
func (v proofView) shortAttribution() {
	reasons := unattributed(&v.r.Certificate)
	if len(reasons) == 0 {
		return
	}
	text := reasons[0]
	if more := len(reasons) - 1; more > 0 {
		text += fmt.Sprintf("; and %s (--full prints all)", words.Plural(more, "more reason"))
	}
	v.Prose("    ", doc.Bold("Who allocated is not known in full: "), text+". "+figuresStand)
}
