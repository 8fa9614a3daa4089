package model

// Reasons why an audit could not judge a part of the memory.
const (
	SteppedDown    = "stepped-down"    // probes were out for a while to keep the overhead budget
	NoBlocks       = "no-blocks"       // no probe reports the meter's blocks here
	ChangesLost    = "changes-lost"    // the ring was full
	RecordsLost    = "records-lost"    // other records were lost, refused or guessed
	TooMany        = "too-many"        // there were more blocks than an audit keeps
	ProcessEnded   = "process-ended"   // its objects could not be read any more
	ObjectsUnread  = "objects-unread"  // none, or not all, of its objects were looked at
	MadeBefore     = "made-before"     // it was there when the audit began
	NotExplained   = "not-explained"   // resident memory that no meter has
	CellRuns       = "cell-runs"       // a running cell allocated it, or holds it
	TracingProblem = "tracing-problem" // an error while tracing
)

// NotJudged is memory that an audit could not judge: no leak is known there, and none can be excluded.
type NotJudged struct {
	Reason string `json:"reason"`
	Meter  string `json:"meter"` // "" for all
	PID    int    `json:"pid"`   // 0 for all
	// Bytes is an upper bound, nil if there is none.
	Bytes  *int64 `json:"bytes"`
	Why    string `json:"why"`
	Advice string `json:"advice"`
}

// CanExceed reports whether the unjudged memory could bring a meter above a number of bytes, given the sums of its
// verdicts.
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
