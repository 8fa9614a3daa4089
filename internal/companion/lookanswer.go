package companion

import (
	"encoding/json"

	"ipytracer/model"
)

// Bounds of the answer after a look.
const (
	maxListed   = 100 // variables
	maxVerdicts = 50
	maxProse    = 2 << 10 // bytes of a sentence, of code to type
	maxOfList   = 64      // runs and processes of a verdict
	maxAlso     = 8       // further names of a variable
	maxToFree   = 8       // entries of code to type
	maxAdvice   = 8 << 10 // bytes of advice as text: each may take six in a packet
	// roomForNotJudged bounds the bytes of the things that were not judged, and roomForVerdict those of one verdict:
	// together they fit into a packet.
	roomForNotJudged = 16 << 10
	roomForVerdict   = 40 << 10
)

// looking is the answer while a look waits or is under way.
type looking struct {
	ID      int64 `json:"id"`
	Look    int64 `json:"look"` // its number, for later questions
	Looking bool  `json:"looking"`
	WaitNS  int64 `json:"wait_ns"` // until it may begin, where looks have taken their share
}

// variable is a variable in the form that answers have.
type variable struct {
	model.Variable
	Shaped string `json:"shaped"` // its shape in words
	Where  string `json:"where"`  // who made it in words, "" where that is not known
}

// verdict is a verdict in the form that answers have.
type verdict struct {
	model.Verdict
	Title string `json:"title"` // its kind in words
	Where string `json:"where"` // who made it in words, "" where that is not known
	Runs  string `json:"runs"`  // the cells, in words
}

// notJudged is something that was not judged, in the form that answers have.
type notJudged struct {
	Reason string `json:"reason"`
	Meter  string `json:"meter"` // "" for all
	Bytes  *int64 `json:"bytes"` // the most that it can be, nil where nobody knows
	Says   string `json:"says"`  // its description, the reason, and a remedy
}

// audited is an audit without its verdicts.
type audited struct {
	Least      int64             `json:"least"`
	Cells      int               `json:"cells"`
	DurationNS int64             `json:"duration_ns"`
	Complete   bool              `json:"complete"`
	Unlisted   int               `json:"unlisted"`  // verdicts that are left out
	AllClear   string            `json:"all_clear"` // of an audit without a verdict: the meaning of that
	NotJudged  []json.RawMessage `json:"not_judged"`
	// NotJudgedUnlisted is the number of things that were not judged and are not in NotJudged.
	NotJudgedUnlisted int `json:"not_judged_unlisted,omitempty"`
}

// sendLook answers "vars", "audit", "advise" and "check" with the findings of a look, or with its number if the look is
// still to come.
func (h *Hub) sendLook(l *line, r request, kind kindOfLook) {
	if h.looks.looker == nil {
		l.send(failed{r.ID, "this tracer does not look at objects"})
		return
	}
	if why := h.looks.looker.WhyNoAudit(); kind == lookAudit && why != "" {
		l.send(failed{r.ID, why})
		return
	}
	if kind == lookCheck && r.Look == 0 && len(h.promises[l.pid].free) == 0 {
		l.send(failed{r.ID, "nothing was said to be freed so far: %tracer audit or %tracer vars says what to type"})
		return
	}
	number := r.Look
	if number == 0 {
		if number = h.looks.wish(l.pid, kind); number == 0 {
			l.send(failed{r.ID, "too many notebooks ask for that just now"})
			return
		}
		h.looks.begin()
	}
	h.looks.collect()
	for i := range h.looks.answers {
		if a := &h.looks.answers[i]; a.pid == l.pid && a.kind == kind && a.number >= number {
			h.sendFindings(l, r.ID, a)
			return
		}
	}
	if !h.looks.awaits(l.pid, kind, number) {
		l.send(failed{r.ID, "nothing is known of that look any more: ask anew"})
		return
	}
	wait := int64(0)
	if h.looks.underway == nil {
		wait = int64(h.looks.wait())
	}
	l.send(looking{r.ID, number, true, wait})
}

// sendFindings answers with the findings of a look.
func (h *Hub) sendFindings(l *line, id int64, a *answered) {
	why, _ := bounded(a.why, maxProse, false)
	frame := packet{ID: id, Look: a.number, Why: why, TookNS: int64(a.took),
		ToFree: freeEntries(a.free), Checked: a.check}
	if a.kind == lookAdvise {
		frame.Advice, _ = bounded(a.advice, maxAdvice, false)
		l.send(frame)
		return
	}
	if a.audit == nil { // also where a look for one came to nothing
		frame.Names = a.names
		h.inPackets(l, frame, len(a.listed), func(i int) json.RawMessage { return h.variable(a.listed[i]) },
			func(p *packet, some []json.RawMessage) { p.Variables = some })
		return
	}
	verdicts := a.audit.Verdicts[:min(len(a.audit.Verdicts), maxVerdicts)]
	says, _ := bounded(h.options.Words.AllClear(a.audit), maxProse, false)
	frame.Audited = &audited{
		Least: a.audit.Least, Cells: a.audit.Cells, Complete: a.audit.Complete,
		Unlisted:   len(a.audit.Verdicts) - len(verdicts),
		DurationNS: a.audit.DurationNS, NotJudged: []json.RawMessage{},
	}
	if len(verdicts) == 0 {
		frame.Audited.AllClear = says
	}
	size := 0
	for i := range a.audit.NotJudged {
		n := &a.audit.NotJudged[i]
		one := notJudged{Reason: n.Reason, Meter: n.Meter, Bytes: n.Bytes}
		one.Says, _ = bounded(h.options.Words.NotJudged(n), maxProse, false)
		text, _ := json.Marshal(one)
		if size += len(text); size > roomForNotJudged {
			frame.Audited.NotJudgedUnlisted = len(a.audit.NotJudged) - i
			break
		}
		frame.Audited.NotJudged = append(frame.Audited.NotJudged, text)
	}
	h.inPackets(l, frame, len(verdicts), func(i int) json.RawMessage { return h.verdict(verdicts[i]) },
		func(p *packet, some []json.RawMessage) { p.Verdicts = some })
}

// freeEntries returns entries of code in the form that answers have. It leaves out code that is too long, and never
// cuts code.
func freeEntries(all []model.Freeing) (out []model.Freeing) {
	for _, f := range all[:min(len(all), maxToFree)] {
		if len(f.Type) > maxProse {
			continue
		}
		names := f.Names
		f.Names = []string{}
		for _, name := range names[:min(len(names), maxAlso)] {
			name, _ = bounded(name, maxText, false)
			f.Names = append(f.Names, name)
		}
		out = append(out, f)
	}
	return out
}

// variable returns a variable in the form that answers have, without parts that are too large.
func (h *Hub) variable(v model.Variable) json.RawMessage {
	shown := variable{Variable: v, Shaped: h.options.Words.Shape(v)}
	if len(v.Stack) > 0 {
		shown.Where = h.options.Who(v.Stack)
	}
	shown.Stack = short(v.Stack)
	shown.Name, _ = bounded(v.Name, maxText, false)
	shown.Type, _ = bounded(v.Type, maxText, false)
	shown.DType, _ = bounded(v.DType, maxText, false)
	shown.Shape = v.Shape[:min(len(v.Shape), maxOfList)]
	shown.Also = nil
	for _, name := range v.Also[:min(len(v.Also), maxAlso)] {
		name, _ = bounded(name, maxText, false)
		shown.Also = append(shown.Also, name)
	}
	text, _ := json.Marshal(shown)
	if len(text) > roomForVerdict {
		shown.Stack = []model.Frame{}
		text, _ = json.Marshal(shown)
	}
	return text
}

// verdict returns a verdict in the form that answers have, without parts that are too large.
func (h *Hub) verdict(v model.Verdict) json.RawMessage {
	shown := verdict{Verdict: v, Title: h.options.Words.Title(v.Kind), Runs: h.options.Words.Runs(&v)}
	if len(v.Stack) > 0 {
		shown.Where = h.options.Who(v.Stack)
	}
	shown.Stack = short(v.Stack)
	for _, text := range []*string{&shown.Holder, &shown.Evidence, &shown.Advice, &shown.Fix, &shown.Command,
		&shown.Runs} {
		*text, _ = bounded(*text, maxProse, false)
	}
	shown.Executions = v.Executions[:min(len(v.Executions), maxOfList)]
	shown.ExecutionCounts = v.ExecutionCounts[:min(len(v.ExecutionCounts), maxOfList)]
	shown.PIDs = v.PIDs[:min(len(v.PIDs), maxOfList)]
	text, _ := json.Marshal(shown)
	if len(text) > roomForVerdict { // JSON writes some bytes as six
		shown.Stack, shown.Command = []model.Frame{}, ""
		for _, text := range []*string{&shown.Holder, &shown.Evidence, &shown.Advice, &shown.Where, &shown.Runs} {
			*text, _ = bounded(*text, maxText, false)
		}
		shown.Fix = ""
		text, _ = json.Marshal(shown)
	}
	return text
}
