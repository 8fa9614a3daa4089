package agent

import "ipytracer/internal/companion"

// hasRoom reports whether there is room for one more process of an account. Where all is taken, one of the account with
// most processes gives way.
func hasRoom[P interface{ of() string }](all map[int]P, account string) bool {
	if len(all) < maxProcesses {
		return true
	}
	has := map[string]int{}
	for _, p := range all {
		has[p.of()]++
	}
	most, ok := companion.GivesWay(has, account)
	if !ok {
		return false
	}
	for pid, p := range all {
		if p.of() == most {
			delete(all, pid)
			return true
		}
	}
	return false
}

// bound drops experiments while there are too many: of the account with most, of its process with most.
func (k *taskKeeper) bound() {
	n, has := 0, map[string]int{}
	for _, p := range k.processes {
		n += len(p.kept)
		has[p.account] += len(p.kept)
	}
	for n > maxOfAll {
		account, _ := companion.GivesWay(has, "")
		var most *workerProcess
		for _, p := range k.processes {
			if p.account == account && (most == nil || len(p.kept) > len(most.kept)) {
				most = p
			}
		}
		half := (len(most.kept) + 1) / 2
		most.drop(half)
		n, has[account] = n-half, has[account]-half
	}
}
