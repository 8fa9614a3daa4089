package sheet

import (
	"fmt"

	"ipytracer/internal/report/doc"
	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// maxAdviceRows is the most pieces of advice in Markdown; `tracer advise` has ten.
const maxAdviceRows = 3

// advice shows the changes that save most.
func (p *session) advice(a *model.Advice) {
	if a == nil || len(a.Items) == 0 {
		return
	}
	p.WriteString("| gain | how sure | line | what to do |\n|--:|---|---|---|\n")
	for i := range a.Items[:min(len(a.Items), maxAdviceRows)] {
		item := &a.Items[i]
		fmt.Fprintf(p, "| %s | %s | %s | %s |\n", words.AdviceGain(item.Saves), item.Accuracy,
			doc.Code(words.PlaceName(&item.At)), doc.Code(escape.OneLine(item.Title, false, 2*maxExcerpt)))
	}
	if more := len(a.Items) - maxAdviceRows; more > 0 {
		fmt.Fprintf(p, "\n… and %d more: `tracer advise` has them, with the code.\n", more)
	}
	p.WriteString("\n")
}
