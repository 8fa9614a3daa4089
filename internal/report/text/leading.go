package text

import (
	"cmp"
	"slices"
	"strings"

	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

const (
	mostLeading = 2               // names that lead to memory which something else has, too
	taskType    = "_asyncio.Task" // since CPython 3.6
)

// leadingTo returns the names that lead to as much as a line has left, though not alone; "" for none. Of tasks of
// asyncio it says what ends them: the event loop has them, too.
func (o *leftover) leadingTo(l *model.Line) string {
	var all []*model.Variable
	for i := range o.r.Variables {
		x := &o.r.Variables[i]
		if x.PID == o.pid && x.Kind == "variable" && x.Reaches-x.Bytes >= max(worthAGap, l.Left) && x.Device == 0 {
			all = append(all, x)
		}
	}
	slices.SortStableFunc(all, func(a, b *model.Variable) int { return cmp.Compare(a.Reaches, b.Reaches) })
	var parts []string
	for _, x := range all[:min(len(all), mostLeading)] {
		name := escape.OneLine(x.Name, false, MaxCode)
		other := "something else has, too"
		if x.Type == taskType {
			other = "the event loop has, too: " + name + ".cancel(); del " + name + " ends it"
		}
		parts = append(parts, name+" leads to "+words.Bytes(x.Reaches-x.Bytes)+" that "+other)
	}
	if len(parts) == 0 {
		return ""
	}
	return "; " + strings.Join(parts, "; ")
}
