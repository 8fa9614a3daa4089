package text

import (
	"fmt"

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
				meterName(p.ID), p.Compared-p.Agreed, words.Plural(p.Compared, "window"), words.Bytes(p.Difference)))
		}
		if p.Skipped > 0 && !p.Shed {
			reasons = append(reasons, fmt.Sprintf("%s: %s could not be proven",
				meterName(p.ID), words.Plural(p.Skipped, "window")))
		}
	}
	for _, m := range v.r.Meters {
		if !m.Exact && !words.IsPart(m.ID) && (m.Bound == nil || *m.Bound > 0) {
			how := quality(m, true, model.Proof{}).text
			if v.vague[m.ID] && !v.o.Full {
				how = "in places " + words.Vague
			}
			reasons = append(reasons, meterName(m.ID)+" is "+how+" on this machine")
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
	v.blank()
	changes := words.Count(v.r.Certificate.Made) + " changes"
	if len(reasons) == 0 {
		v.prose("  ", span{"✓ ", green}, span{
			fmt.Sprintf("Certificate: complete. %s made, all delivered; %s proven of each meter, "+
				"to the byte (--full prints it).", changes, words.Plural(windows, "window")),
			plain,
		})
		v.shortAttribution()
		return
	}
	state := span{"✗ Certificate: not complete. ", yellow}
	if v.r.Certificate.Complete {
		state = span{"Certificate: complete. ", bold}
	}
	v.prose("  ", state, span{
		fmt.Sprintf("%s made, %s delivered. What is not exact or not proven (--full prints all):",
			changes, words.Count(v.r.Certificate.Delivered)),
		plain,
	})
	const few = 8
	for _, r := range reasons[:min(len(reasons), few)] {
		v.prose("    ", span{"  - " + r, yellow})
	}
	if more := len(reasons) - few; more > 0 {
		v.prose("    ", span{fmt.Sprintf("  … and %d more", more), yellow})
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
	v.prose("    ", span{"Who allocated is not known in full: ", bold}, span{text + ". " + figuresStand, plain})
}
