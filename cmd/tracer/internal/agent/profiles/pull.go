package profiles

import (
	"net/http"
	"strconv"
)

// Path is the path of a kernel's profile, by its number.
const Path = "/debug/pprof/kernel/{slot}"

// keep keeps the profile of an interval until the next one: the same profile is answered as often as it is asked for.
func (p *Profiler) keep(r *record, interval []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.over || len(interval) == 0 {
		delete(p.pulled, r.kernel.Slot)
		return
	}
	p.pulled[r.kernel.Slot] = interval
}

// ServeHTTP answers with the profile of a kernel's last interval.
func (p *Profiler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	slot, err := strconv.ParseUint(r.PathValue("slot"), 10, 8)
	p.mu.Lock()
	one := p.pulled[uint32(slot)]
	p.mu.Unlock()
	if err != nil || one == nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", `attachment; filename="kernel-`+strconv.FormatUint(slot, 10)+`.pb.gz"`)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if _, err := w.Write(one); err == nil {
		p.Counts.Sent(1)
	}
}
