package words

import (
	"ipytracer/model"
	"strconv"
	"strings"
)

// Bytes writes a size for people: bytes up to 1023 B, then KiB, MiB, GiB and TiB (powers of 1024) with two
// decimals. It rounds half away from zero, and a size that rounds to 1024.00 of a unit is 1.00 of the next.
func Bytes(n int64) string {
	size, sign := uint64(n), ""
	if n < 0 {
		size, sign = -size, "-"
	}
	if size < 1024 {
		return sign + strconv.FormatUint(size, 10) + " B"
	}
	unit := uint64(1)
	for _, name := range [...]string{"KiB", "MiB", "GiB", "TiB"} {
		unit <<= 10
		hundredths := size/unit*100 + (size%unit*100+unit/2)/unit
		if hundredths < 1024*100 || name == "TiB" {
			return sign + decimal(hundredths) + " " + name
		}
	}
	panic("unreachable: the last unit takes every size")
}

// decimal writes hundredths as a number with two decimals.
func decimal(hundredths uint64) string {
	text := strconv.FormatUint(hundredths%100, 10)
	if len(text) < 2 {
		text = "0" + text
	}
	return strconv.FormatUint(hundredths/100, 10) + "." + text
}

// Duration writes a length of time, in nanoseconds, for people: "850 ns", "12 µs", "1.8 ms", "180 ms",
// "2.41 s", "3 min 05 s", "2 h 07 min", "3 d 04 h". It rounds half up.
func Duration(ns int64) string {
	if ns < 0 {
		if ns == -ns { // the least int64, whose negation overflows
			ns++
		}
		return "-" + Duration(-ns)
	}
	const micro, milli, second = int64(1e3), int64(1e6), int64(1e9)
	switch {
	case ns < micro:
		return strconv.FormatInt(ns, 10) + " ns"
	case round(ns, micro) < 1000:
		return strconv.FormatInt(round(ns, micro), 10) + " µs"
	case round(ns, milli/10) < 100:
		tenths := round(ns, milli/10)
		return strconv.FormatInt(tenths/10, 10) + "." + strconv.FormatInt(tenths%10, 10) + " ms"
	case round(ns, milli) < 1000:
		return strconv.FormatInt(round(ns, milli), 10) + " ms"
	case round(ns, second/100) < 6000:
		return decimal(uint64(round(ns, second/100))) + " s"
	}
	seconds := round(ns, second)
	minutes := round(seconds, 60)
	switch {
	case seconds < 3600:
		return pair(seconds, 60, "min", "s")
	case minutes < 24*60:
		return pair(minutes, 60, "h", "min")
	default:
		return pair(round(minutes, 60), 24, "d", "h")
	}
}

// pair writes n of the smaller unit in two units: "3 min 05 s". per of the smaller unit make one of the larger.
func pair(n, per int64, large, small string) string {
	rest := strconv.FormatInt(n%per, 10)
	if len(rest) < 2 {
		rest = "0" + rest
	}
	return strconv.FormatInt(n/per, 10) + " " + large + " " + rest + " " + small
}

// round divides and rounds half up; n is not negative.
func round(n, by int64) int64 {
	quotient, rest := n/by, n%by
	if rest >= by-rest {
		quotient++
	}
	return quotient
}

// Count writes a count with thousands separated: 12,345.
func Count(n uint64) string {
	digits := strconv.FormatUint(n, 10)
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return b.String()
}

// Plural writes a count and its noun: "1 cell", "12 cells", "3 processes", "2 stretches". Of a noun such as "line of
// code", the part in front of " of " takes the plural. A negative count is written as 0.
func Plural(n int, noun string) string {
	if n != 1 {
		head, rest, hasOf := strings.Cut(noun, " of ")
		switch {
		case strings.HasSuffix(head, "s"), strings.HasSuffix(head, "ch"), strings.HasSuffix(head, "x"):
			head += "es"
		case strings.HasSuffix(head, "y") && !strings.HasSuffix(head, "ay") && !strings.HasSuffix(head, "ey"):
			head = strings.TrimSuffix(head, "y") + "ies"
		default:
			head += "s"
		}
		noun = head
		if hasOf {
			noun += " of " + rest
		}
	}
	return Count(uint64(max(n, 0))) + " " + noun
}

// Clock shortens an RFC 3339 time in UTC to the second, and leaves any other text.
func Clock(started string) string {
	const seconds = len("2006-01-02T15:04:05")
	if len(started) > seconds && started[10] == 'T' && strings.HasSuffix(started, "Z") {
		return started[:10] + " " + started[11:seconds] + " UTC"
	}
	return started
}

// Rounding returns the bytes that the allocator added to a group of tensors: "?" if they are not known for any tensor,
// and a lower bound if they are known for some.
func Rounding(group model.Tensors) string {
	switch group.Unknown {
	case 0:
		return Bytes(group.Rounding)
	case group.Count:
		return "?"
	}
	return "≥" + Bytes(group.Rounding)
}
