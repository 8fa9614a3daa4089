package html

import (
	"ipytracer/internal/words"
	"ipytracer/model"
)

// adviceOf returns advice as the page shows it.
func adviceOf(a *model.Advice) *advice {
	out := &advice{Items: []piece{}, Not: shownAll(a.Unknown)}
	if a.At == nil {
		out.Highest = words.NoMoment()
		return out
	}
	out.Highest = shown(words.HighestMoment(words.Meter(a.Meter), a.Peak, a.At))
	if len(a.Items) == 0 {
		out.None = words.NoAdvice()
	}
	for i := range a.Items {
		item := &a.Items[i]
		out.Items = append(out.Items, piece{
			Title: shown(item.Title), Saves: item.Saves, How: words.AdviceAccuracy(item.Accuracy),
			Peak: item.Peak, Then: shown(words.Decides(item.Then)), Place: shown(words.PlaceName(&item.At)),
			Diff: typed(item.Diff), Changes: shownAll(item.Changes), Unknown: shownAll(item.Unknown),
			Try: typed(item.Try), PID: item.At.PID, Execution: item.At.Execution, Line: item.At.Line,
		})
	}
	if a.Left > 0 {
		out.Left = words.AdviceLeft(a.Left)
	}
	return out
}
