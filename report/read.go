package report

import (
	"encoding/json"
	"fmt"

	"ipytracer/model"
)

// read are the tables of a document that is being read. An index out of range is an error of the whole document.
type read struct {
	Frames []model.Frame         `json:"frames"`
	Stacks []tabledStack         `json:"stacks"`
	known  map[int][]model.Frame // stacks that were asked for, by number
	err    error                 // the last error
}

// frame returns a frame by its index. An index out of range sets err.
func (r *read) frame(index int) model.Frame {
	if index < 0 || index >= len(r.Frames) {
		r.err = fmt.Errorf("frame %d is not in frames[]", index)
		return model.Frame{}
	}
	return r.Frames[index]
}

// stack returns a stack by its number. A number out of range sets err.
func (r *read) stack(number int) (frames []model.Frame, truncated bool) {
	if number < 0 || number >= len(r.Stacks) {
		r.err = fmt.Errorf("stack %d is not in stacks[]", number)
		return []model.Frame{}, false
	}
	frames, known := r.known[number]
	if !known {
		frames = make([]model.Frame, len(r.Stacks[number].Frames))
		for i, f := range r.Stacks[number].Frames {
			frames[i] = r.frame(f)
		}
		if r.known == nil {
			r.known = map[int][]model.Frame{}
		}
		r.known[number] = frames
	}
	return frames, r.Stacks[number].Truncated
}

// variables puts the stacks into variables.
func (r *read) variables(tabled []tabledVariable) (out []model.Variable) {
	for _, v := range tabled {
		v.Variable.Stack, _ = r.stack(v.Stack)
		out = append(out, v.Variable)
	}
	return out
}

// ReadJSON reads the output of [JSON], and puts the frames of every stack in their places.
func ReadJSON(data []byte) (*model.Report, error) {
	type bare model.Report
	var doc struct {
		bare
		read
		Windows   []tabledWindow   `json:"windows"`
		Between   []tabledBetween  `json:"between"`
		Lines     []tabledLine     `json:"lines"`
		Tensors   []tabledTensors  `json:"tensors"`
		Copied    []tabledCopied   `json:"copied"`
		Variables []tabledVariable `json:"variables"`
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, err
	}
	report := model.Report(doc.bare)
	for _, w := range doc.Windows {
		w.Window.Refused = doc.refused(w.Refused)
		for _, a := range w.Allocations {
			a.Allocation.Stack, a.StackTruncated = doc.stack(a.Stack)
			w.Window.Allocations = append(w.Window.Allocations, a.Allocation)
		}
		report.Windows = append(report.Windows, w.Window)
	}
	for _, b := range doc.Between {
		b.Between.Refused = doc.refused(b.Refused)
		report.Between = append(report.Between, b.Between)
	}
	for _, l := range doc.Lines {
		l.Line.Frame = doc.frame(l.Frame)
		report.Lines = append(report.Lines, l.Line)
	}
	for _, t := range doc.Tensors {
		t.Tensors.Stack, _ = doc.stack(t.Stack)
		report.Tensors = append(report.Tensors, t.Tensors)
	}
	for _, c := range doc.Copied {
		c.Copied.Stack, _ = doc.stack(c.Stack)
		report.Copied = append(report.Copied, c.Copied)
	}
	report.Variables = doc.variables(doc.Variables)
	return &report, doc.err
}

// ReadAuditJSON reads the output of [AuditJSON], and puts the frames of every stack in their places.
func ReadAuditJSON(data []byte) (*model.Audit, error) {
	type bare model.Audit
	var doc struct {
		bare
		read
		Verdicts  []tabledVerdict  `json:"verdicts"`
		Live      []tabledLive     `json:"live"`
		Variables []tabledVariable `json:"variables"`
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, err
	}
	audit := model.Audit(doc.bare)
	for _, v := range doc.Verdicts {
		v.Verdict.Stack, _ = doc.stack(v.Stack)
		audit.Verdicts = append(audit.Verdicts, v.Verdict)
	}
	for _, l := range doc.Live {
		l.LiveBlocks.Stack, _ = doc.stack(l.Stack)
		audit.Live = append(audit.Live, l.LiveBlocks)
	}
	audit.Variables = doc.variables(doc.Variables)
	return &audit, doc.err
}

// refused puts the stacks into refused requests.
func (r *read) refused(tabled []tabledRefusal) (out []model.Refusal) {
	for _, refusal := range tabled {
		if refusal.Stack != 0 {
			refusal.Refusal.Stack, _ = r.stack(refusal.Stack)
		}
		for _, d := range refusal.Dividers {
			d.Divider.Stack, _ = r.stack(d.Stack)
			refusal.Refusal.Dividers = append(refusal.Refusal.Dividers, d.Divider)
		}
		out = append(out, refusal.Refusal)
	}
	return out
}
