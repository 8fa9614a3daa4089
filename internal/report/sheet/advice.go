package sheet

import (
	"fmt"
	"strings"

	"ipytracer/internal/report/doc"
	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// advice is the layout of advice.
type advice struct{ layout }

// Advice shows the highest moment and, for each piece of advice, what to change, how much lower the moment would be,
// what would be different, and what is not known.
func Advice(a *model.Advice, options Options) *doc.Document {
	v := advice{newLayout("Make the notebook smaller", options)}
	v.On(doc.Page)
	v.page(a)
	v.On(doc.Terminal)
	v.Prose("", doc.Bold("ipytracer"), doc.Dim(" · advice"))
	v.Blank()
	v.highest(a)
	for i := range a.Items {
		v.item(&a.Items[i])
	}
	if a.Left > 0 {
		v.Blank()
		v.Prose("", doc.Dim(words.AdviceLeft(a.Left)))
	}
	if len(a.Unknown) > 0 {
		v.Heading("Not considered")
		for _, text := range a.Unknown {
			v.Prose("", text)
		}
	}
	return v.Document
}

// highest shows the moment that the advice would lower.
func (v advice) highest(a *model.Advice) {
	v.Field("session", words.Plural(a.Cells, "cell"))
	if a.At == nil {
		v.Field("highest", words.NoMoment())
		return
	}
	if len(a.Incomplete) > 0 {
		v.Field("how sure", escape.Bounded(words.NotInFull(a.Incomplete), maxProse))
	}
	figure := model.Figure{Peak: a.Peak, Exact: a.Exact}
	v.Field("highest", doc.Bold(words.Highest.Text(&figure)), words.Meter(a.Meter), words.PlaceName(a.At))
	if len(a.Items) == 0 {
		v.Blank()
		v.Prose("", words.NoAdvice())
	}
}

// item shows one piece of advice.
func (v advice) item(item *model.AdviceItem) {
	v.Heading(
		fmt.Sprintf("%d  %s: %s", item.Number, words.AdviceGain(item.Saves), words.PlaceName(&item.At)))
	v.Prose("", escape.Bounded(item.Title, maxProse))
	v.Field("saves", doc.Bold(words.Bytes(item.Saves)), words.AdviceAccuracy(item.Accuracy))
	if item.Then == nil {
		v.Field("then", words.Bytes(item.Peak), words.Decides(nil))
	} else {
		v.Field("then", words.Decides(item.Then))
	}
	for l := range strings.Lines(item.Diff) {
		style := doc.Plain
		if !strings.HasPrefix(l, "+") && !strings.HasPrefix(l, "-") {
			style = doc.Dim
		}
		v.Code(style("  " + l))
	}
	for _, text := range item.Changes {
		v.Field("effect", escape.Bounded(text, maxProse))
	}
	for _, text := range item.Unknown {
		v.Field("unknown", escape.Bounded(text, maxProse))
	}
	if item.Try != "" {
		v.Code(doc.Plain("try it      " + item.Try))
	}
}

// page lays the advice out for pages.
func (v advice) page(a *model.Advice) {
	if len(a.Incomplete) > 0 {
		v.Field("how sure", words.NotInFull(a.Incomplete))
	}
	if a.At == nil {
		v.Field("highest", words.NoMoment())
	} else {
		figure := model.Figure{Peak: a.Peak, Exact: a.Exact}
		v.Field(words.Meter(a.Meter), words.Highest.Text(&figure)+" at its highest")
		v.Field("decided by", words.PlaceName(a.At))
		if len(a.Items) == 0 {
			v.Field("advice", words.NoAdvice())
		}
	}
	if len(a.Items) > 0 {
		v.Heading("Advice")
		table := doc.NewTable(doc.Left(""), doc.Right("saves"), doc.Left("accuracy"), doc.Right("then"),
			doc.Left("where"), doc.Left("try"))
		for i := range a.Items {
			item := &a.Items[i]
			table.Row(item.Number, words.Bytes(item.Saves), item.Accuracy, words.Bytes(item.Peak),
				words.PlaceName(&item.At), item.Title)
		}
		if a.Left > 0 {
			table.More = words.AdviceLeft(a.Left)
		}
		v.Table(table)
	}
	for i := range a.Items {
		v.section(&a.Items[i])
	}
	if len(a.Unknown) > 0 {
		v.Heading("Not considered")
		rows := doc.NewTable(doc.Left("fact"))
		for _, text := range a.Unknown {
			rows.Row(text)
		}
		v.Table(rows)
	}
}

// section adds the changed lines of one piece of advice, and the sentences about it.
func (v advice) section(item *model.AdviceItem) {
	v.Heading(fmt.Sprintf("Advice %d", item.Number))
	v.Code(doc.Plain(strings.TrimSuffix(item.Diff, "\n")))
	table := doc.NewTable(doc.Left(""), doc.Left("about it"))
	row := func(name, text string) {
		if text != "" {
			table.Row(name, text)
		}
	}
	row("try", item.Title)
	for _, text := range item.Changes {
		row("effect", text)
	}
	for _, text := range item.Unknown {
		row("unknown", text)
	}
	if item.Try != "" {
		table.Row("try it", code(item.Try))
	}
	v.Table(table)
}
