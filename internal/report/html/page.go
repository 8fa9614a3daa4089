package html

import (
	"cmp"
	_ "embed"
	"ipytracer/internal/report/doc"
	"slices"
	"strings"

	"ipytracer/internal/report/text"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// newPage makes the data of a page. The order of its steps decides the places of texts in the page's table.
func newPage(r *model.Report, o Options) (*page, error) {
	summary, err := text.Summarize(r, "")
	if err != nil {
		return nil, err
	}
	b := &builder{r: r, choice: choose(r), texts: newTexts(), sources: newSources(), meters: map[string]int{},
		page: &page{
			Schema: Schema, Version: o.Version, Summit: summary.SummitID, Answers: [][2]string{},
			Doubts: shownAll(summary.Doubts), Unnamed: shownAll(summary.Unattributed), Left: []string{},
			body: body{Details: []detail{}, Rows: emptyRows()},
		}}
	b.calls = newCalls(b.texts, b.page)
	for _, a := range summary.Answers {
		b.page.Answers = append(b.page.Answers, [2]string{shown(a.Question), shown(a.Text)})
	}
	h := r.Host
	b.page.Host = model.Host{
		Name: shown(h.Name), Kernel: shown(h.Kernel), CPUs: h.CPUs, Memory: h.Memory, Tracer: shown(h.Tracer),
		Started: shown(h.Started),
	}
	for _, device := range text.Devices(r) {
		b.page.GPUs = append(b.page.GPUs, shown(device))
	}
	b.declare()
	for w := range r.Picked(b.hasRow) {
		b.window(w)
	}
	for between := range r.AllBetweenPassing() {
		b.between(between)
	}
	b.page.Rows.trim()
	b.lines()
	b.variables()
	b.page.ToFree = freeings(b.r.ToFree)
	b.tensors()
	b.processes()
	b.timeline()
	b.proof()
	if o.Audit != nil {
		b.page.Audit = auditOf(o.Audit)
	}
	if r.Advice != nil {
		b.page.Advice = adviceOf(r.Advice)
	}
	b.left()
	b.page.Texts, b.page.Terms = b.texts.all, termsFor(b.page.Meters)
	if b.page.Body, err = deflated(&b.page.body); err != nil {
		return nil, err
	}
	if b.page.Sources, err = b.sources.parts(); err != nil {
		return nil, err
	}
	return b.page, nil
}

// declare lists the meters of the page: those with a column of their own first, then those that are a part of another.
func (b *builder) declare() {
	sources := map[string]string{}
	for _, m := range b.r.Meters {
		sources[m.ID] = m.Source
	}
	ids := text.Headlines(b.r)
	for _, id := range b.r.AllMeters() {
		if words.IsPart(id) && b.choice.parts {
			ids = append(ids, id)
		}
	}
	b.page.Meters = []meter{}
	for _, id := range ids {
		b.meters[id] = len(b.page.Meters)
		b.page.Meters = append(b.page.Meters, meter{
			ID: shown(id), Name: shown(words.Meter(id)), Source: shown(sources[id]), Part: words.IsPart(id),
			GPU: strings.HasPrefix(id, "gpu."),
		})
	}
	for range ids {
		b.page.Rows.Figures = append(b.page.Rows.Figures, figure{Start: longs{}, Need: longs{}, Consumed: longs{}})
	}
}

// lines adds the first lines of the report, up to mostLines.
func (b *builder) lines() {
	b.page.Lines = []line{}
	for i, l := range b.r.Lines {
		meter, known := b.meters[l.Meter]
		if !known || len(b.page.Lines) == mostLines {
			continue
		}
		b.page.Lines = append(b.page.Lines, line{
			At: i, PID: l.PID, Meter: meter, Frame: b.calls.frame(l.Frame), AtPeak: l.AtPeak, Allocated: l.Allocated,
			Freed: l.Freed, Left: l.Left, Count: l.Count, Sampled: l.Sampled,
		})
	}
}

// variables adds the first variables of the report, the number of other names, and the parts of resident memory.
func (b *builder) variables() {
	b.page.Variables, b.page.Names = []variable{}, names{Complete: true}
	for i, x := range b.r.Variables {
		if i >= mostVariables {
			b.page.Names.Unlisted++
			b.page.Names.Bytes += x.Bytes
			continue
		}
		maker := ""
		if len(x.Stack) > 0 {
			maker = shown(text.Who(x.Stack))
		}
		b.page.Variables = append(b.page.Variables, variable{
			At: i, PID: x.PID, Name: shown(x.Name), Also: shown(strings.Join(x.Also, ", ")), Kind: shown(x.Kind),
			Type: shown(x.Type), Shape: text.Shape(x), Bytes: x.Bytes, Reaches: x.Reaches, Device: x.Device,
			Exact: x.Exact, Maker: maker, Before: x.Before, Execution: x.Execution, Line: x.Line,
		})
	}
	for _, n := range b.r.Names {
		b.page.Names.Unlisted += n.Unlisted
		b.page.Names.Bytes += n.Bytes
		b.page.Names.Complete = b.page.Names.Complete && n.Complete
	}
	b.page.Resident = []resident{}
	for i, x := range b.r.Resident[:min(len(b.r.Resident), mostProcesses)] {
		r := resident{At: i, PID: x.PID, Total: x.Total, Trim: x.Trim, Complete: x.Complete, Parts: []part{}}
		for _, p := range x.Parts {
			r.Parts = append(r.Parts, part{shown(words.ResidentKind(p.Kind)), p.Bytes})
		}
		b.page.Resident = append(b.page.Resident, r)
	}
}

// tensors adds PyTorch's blocks that lived at the end, by groups.
func (b *builder) tensors() {
	b.page.Tensors = []tensors{}
	for i, x := range b.r.Tensors[:min(len(b.r.Tensors), mostTensors)] {
		if meter, known := b.meters[x.Meter]; known {
			b.page.Tensors = append(b.page.Tensors, tensors{
				i, meter, x.Size, x.Count, x.Bytes, shown(text.Who(x.Stack)),
			})
		}
	}
}

// processes adds the processes: first the attached ones, then their children, each by their highest resident memory.
func (b *builder) processes() {
	b.page.Processes = []process{}
	order := make([]int, len(b.r.Processes))
	for i := range order {
		order[i] = i
	}
	resident := func(i int) int64 { return b.r.Processes[i].Meters["cpu.resident"].Peak }
	isChild := func(i int) int { return min(b.r.Processes[i].Parent, 1) } // 0 for an attached process, else 1
	slices.SortStableFunc(order, func(i, j int) int {
		return cmp.Or(cmp.Compare(isChild(i), isChild(j)), cmp.Compare(resident(j), resident(i)))
	})
	for _, i := range order[:min(len(order), mostProcesses)] {
		p := &b.r.Processes[i]
		b.page.Length = max(b.page.Length, p.EndNS)
		b.page.Processes = append(b.page.Processes, process{
			At: i, PID: p.PID, Parent: p.Parent, Command: shown(p.Command), Python: shown(p.Python),
			IPython: shown(p.IPython), Start: p.StartNS, End: p.EndNS, Ended: shown(text.Ended(p)), Late: p.Late,
			Limits: b.limits(p), Figures: b.packed(p.Meters),
		})
	}
}

// limits returns the limits of a process's memory, with their names for people.
func (b *builder) limits(p *model.Process) []limit {
	limits := []limit{}
	for _, l := range model.LevelsOf([]model.Process{*p}, b.r.GPUs) {
		name := map[string]string{"gpu": "all of the GPU", "limit": "a soft limit"}[l.Kind]
		if name == "" {
			name = doc.LimitName(model.Limit{Kind: l.Kind, Path: l.Path})
		}
		if at, known := b.meters[l.Meter]; known && l.Bytes > 0 {
			limits = append(limits, limit{at, l.Bytes, shown(name)})
		}
	}
	return limits
}

// termsFor returns the words of reports with what they mean. Each of the meters is a name of its word.
func termsFor(meters []meter) (terms []term) {
	for _, t := range words.ReportTerms() {
		names := slices.Clone(t.Names)
		for _, m := range meters {
			if words.Meaning(m.Name) == t.Text && !slices.Contains(names, m.Name) {
				names = append(names, m.Name)
			}
		}
		terms = append(terms, term{names, t.Text})
	}
	return terms
}

// Options say which parts a page has beside the report. The zero value is a page of the report alone.
type Options struct {
	// Audit lists memory that stayed behind; nil if there was no look at the objects.
	Audit *model.Audit
	// Version numbers the pages of a running session from a server, from 1: the page asks the server for a newer one.
	// It is 0 for a page in a file, which has no server.
	Version int
}
