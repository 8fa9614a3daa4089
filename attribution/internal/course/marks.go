package course

import (
	"slices"
	"sort"

	"ipytracer/event"
)

// mark is a value of a meter. In Steps the meter has the value from the cut on. In Peaks the value is the highest of
// the segment that ended at the cut.
type mark struct {
	cut   uint64
	bytes event.Bytes
}

// Steps are the values of a meter, in the order of their cuts.
type Steps []mark

// At returns the value that holds after a cut.
func (s Steps) At(cut uint64) event.Bytes {
	i := sort.Search(len(s), func(i int) bool { return s[i].cut > cut })
	if i == 0 {
		return 0
	}
	return s[i-1].bytes
}

// last returns the current value.
func (s Steps) last() event.Bytes {
	if len(s) == 0 {
		return 0
	}
	return s[len(s)-1].bytes
}

// Set gives the meter a value from a cut on. latest is the cut at which the youngest open window opened. No window asks
// for values between latest and cut, so Set may overwrite the last value.
func (s *Steps) Set(cut, latest uint64, bytes event.Bytes) {
	n := len(*s)
	switch {
	case bytes == s.last():
	case n > 0 && (latest < (*s)[n-1].cut || (*s)[n-1].cut == cut):
		(*s)[n-1].bytes = bytes
	default:
		*s = append(*s, mark{cut, bytes})
	}
}

// thin drops the values that no window asks for. open are the cuts at which open windows opened, ascending.
func (s *Steps) thin(open []uint64) {
	kept := (*s)[:0]
	for i, m := range *s {
		last := i == len(*s)-1
		if at, _ := slices.BinarySearch(open, m.cut); last || at < len(open) && open[at] < (*s)[i+1].cut {
			kept = append(kept, m)
		}
	}
	*s = kept
}

// Peaks are the maxima of a meter that are the highest since some cut, in the order of their cuts: each is lower than
// the one before it.
type Peaks []mark

// Since returns the highest maximum after a cut.
func (p Peaks) Since(cut uint64) (bytes event.Bytes, ok bool) {
	i := sort.Search(len(p), func(i int) bool { return p[i].cut > cut })
	if i == len(p) {
		return 0, false
	}
	return p[i].bytes, true
}

// Push adds the maximum of the segment that ended at a cut. The segment may be an earlier one. Maxima that are no
// longer the highest since any cut are removed.
func (p *Peaks) Push(cut uint64, bytes event.Bytes) {
	all := *p
	end := len(all)
	if end > 0 && all[end-1].cut > cut {
		end = sort.Search(len(all), func(i int) bool { return all[i].cut > cut })
		if all[end].bytes >= bytes {
			return
		}
	}
	begin := end
	for begin > 0 && all[begin-1].bytes <= bytes {
		begin--
	}
	if begin > 0 && all[begin-1].cut == cut {
		return
	}
	if end == len(all) { // usually it is the newest
		*p = append(all[:begin], mark{cut, bytes})
		return
	}
	*p = slices.Replace(all, begin, end, mark{cut, bytes})
}

// Thin keeps the maxima that are the highest since the cut at which some open window opened. open has these cuts,
// ascending.
func (p *Peaks) Thin(open []uint64) {
	kept, before := (*p)[:0], uint64(0)
	for _, m := range *p {
		if at, _ := slices.BinarySearch(open, before); at < len(open) && open[at] < m.cut {
			kept = append(kept, m)
		}
		before = m.cut
	}
	*p = kept
}
