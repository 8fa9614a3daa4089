package sheet

import (
	"fmt"
	"io"
	"strings"

	"ipytracer/internal/words"
	"ipytracer/model"
)

// AdviceMarkdown writes advice for a pull request. It fails with w's error only.
func AdviceMarkdown(w io.Writer, a *model.Advice) error { return asMarkdown(w, advicePage(a)) }

// AdviceHTML writes advice as a page without scripts.
func AdviceHTML(w io.Writer, a *model.Advice) error { return html(w, advicePage(a)) }

func advicePage(a *model.Advice) *page {
	p := &page{Title: "Make the notebook smaller"}
	if len(a.Incomplete) > 0 {
		p.Facts = append(p.Facts, fact{Name: "how sure", Text: words.NotInFull(a.Incomplete)})
	}
	if a.At == nil {
		p.Facts = append(p.Facts, fact{Name: "highest", Text: words.NoMoment()})
	} else {
		f := model.Figure{Peak: a.Peak, Exact: a.Exact}
		p.Facts = append(p.Facts,
			fact{Name: words.Meter(a.Meter), Text: figure(&f, peak, true).Text + " at its highest"},
			fact{Name: "decided by", Text: words.PlaceName(a.At)})
		if len(a.Items) == 0 {
			p.Facts = append(p.Facts, fact{Name: "advice", Text: words.NoAdvice()})
		}
	}
	if len(a.Items) > 0 {
		table := section{Title: "Advice", Columns: columns("", ">gain", "how sure", ">then", "where", "what to do")}
		for i := range a.Items {
			item := &a.Items[i]
			table.Rows = append(table.Rows, []cell{
				plain(fmt.Sprint(item.Number)), plain(words.AdviceGain(item.Saves, item.Fits)), plain(item.Accuracy),
				plain(words.Bytes(item.Peak)), plain(words.PlaceName(&item.At)), plain(item.Title),
			})
		}
		if a.Left > 0 {
			table.More = words.AdviceLeft(a.Left)
		}
		p.Sections = append(p.Sections, table)
	}
	for i := range a.Items {
		p.Sections = append(p.Sections, adviceSection(&a.Items[i]))
	}
	if len(a.Unknown) > 0 {
		not := section{Title: "Not considered", Columns: columns("fact")}
		for _, text := range a.Unknown {
			not.Rows = append(not.Rows, []cell{plain(text)})
		}
		p.Sections = append(p.Sections, not)
	}
	return p
}

// adviceSection has the change of one piece of advice, and the sentences about it.
func adviceSection(item *model.AdviceItem) section {
	s := section{
		Title: fmt.Sprintf("Advice %d", item.Number), Pre: strings.TrimSuffix(item.Diff, "\n"),
		Columns: columns("", "about it"),
	}
	row := func(name, text string) {
		if text != "" {
			s.Rows = append(s.Rows, []cell{plain(name), plain(text)})
		}
	}
	row("what to do", item.Title)
	for _, text := range item.Changes {
		row("changes", text)
	}
	for _, text := range item.Unknown {
		row("not known", text)
	}
	if item.Try != "" {
		s.Rows = append(s.Rows, []cell{plain("try it"), code(item.Try)})
	}
	return s
}
