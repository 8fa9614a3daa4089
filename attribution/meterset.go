package attribution

import "ipytracer/event"

// meterSet is a set of meters.
type meterSet [(event.MeterCount + 63) / 64]uint64

func (s *meterSet) add(m event.Meter) { s[m/64] |= 1 << (m % 64) }

func (s *meterSet) with(other meterSet) {
	for i := range s {
		s[i] |= other[i]
	}
}

func (s *meterSet) has(m event.Meter) bool { return s[m/64]>>(m%64)&1 != 0 }
