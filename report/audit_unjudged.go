package report

import (
	"fmt"
	"strings"
)

// Reasons why something could not be judged.
const (
	SteppedDown    = "stepped-down"    // probes were out for a while to keep the overhead budget
	NoBlocks       = "no-blocks"       // no probe tells of the meter's blocks here
	ChangesLost    = "changes-lost"    // the ring was full
	RecordsLost    = "records-lost"    // something else was lost, refused or guessed
	TooMany        = "too-many"        // there were more blocks than an audit keeps
	ProcessEnded   = "process-ended"   // its objects could not be read any more
	ObjectsUnread  = "objects-unread"  // nobody looked at its objects, or not at all of them
	MadeBefore     = "made-before"     // it was there when the audit began
	NotExplained   = "not-explained"   // resident memory that no meter has
	TracingProblem = "tracing-problem" // something went wrong on the way
)

// NotJudged is what an audit could not look at: no leak is known there, and none can be excluded.
type NotJudged struct {
	Reason string `json:"reason"`
	Meter  string `json:"meter"` // "" for all
	PID    int    `json:"pid"`   // 0 for all
	// Bytes is the most that it can be, nil where nobody can say.
	Bytes  *int64 `json:"bytes"`
	Why    string `json:"why"`
	Advice string `json:"advice"`
}

// whatIs names what was not judged in a few words: "12.00 MiB of resident".
func whatIs(n *NotJudged) string {
	text := "memory"
	if n.Meter != "" {
		text = meterName(n.Meter)
	}
	if n.Bytes != nil {
		text = FormatBytes(*n.Bytes) + " of " + text
	}
	return text
}

// CanExceed says whether what was not judged could bring a meter above so many bytes, given what the verdicts say of it.
func (a *Audit) CanExceed(limit int64) bool {
	sums := a.ByMeter()
	least := int64(0)
	for _, sum := range sums {
		least = max(least, sum)
	}
	for _, n := range a.NotJudged {
		sum := least
		if n.Meter != "" {
			sum = sums[n.Meter]
		}
		if n.Bytes == nil || sum+*n.Bytes > limit {
			return true
		}
	}
	return false
}

// allClear is what an audit without a verdict says: all is well only if it has looked everywhere.
func allClear(a *Audit) string {
	const few = 3
	if len(a.NotJudged) == 0 {
		return "Nothing of " + FormatBytes(a.Least) + " or more stayed behind that should not have."
	}
	var parts []string
	for i := range a.NotJudged[:min(len(a.NotJudged), few)] {
		n := &a.NotJudged[i]
		parts = append(parts, whatIs(n)+" ("+strings.ReplaceAll(n.Reason, "-", " ")+")")
	}
	if rest := len(a.NotJudged) - few; rest > 0 {
		parts = append(parts, fmt.Sprintf("%d more", rest))
	}
	return "Nothing of " + FormatBytes(a.Least) + " or more was seen to stay behind; not judged: " + strings.Join(parts, ", ") + "."
}

// notJudged lists what the audit does not know, and what to type so that the next one does.
func (v *view) notJudged(a *Audit) {
	if len(a.NotJudged) == 0 {
		return
	}
	v.title("Not judged")
	for i := range a.NotJudged {
		n := &a.NotJudged[i]
		of := ""
		if n.PID != 0 && len(a.Processes) > 1 {
			of = fmt.Sprintf(" of pid %d", n.PID)
		}
		v.prose("  ", span{"- " + whatIs(n) + of + ": ", yellow}, span{bounded(n.Why, maxProse), plain}, span{"; try: " + bounded(n.Advice, maxProse), dim})
	}
}
