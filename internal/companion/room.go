package companion

import "maps"

// hasRoom reports whether there is room for one more line of an account. Where all lines are taken, the account with
// most gives up its latest one. The caller holds mu.
func (h *Hub) hasRoom(account string) bool {
	if len(h.lines) < maxLines {
		return true
	}
	maps.DeleteFunc(h.lines, func(_ key, l *line) bool { return l.isClosed() })
	if len(h.lines) < maxLines {
		return true
	}
	has := map[string]int{}
	for _, l := range h.lines {
		has[l.account]++
	}
	most, ok := GivesWay(has, account)
	if !ok {
		return false
	}
	var latest key
	number := 0
	for of, l := range h.lines {
		if l.account == most && l.number > number {
			latest, number = of, l.number
		}
	}
	h.lines[latest].close()
	delete(h.lines, latest)
	return true
}

// GivesWay returns the account that has most. ok reports whether it gives one up to another account: only if it has at
// least as many as the other one afterwards.
func GivesWay(has map[string]int, account string) (most string, ok bool) {
	most = account
	for one, n := range has {
		if n > has[most] {
			most = one
		}
	}
	return most, has[most] > has[account]+1
}
