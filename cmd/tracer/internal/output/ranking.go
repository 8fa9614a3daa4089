package output

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"ipytracer/cmd/tracer/internal/status"
	"ipytracer/event"
	"ipytracer/internal/report/text"
	"ipytracer/model"
)

// CheckMeter refuses a --by meter that no session can have, before one is traced for it.
func CheckMeter(by string) error {
	if _, ok := event.ParseMeter(by); ok || by == "" {
		return nil
	}
	var known []string
	for _, m := range event.Meters() {
		known = append(known, strings.Replace(m.Meter.String(), "gpu.0.", "gpu.N.", 1))
	}
	last := len(known) - 1
	return status.Usagef("--by %q: must be %s or %s", by, strings.Join(known[:last], ", "), known[last])
}

// by returns the meter of --by, "" if the report lacks it.
func (o *Options) by(r *model.Report) string {
	if slices.Contains(r.AllMeters(), o.By) {
		return o.By
	}
	return ""
}

// unranked reports that the report lacks the meter of --by: a finished session is printed all the same.
func (o *Options) unranked(r *model.Report) string {
	if o.By == "" || o.by(r) != "" {
		return ""
	}
	return fmt.Sprintf("--by %s: the session has no figures of it; cells are ranked by %s",
		o.By, r.Ranking(r.Nearest()))
}

// textOf returns the options for printing the text of a report.
func (o *Options) textOf(w io.Writer, r *model.Report) text.Options {
	printed := o.text(w)
	printed.By = o.by(r)
	return printed
}
