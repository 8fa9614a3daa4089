package words

import "testing"

func TestCopied(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		count             int
		most, all, parent int64
		want              string
	}{
		{1, 2 * mib, 2 * mib, 0, "A forked process copied 2.00 MiB of memory shared since a fork, by writing to it."},
		{3, 66 * mib, 150 * mib, 2 * mib, "3 forked processes copied up to 66.00 MiB each, 150.00 MiB together, of " +
			"memory shared since a fork, by writing to it; their parent 2.00 MiB. Python writes the " +
			"reference count of each object that it reads: data in a NumPy or Arrow array is read without a copy."},
		{0, 0, 0, 5 * mib, "While forked processes lived, their parent copied 5.00 MiB of memory shared since a " +
			"fork, by writing to it."},
	} {
		if got := copied(c.count, c.most, c.all, c.parent); got != c.want {
			t.Errorf("%q, not %q", got, c.want)
		}
	}
}
