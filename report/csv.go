package report

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"
)

// csvColumns come before the columns of the meters.
var csvColumns = []string{"kind", "id", "parent", "pid", "execution", "execution_count", "silent", "name", "line", "status",
	"note", "start_ns", "duration_ns", "cpu_ns", "after", "before", "source", "source_truncated"}

// csvFigure are the columns of one meter, each after the meter's id and a dot.
var csvFigure = []string{"start", "peak", "end", "consumed", "peaked", "exact", "bound"}

// CSV writes one row for each window and, with kind "between", one for each stretch of time between cells. Sizes are
// exact bytes; what a row does not have is empty. Texts keep their newlines, other control characters are escaped
// as by [Escape], and a text that a spreadsheet would take for a formula begins with an apostrophe.
func CSV(w io.Writer, r *Report) error {
	out := csv.NewWriter(w)
	ids := meterIDs(r)
	head := append([]string{}, csvColumns...)
	for _, id := range ids {
		for _, name := range csvFigure {
			head = append(head, csvText(id+"."+name))
		}
	}
	if err := out.Write(head); err != nil {
		return err
	}
	for window := range r.AllPassing() {
		if err := out.Write(append(csvWindow(*window), csvFigures(window.Meters, ids)...)); err != nil {
			return err
		}
	}
	for one := range r.AllBetweenPassing() {
		b := *one
		if err := out.Write(append(csvBetween(b), csvFigures(b.Meters, ids)...)); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

func csvWindow(w Window) []string {
	count, cpu, execution, line := "", "", "", ""
	if w.ExecutionCount != nil {
		count = strconv.Itoa(*w.ExecutionCount)
	}
	if w.CPUNS >= 0 {
		cpu = strconv.FormatInt(w.CPUNS, 10)
	}
	if w.Execution > 0 {
		execution = strconv.Itoa(w.Execution)
	}
	if w.Line > 0 {
		line = strconv.Itoa(w.Line)
	}
	return []string{csvText(w.Kind), strconv.Itoa(w.ID), strconv.Itoa(w.Parent), strconv.Itoa(w.PID), execution, count,
		strconv.FormatBool(w.Silent), csvText(w.Name), line, csvText(w.Status), csvText(w.Note),
		strconv.FormatInt(w.StartNS, 10), strconv.FormatInt(w.DurationNS, 10), cpu, "", "",
		csvText(w.Source), strconv.FormatBool(w.SourceTruncated)}
}

func csvBetween(b Between) []string {
	return []string{"between", "", "", strconv.Itoa(b.PID), "", "", "", csvText(b.Label), "", "", csvText(b.Note),
		strconv.FormatInt(b.StartNS, 10), strconv.FormatInt(b.DurationNS, 10), "", strconv.Itoa(b.After), strconv.Itoa(b.Before), "", ""}
}

func csvFigures(figures map[string]Figure, ids []string) []string {
	row := make([]string, 0, len(ids)*len(csvFigure))
	for _, id := range ids {
		f, ok := figures[id]
		if !ok {
			row = append(row, make([]string, len(csvFigure))...)
			continue
		}
		for _, n := range [...]int64{f.Start, f.Peak, f.End, f.Consumed, f.Peaked} {
			row = append(row, strconv.FormatInt(n, 10))
		}
		bound := ""
		if f.Bound != nil {
			bound = strconv.FormatInt(*f.Bound, 10)
		}
		row = append(row, strconv.FormatBool(f.Exact), bound)
	}
	return row
}

// csvText makes a text safe for spreadsheets and terminals. The characters that begin a formula include the
// full-width forms, which some spreadsheets fold.
func csvText(s string) string {
	if s != "" && strings.ContainsRune("=+-@\t\r\n＝＋－＠", []rune(s[:min(4, len(s))])[0]) {
		s = "'" + s
	}
	return escape(s, "\n\t")
}
