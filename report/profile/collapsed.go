package profile

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"ipytracer/model"
)

// Collapsed writes a line for each stack, outermost call first, and its bytes at the session's peak: the input of flame
// graphs. The first two frames are the process and the meter; everything under them adds up to the meter's peak.
func Collapsed(w io.Writer, r *model.Report) error {
	out := bufio.NewWriter(w)
	meters, runs := r.AllMeters(), commands(r)
	detailed(r, func(window *model.Window) {
		if window.Kind != model.Session {
			return
		}
		process := collapsible.Replace(clean(fmt.Sprintf("%d %s", window.PID, runs[window.PID])))
		eachPart(window, meters, func(p part) {
			if p.atPeak <= 0 {
				return
			}
			out.WriteString(process)
			out.WriteByte(';')
			out.WriteString(collapsible.Replace(clean(p.meter)))
			calls := p.calls()
			for i := len(calls) - 1; i >= 0; i-- {
				out.WriteByte(';')
				out.WriteString(collapsible.Replace(shown(calls[i])))
			}
			fmt.Fprintf(out, " %d\n", p.atPeak)
		})
	})
	return out.Flush()
}

// collapsible removes from names the characters that separate frames.
var collapsible = strings.NewReplacer(";", ":")

// shown returns a call in one text: "make (In[3]:2)".
func shown(c call) string {
	switch {
	case c.file == "":
		return c.function
	case c.file == c.function && c.line > 0:
		return fmt.Sprintf("%s:%d", c.file, c.line)
	case c.line > 0:
		return fmt.Sprintf("%s (%s:%d)", c.function, c.file, c.line)
	}
	return fmt.Sprintf("%s (%s)", c.function, c.file)
}
