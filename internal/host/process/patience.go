package process

import "time"

const (
	// helperPatience is how long one answer may take: a server far away, or a disk that has to wake up, takes a second
	// or two.
	helperPatience = 5 * time.Second
	leastPatience  = 50 * time.Millisecond // for a file system that answers

	// sharedPatience is how long one answer about files may take in a program that has others to attend to meanwhile,
	// mostVain how long such a program waits in vain before it has only leastPatience. It regains a vainShare of the
	// time.
	sharedPatience = time.Second
	mostVain       = 2 * time.Second
	vainShare      = 30
)

// vainly is how long file systems were waited for that did not answer.
type vainly struct {
	waited time.Duration // less what was regained
	at     time.Time     // up to then
}

// left returns how long they may still be waited for.
func (v *vainly) left() time.Duration {
	now := time.Now()
	v.waited, v.at = max(0, v.waited-now.Sub(v.at)/vainShare), now
	return mostVain - v.waited
}

// add notes that one was waited for in vain. A nil vainly has nothing to note.
func (v *vainly) add(waited time.Duration) {
	if v != nil {
		v.waited += waited
	}
}

// Share has file systems that do not answer hold this program up for two seconds, and for a thirtieth of the time after
// that: nobody's are to keep it from the processes of others.
func (h *Helper) Share() {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.shared = &vainly{at: time.Now()}
}

// Hurry has all answers about files together take no longer than a while from now on, and then each no longer than
// leastPatience, those included that are being waited for. The first call counts. What the kernel itself says about a
// process is waited for as ever.
func (h *Helper) Hurry(while time.Duration) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.hurry.IsZero() {
		h.hurry = time.Now().Add(while)
		close(h.hurried)
	}
}

// patience returns how long an answer about files is waited for that may take so long at most.
func (h *Helper) patience(most time.Duration) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.shared != nil {
		most = min(most, sharedPatience, max(leastPatience, h.shared.left()))
	}
	if !h.hurry.IsZero() {
		most = min(most, max(leastPatience, time.Until(h.hurry)))
	}
	return most
}
