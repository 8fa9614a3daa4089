package export

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"

	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// allocationsHead are the columns of memray's table of allocations, and behind them additional ones.
var allocationsHead = []string{
	"allocator", "num_allocations", "size", "tid", "thread_name", "stack_trace", "window", "kind", "pid", "allocated",
	"window_size", "inexact",
}

// Allocations writes a row for each stack and meter: its memory at the session's peak in size, and its calls as
// function;file;line, innermost first, with bars between. Rows of cells and experiments have the memory at their own
// peaks in window_size, and 0 in size and num_allocations, so that these add up over all rows. Threads are not known:
// tid is the process, and thread_name is empty.
func Allocations(w io.Writer, report *model.Report) error {
	out := csv.NewWriter(w)
	if err := out.Write(allocationsHead); err != nil {
		return err
	}
	meters := report.AllMeters()
	var failed error
	detailed(report, func(window *model.Window) {
		pid, name := strconv.Itoa(window.PID), escape.Formula(title(window))
		eachPart(window, meters, func(p part) {
			if !words.HasBlocks(p.meter) || failed != nil {
				return
			}
			size, count := p.atPeak, p.count
			if window.Kind != model.Session {
				size, count = 0, 0
			}
			failed = out.Write([]string{
				escape.Formula(clean(p.meter)), strconv.FormatInt(count, 10), strconv.FormatInt(size, 10), pid, "",
				escape.Formula(memrayStack(p.calls())), name, window.Kind, pid, strconv.FormatInt(p.allocated, 10),
				strconv.FormatInt(p.atPeak, 10), doubt(window.Meters[p.meter]),
			})
		})
	})
	if failed != nil {
		return failed
	}
	out.Flush()
	return out.Error()
}

var traceable = strings.NewReplacer(";", ":", "|", "¦")

func memrayStack(calls []call) string {
	var out strings.Builder
	for i, c := range calls {
		if i > 0 {
			out.WriteByte('|')
		}
		out.WriteString(traceable.Replace(c.function) + ";" + traceable.Replace(c.file) + ";" +
			strconv.FormatInt(c.line, 10))
	}
	return out.String()
}
