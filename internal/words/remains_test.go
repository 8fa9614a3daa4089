package words_test

import (
	"testing"

	"ipytracer/internal/words"
	"ipytracer/model"
)

// TestResidentPart: what an allocator keeps has what to type where something can be typed, and else what to set.
func TestResidentPart(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		part model.ResidentPart
		trim int64
		want string
	}{
		{model.ResidentPart{Kind: "malloc-free", Bytes: 9 * mib}, 8 * mib, "free, kept by malloc; " +
			"8.00 MiB of it can be given back: import ctypes; ctypes.CDLL(None).malloc_trim(0)"},
		{model.ResidentPart{Kind: "malloc-free", Bytes: 9 * mib}, mib - 1, "free, kept by malloc"},
		{model.ResidentPart{Kind: "jemalloc-free", Bytes: 9 * mib, Returns: 8 * mib, File: "libjemalloc.so.2"}, 0,
			"free, kept by jemalloc; 8.00 MiB of it can be given back: import ctypes; " +
				`ctypes.CDLL("libjemalloc.so.2").mallctl(b"arena.4096.purge", None, None, None, 0)`},
		{model.ResidentPart{Kind: "jemalloc-free", Bytes: 9 * mib, Returns: 8 * mib}, 0, "free, kept by jemalloc; " +
			"8.00 MiB of it go back only as its settings say, such as " +
			"_RJEM_MALLOC_CONF=dirty_decay_ms:0,muzzy_decay_ms:0"},
		{model.ResidentPart{Kind: "jemalloc-free", Bytes: 9 * mib}, 9 * mib, "free, kept by jemalloc"},
		{model.ResidentPart{Kind: "mimalloc-free", Bytes: 9 * mib, Returns: 8 * mib, File: "libmimalloc.so.2"}, 0,
			"free, kept by mimalloc; up to 8.00 MiB of it can be given back: import ctypes; " +
				`ctypes.CDLL("libmimalloc.so.2").mi_collect(True)`},
		{model.ResidentPart{Kind: "mimalloc-free", Bytes: 9 * mib, Returns: 8 * mib}, 0, "free, kept by mimalloc"},
		{model.ResidentPart{Kind: "shared", Bytes: mib, File: "/dev/shm/torch_… (deleted)"}, 0,
			"in /dev/shm/torch_… (deleted)"},
		{model.ResidentPart{Kind: "shared", Bytes: mib}, 0, "shared memory"},
	} {
		if got := words.ResidentPart(&c.part, c.trim); got != c.want {
			t.Errorf("%+v: %q, want %q", c.part, got, c.want)
		}
	}
	for _, c := range []struct {
		r             *model.Resident
		apart, beside string
	}{
		{nil, "", ""}, {&model.Resident{Total: mib}, "", ""},
		{&model.Resident{Swapped: 2 * mib}, ", and 2.00 MiB swapped out", "2.00 MiB are swapped out, and so not " +
			"resident: figures of resident memory lack what was swapped out at their time."},
		{&model.Resident{Swapped: 4096, Huge: 4 * mib}, ", and 4.00 MiB in huge pages of hugetlbfs", "4.00 KiB are " +
			"swapped out, and so not resident: figures of resident memory lack what was swapped out at their time. " +
			"4.00 MiB are in huge pages of hugetlbfs, which Linux does not count as resident memory."},
	} {
		if got := words.Apart(c.r); got != c.apart {
			t.Errorf("%+v: %q, want %q", c.r, got, c.apart)
		}
		if c.r != nil && words.Beside(c.r) != c.beside {
			t.Errorf("%+v: %q, want %q", c.r, words.Beside(c.r), c.beside)
		}
	}
}

// TestSwapped: what went into swap in a window, or came back, and what is there in all.
func TestSwapped(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		swapped *model.Swapped
		want    string
	}{
		{nil, ""},
		{&model.Swapped{End: mib - 1}, ""},
		{&model.Swapped{End: 1229 * mib}, "1.20 GiB swapped out"},
		{&model.Swapped{Start: 100 * mib, End: 1329 * mib}, "1.20 GiB swapped out, 1.30 GiB in all"},
		{&model.Swapped{Start: 100 * mib, End: 100 * mib}, ""},
		{&model.Swapped{Start: 100 * mib}, "100.00 MiB swapped in"},
		{&model.Swapped{Start: 100 * mib, End: 60 * mib}, "40.00 MiB swapped in, 60.00 MiB still out"},
	} {
		if got := words.Swapped(c.swapped); got != c.want {
			t.Errorf("%+v: %q, want %q", c.swapped, got, c.want)
		}
	}
}
