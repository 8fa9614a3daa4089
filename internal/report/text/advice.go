package text

import (
	"fmt"
	"io"
	"strings"

	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// adviceView has the sections of advice.
type adviceView struct {
	*printer
	full bool
}

// Advice writes advice for people: the highest moment, and for each piece what to change, by how much lower the moment
// would be, what may be different then, and what is not known. It fails with w's error only.
func Advice(w io.Writer, a *model.Advice, o Options) error {
	v := adviceView{o.printer(), o.Full}
	v.to = w
	v.prose("", span{"ipytracer", bold}, span{" · advice", dim})
	v.blank()
	v.highest(a)
	for i := range a.Items {
		v.item(&a.Items[i])
	}
	if a.Left > 0 {
		v.blank()
		v.prose("", span{words.AdviceLeft(a.Left), dim})
	}
	if len(a.Unknown) > 0 {
		v.title("Not considered")
		for _, text := range a.Unknown {
			v.prose("", span{text, plain})
		}
	}
	return v.flush(w)
}

// highest shows the moment that the advice would lower.
func (v adviceView) highest(a *model.Advice) {
	v.field("session", span{words.Plural(a.Cells, "cell"), plain})
	if a.At == nil {
		v.field("highest", span{words.NoMoment(), plain})
		return
	}
	if len(a.Incomplete) > 0 {
		v.field("how sure", span{escape.Bounded(words.NotInFull(a.Incomplete), maxProse), plain})
	}
	f := model.Figure{Peak: a.Peak, Exact: a.Exact}
	v.field("highest", span{side(&f, highest), bold}, span{meterName(a.Meter), plain},
		span{words.PlaceName(a.At), plain})
	if len(a.Items) == 0 {
		v.blank()
		v.prose("", span{words.NoAdvice(), plain})
	}
}

// item shows one piece of advice.
func (v adviceView) item(item *model.AdviceItem) {
	v.title(fmt.Sprintf("%d  %s: %s", item.Number, words.AdviceGain(item.Saves, item.Fits),
		words.PlaceName(&item.At)))
	v.prose("", span{escape.Bounded(item.Title, maxProse), plain})
	if item.Fits > 0 {
		v.field("fits", span{words.Bytes(item.Fits), bold}, span{words.AdviceAccuracy(item.Accuracy), plain})
	}
	if item.Fits == 0 || item.Saves > 0 {
		v.field("saves", span{words.Bytes(item.Saves), bold}, span{words.AdviceAccuracy(item.Accuracy), plain})
	}
	if item.Then == nil {
		v.field("then", span{words.Bytes(item.Peak), plain}, span{words.Decides(nil), plain})
	} else {
		v.field("then", span{words.Decides(item.Then), plain})
	}
	for l := range strings.Lines(item.Diff) {
		style := plain
		if !strings.HasPrefix(l, "+") && !strings.HasPrefix(l, "-") {
			style = dim
		}
		v.paint("  "+escape.Text(strings.TrimSuffix(l, "\n")), style) // never wrapped, because users paste it
		v.blank()
	}
	for _, text := range item.Changes {
		v.field("changes", span{escape.Bounded(text, maxProse), plain})
	}
	for _, text := range item.Unknown {
		v.field("unknown", span{escape.Bounded(text, maxProse), plain})
	}
	if item.Try != "" {
		v.paint("try it      "+escape.Text(item.Try), plain) // never wrapped, as the code
		v.blank()
	}
}
