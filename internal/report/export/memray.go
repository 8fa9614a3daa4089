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

// allocationsHead are the columns of memray's table of allocations (the first six), and ours.
var allocationsHead = []string{
	"allocator", "num_allocations", "size", "tid", "thread_name", "stack_trace", "window", "kind", "pid", "allocated",
	"window_size", "inexact",
}

// Allocations writes a CSV table with a row for each window, meter and stack. The column size is the memory at the
// session's peak; stack_trace has the calls, innermost first, as function;file;line with bars between them. Rows of
// cells and experiments have 0 in size and num_allocations, so that these columns add up, and the memory at their own
// peaks in window_size. Threads are not known: tid is the process, and thread_name is empty. It fails with w's error
// only.
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

// traceable replaces the characters that separate calls and their parts.
var traceable = strings.NewReplacer(";", ":", "|", "¦")

// memrayStack returns calls in the form of the column stack_trace.
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
