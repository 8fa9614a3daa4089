package html

import (
	"ipytracer/internal/words"
	"ipytracer/model"
)

// advice is the content of the section Advice.
type advice struct {
	Highest string   `json:"highest"` // the moment that it would lower, in words
	None    string   `json:"none,omitempty"`
	Items   []piece  `json:"items"`
	Left    string   `json:"left,omitempty"`
	Not     []string `json:"not"`
}

// piece is one piece of advice.
type piece struct {
	Title   string   `json:"title"`
	Saves   int64    `json:"saves"`
	How     string   `json:"how"` // how well that is known
	Peak    int64    `json:"peak"`
	Then    string   `json:"then"`
	Place   string   `json:"place"`
	Diff    string   `json:"diff"`
	Changes []string `json:"changes"`
	Unknown []string `json:"unknown"`
	Try     string   `json:"try"`
	// PID, Execution and Line name the line that it is about.
	PID       int `json:"pid"`
	Execution int `json:"execution"`
	Line      int `json:"line"`
}

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
