package companion

import "maps"

// hasRoom reports whether an account may have one more line. If all lines are taken, it closes the latest line of the
// account with the most lines: see [GivesWay]. The caller holds mu.
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
	richest, ok := GivesWay(has, account)
	if !ok {
		return false
	}
	var latest key
	number := 0
	for k, l := range h.lines {
		if l.account == richest && l.number > number {
			latest, number = k, l.number
		}
	}
	h.lines[latest].close()
	delete(h.lines, latest)
	return true
}

// GivesWay returns the account that has the most. ok reports whether it must give one up to the account that asks: it
// does if it then still has at least as many as that one.
func GivesWay(has map[string]int, account string) (richest string, ok bool) {
	richest = account
	for other, n := range has {
		if n > has[richest] {
			richest = other
		}
	}
	return richest, has[richest] > has[account]+1
}
