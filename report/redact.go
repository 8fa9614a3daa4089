package report

import (
	"regexp"
	"strings"

	"ipytracer/model"
)

// AuditWithoutSource returns a copy of an audit without texts that a notebook may have typed: arguments in commands,
// and the keys in the paths to blocks. Names of variables and functions stay.
func AuditWithoutSource(a *model.Audit) *model.Audit {
	c := *a
	c.Processes, c.Verdicts, c.Live = list(a.Processes), list(a.Verdicts), list(a.Live)
	if a.Variables != nil {
		c.Variables = VariablesWithoutSource(a.Variables)
	}
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
			v.Evidence = strings.ReplaceAll(v.Evidence, v.Holder, bare)
			v.Advice = strings.ReplaceAll(v.Advice, v.Holder, bare)
			v.Holder = bare
		}
		if WithoutKeys(v.Fix) != v.Fix { // a key is a part of the path
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

// WithoutKeys returns a path without the text in it: cache['secret'][3] is cache[…][3].
func WithoutKeys(way string) string { return keys.ReplaceAllString(way, "[…]") }
