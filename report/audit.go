package report

import (
	"fmt"
	"regexp"
	"strings"

	"ipytracer/model"
)

// placeName is "In[3] line 2".
func placeName(p *model.Place) string {
	text := runName([]int{p.Execution}, []int{p.ExecutionCount}, 0)
	if p.Line > 0 {
		text += fmt.Sprintf(" line %d", p.Line)
	}
	return text
}

// AuditWithoutSource returns a copy of an audit from which texts are gone that a notebook may have typed: what follows the
// program's name in commands, and the keys on the way to what holds a block. Names of variables and functions stay.
func AuditWithoutSource(a *model.Audit) *model.Audit {
	c := *a
	c.Processes, c.Verdicts, c.Live = list(a.Processes), list(a.Verdicts), list(a.Live)
	for i := range c.Live {
		c.Live[i].Holder = WithoutKeys(c.Live[i].Holder)
	}
	for i := range c.Processes {
		c.Processes[i].Command = withoutCode(c.Processes[i].Command)
	}
	for i := range c.Verdicts {
		v := &c.Verdicts[i]
		if v.Holder != "" {
			bare := WithoutKeys(v.Holder)
			v.Evidence, v.Advice, v.Holder = strings.ReplaceAll(v.Evidence, v.Holder, bare), strings.ReplaceAll(v.Advice, v.Holder, bare), bare
		}
		if WithoutKeys(v.Fix) != v.Fix { // a key is a part of the way to it
			v.Fix = ""
		}
		if v.Command != "" {
			v.Evidence = strings.ReplaceAll(v.Evidence, v.Command, program(v.Command))
			v.Command = program(v.Command)
		}
	}
	return &c
}

var keys = regexp.MustCompile(`\['(?:[^'\\]|\\.)*'?\]?|\["(?:[^"\\]|\\.)*"?\]?`)

// WithoutKeys is a way without the text in it: cache['secret'][3] is cache[…][3].
func WithoutKeys(way string) string { return keys.ReplaceAllString(way, "[…]") }

// runs names the cells of a verdict: "In[3], In[5]"; those after the first few are counted.
func runs(v *model.Verdict) string {
	const few = 6
	text := ""
	for i := range v.Executions {
		if i == few && len(v.Executions) > few+1 {
			return text + fmt.Sprintf(" and %d more", len(v.Executions)-few)
		}
		if i > 0 {
			text += ", "
		}
		text += runName(v.Executions, v.ExecutionCounts, i)
	}
	return text
}

// runName is "In[3]", or "cell #3" where IPython counts none.
func runName(executions, counts []int, i int) string {
	if i < len(counts) && counts[i] > 0 {
		return fmt.Sprintf("In[%d]", counts[i])
	}
	return fmt.Sprintf("cell #%d", executions[i])
}
