package plan

import (
	"fmt"

	"ipytracer/model"
	"ipytracer/model/words"
)

// maxReasons is how many reasons are told of each run.
const maxReasons = 8

// cut is how a recording that was cut says that it finished.
const cut = "recording cut"

// doubts are why the notebook may need more than the plan says.
func doubts(runs []*Run, p *model.Plan) []string {
	out := []string{}
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	for i, r := range runs {
		name := "the recording"
		if len(runs) > 1 {
			name = fmt.Sprintf("recording %d", i+1)
		}
		if r.Finished == cut {
			add("%s was cut: what came after is not known", name)
		}
		if r.Cells == 0 {
			add("no cell ran in %s", name)
		}
		if r.Failed > 0 {
			add("%s: %s did not end well: with what did not run it would need more", name,
				words.Plural(r.Failed, "cell"))
		}
		if r.late {
			add("%s began in a process that ran already: what it needed before is not known", name)
		}
		for _, text := range r.ended {
			add("%s: %s", name, text)
		}
		for k, text := range r.reasons {
			if k == maxReasons {
				add("%s: %s", name, words.Plural(len(r.reasons)-k, "more reason")+" why it is not complete")
				break
			}
			add("%s: %s", name, text)
		}
	}
	for i := range p.Demands {
		d := &p.Demands[i]
		if d.Bound == nil {
			add("%s: the highest moment is a lower bound: part of the time or of the memory was not seen",
				words.Meter(d.Meter))
		}
		if d.At == nil && runs[d.Run].Cells > 0 {
			add("%s was highest between two cells: no line is known for that", words.Meter(d.Meter))
		}
	}
	if len(runs) > 1 && differ(runs) {
		add("the recordings are of different machines")
	}
	return out
}

func differ(runs []*Run) bool {
	for _, r := range runs[1:] {
		if a, b := r.Host, runs[0].Host; a.Name != b.Name || a.Kernel != b.Kernel || a.CPUs != b.CPUs {
			return true
		}
	}
	return false
}
