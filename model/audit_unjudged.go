package model

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
	CellRuns       = "cell-runs"       // a cell runs that made it, or holds it
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
