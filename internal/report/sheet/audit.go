package sheet

import (
	"cmp"
	"fmt"
	"io"

	"ipytracer/internal/words"
	"ipytracer/model"
)

// AuditHTML writes an audit as a page without scripts. It fails with w's error only.
func AuditHTML(w io.Writer, a *model.Audit, o AuditOptions) error {
	return html(w, auditPage(a, o, htmlRows))
}

// AuditMarkdown writes an audit for a pull request.
func AuditMarkdown(w io.Writer, a *model.Audit, o AuditOptions) error {
	return asMarkdown(w, auditPage(a, o, markdownRows))
}

// AuditOptions are functions of other packages for parts of an audit.
type AuditOptions struct {
	Who   func([]model.Frame) string // a stack
	Title func(kind string) string   // a kind of verdict
	Full  bool                       // with an account of the memory that is still there
}

func auditPage(a *model.Audit, o AuditOptions, rows int) *page {
	p := &page{Title: "Leak audit"}
	for _, one := range a.Processes[:min(len(a.Processes), rows)] {
		text := fmt.Sprintf("pid %d", one.PID)
		if one.Python != "" {
			text += " · Python " + one.Python
		}
		if one.Late {
			text += " · what it had made before the audit began is not in it"
		}
		p.Facts = append(p.Facts, fact{Name: "process", Text: text + " · " + clip(one.Command)})
	}
	p.Facts = append(p.Facts, fact{
		Name: "session", Text: words.Plural(a.Cells, "cell") + " in " + words.Duration(a.DurationNS),
	})
	verdicts := fact{"verdicts", words.Plural(len(a.Verdicts), "verdict"), more}
	if len(a.Verdicts) == 0 {
		verdicts.Tone = less
		if !a.Complete {
			verdicts.Text, verdicts.Tone = "none, but not everything could be judged: no all-clear", doubt
		}
	}
	p.Facts = append(p.Facts, verdicts)
	p.verdicts(a, o, rows)
	p.toFree(a, rows)
	if o.Full {
		p.held(a, rows)
	}
	if len(a.NotJudged) > 0 {
		s := section{
			Title: "Not judged", Columns: columns("meter", ">bytes at most", "why", "what to do"),
			More: rest(len(a.NotJudged), rows, "reason"),
		}
		for i := range a.NotJudged[:min(len(a.NotJudged), rows)] {
			n := &a.NotJudged[i]
			bytes := "not known"
			if n.Bytes != nil {
				bytes = words.Bytes(*n.Bytes)
			}
			s.Rows = append(s.Rows, []cell{
				plain(cmp.Or(words.Meter(n.Meter), "all")), plain(bytes), {Text: clip(n.Why), Tone: doubt},
				plain(clip(n.Advice)),
			})
		}
		p.Sections = append(p.Sections, s)
	}
	return p
}

func (p *page) verdicts(a *model.Audit, o AuditOptions, rows int) {
	if len(a.Verdicts) == 0 {
		return
	}
	s := section{
		Title: "Verdicts", Columns: columns(">bytes", "meter", "what", "line", "why", "what to do"),
		More: rest(len(a.Verdicts), rows, "verdict"),
	}
	for i := range a.Verdicts[:min(len(a.Verdicts), rows)] {
		v := &a.Verdicts[i]
		where := ""
		if len(v.Stack) > 0 {
			where = o.Who(v.Stack)
		}
		s.Rows = append(s.Rows, []cell{
			{Text: words.Bytes(v.Bytes), Tone: more}, plain(words.Meter(v.Meter)), plain(o.Title(v.Kind)), code(where),
			plain(clip(v.Evidence)), plain(clip(v.Advice)),
		})
	}
	p.Sections = append(p.Sections, s)
	for i := range a.Verdicts[:min(len(a.Verdicts), rows)] { // code is whole, to be pasted
		if v := &a.Verdicts[i]; v.Fix != "" {
			p.Sections = append(p.Sections, section{
				Title: fmt.Sprintf("To type for verdict %d: %s", i+1, words.Bytes(v.Bytes)), Pre: v.Fix,
			})
		}
	}
}

// toFree lists code that frees memory.
func (p *page) toFree(a *model.Audit, rows int) {
	for _, f := range a.ToFree[:min(len(a.ToFree), rows)] {
		size := words.Bytes(f.Falls())
		if f.Device > 0 {
			size += " + " + words.Bytes(f.Device) + " GPU"
		}
		if !f.Exact {
			size = "≥ " + size
		}
		if f.Resident == nil && f.Device == 0 {
			size = "objects of " + size
		}
		p.Sections = append(p.Sections, section{Title: "To free " + size + ", type", Pre: f.Type})
	}
}

func (p *page) held(a *model.Audit, rows int) {
	if len(a.Held) == 0 {
		return
	}
	s := section{
		Title: "Still there at the end, by what holds it", Note: "An account, no verdict.",
		Columns: columns(">bytes", "meter", ">blocks", "by", "name"), More: rest(len(a.Held), rows, "name"),
	}
	for i := range a.Held[:min(len(a.Held), rows)] {
		h := &a.Held[i]
		s.Rows = append(s.Rows, []cell{
			plain(words.Bytes(h.Bytes)), plain(words.Meter(h.Meter)), plain(fmt.Sprint(h.Count)), plain(h.By),
			code(h.Holder),
		})
	}
	p.Sections = append(p.Sections, s)
}
