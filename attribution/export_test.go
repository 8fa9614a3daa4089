package attribution

// LimitChildren sets how many children the windows of a session list together, for a Tracker that has seen nothing.
func LimitChildren(t *Tracker, most int) { t.Limits.MostChildren = most }
