package report

import (
	"encoding/json"
	"fmt"

	"ipytracer/model"
)

// read are the tables of a document during reading. An index that is out of range is an error of the whole document.
type read struct {
	Frames []model.Frame `json:"frames"`
	Stacks []tabledStack `json:"stacks"`
	known  map[int][]model.Frame
	err    error
}

func (r *read) frame(at int) model.Frame {
	if at < 0 || at >= len(r.Frames) {
		r.err = fmt.Errorf("frame %d is not in frames[]", at)
		return model.Frame{}
	}
	return r.Frames[at]
}

func (r *read) stack(at int) (frames []model.Frame, truncated bool) {
	if at < 0 || at >= len(r.Stacks) {
		r.err = fmt.Errorf("stack %d is not in stacks[]", at)
		return []model.Frame{}, false
	}
	frames, known := r.known[at]
	if !known {
		frames = make([]model.Frame, len(r.Stacks[at].Frames))
		for i, f := range r.Stacks[at].Frames {
			frames[i] = r.frame(f)
		}
		if r.known == nil {
			r.known = map[int][]model.Frame{}
		}
		r.known[at] = frames
	}
	return frames, r.Stacks[at].Truncated
}

func (r *read) variables(all []tabledVariable) (out []model.Variable) {
	for _, one := range all {
		one.Variable.Stack, _ = r.stack(one.Stack)
		out = append(out, one.Variable)
	}
	return out
}

// ReadJSON reads the output of [JSON], with every stack in its place.
func ReadJSON(data []byte) (*model.Report, error) {
	type bare model.Report
	var doc struct {
		bare
		read
		Windows   []tabledWindow   `json:"windows"`
		Between   []tabledBetween  `json:"between"`
		Lines     []tabledLine     `json:"lines"`
		Tensors   []tabledTensors  `json:"tensors"`
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
	for _, one := range doc.Tensors {
		one.Tensors.Stack, _ = doc.stack(one.Stack)
		report.Tensors = append(report.Tensors, one.Tensors)
	}
	report.Variables = doc.variables(doc.Variables)
	return &report, doc.err
}

// ReadAuditJSON reads the output of [AuditJSON], with every stack in its place.
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

func (r *read) refused(all []tabledRefusal) (out []model.Refusal) {
	for _, one := range all {
		if one.Stack != 0 {
			one.Refusal.Stack, _ = r.stack(one.Stack)
		}
		for _, d := range one.Dividers {
			d.Divider.Stack, _ = r.stack(d.Stack)
			one.Refusal.Dividers = append(one.Refusal.Dividers, d.Divider)
		}
		out = append(out, one.Refusal)
	}
	return out
}
