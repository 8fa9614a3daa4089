package text

import (
	"fmt"

	"ipytracer/internal/words"
)

// leaves says what is left of the resident memory once all code to type is typed; "" where that is not known.
func (o *leftover) leaves() string {
	goes, exact, known := int64(0), true, true
	for _, f := range o.entries() {
		goes, known = goes+o.falls(&f), known && f.Resident != nil
		exact = exact && f.Exact
	}
	for _, p := range o.toEnd() {
		goes += p.Bytes
	}
	left := o.end + o.childBytes() - goes
	switch {
	case goes == 0 || left <= 0 || o.memory != residentMeter:
		return ""
	case !known:
		return " → by how much memory falls is not known"
	case !exact: // what goes is a lower bound
		return " → leaves at most " + words.Bytes(left)
	}
	return " → leaves " + words.Bytes(left)
}

// moreEntries sums up the entries that are not shown; "" for none.
func (o *leftover) moreEntries(shown int) string {
	rest, exact := int64(0), true
	all := o.entries()[shown:]
	for _, f := range all {
		rest += o.falls(&f)
		exact = exact && f.Exact
	}
	if len(all) == 0 {
		return ""
	}
	return fmt.Sprintf("and %s in %d more (--full)", words.BytesOrMore(rest, exact), len(all))
}
