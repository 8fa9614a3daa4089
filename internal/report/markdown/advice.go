package markdown

import (
	"fmt"

	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// maxAdvice is the most pieces of advice in Markdown; `tracer advise` has ten.
const maxAdvice = 3

// advice shows the changes that save most.
func (p *page) advice(a *model.Advice) {
	if a == nil || len(a.Items) == 0 {
		return
	}
	p.WriteString("| gain | how sure | line | what to do |\n|--:|---|---|---|\n")
	for i := range a.Items[:min(len(a.Items), maxAdvice)] {
		item := &a.Items[i]
		fmt.Fprintf(p, "| %s | %s | %s | %s |\n", words.AdviceGain(item.Saves, item.Fits), item.Accuracy,
			Code(words.PlaceName(&item.At)), Code(escape.OneLine(item.Title, false, 2*maxExcerpt)))
	}
	if more := len(a.Items) - maxAdvice; more > 0 {
		fmt.Fprintf(p, "\n… and %d more: `tracer advise` has them, with the code.\n", more)
	}
	p.WriteString("\n")
}
