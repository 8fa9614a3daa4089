package resident

import (
	"maps"
	"strings"
	"testing"
)

const mapsSmaps = `7f1000000000-7f1000010000 r--s 00000000 08:01 12 /data/a.npy
Rss: 40 kB
Anonymous: 0 kB
7f2000000000-7f2000010000 rw-p 00000000 08:01 13 /data/b.npy
Rss: 64 kB
Anonymous: 16 kB
7f3000000000-7f3000010000 rw-s 00000000 00:01 14 /dev/zero (deleted)
Rss: 64 kB
Anonymous: 0 kB
`

// halves is a pagemap in which the pages of the first half of each 64 KiB are in memory, the first of them in no file.
type halves struct{}

func (halves) ReadAt(p []byte, at int64) (int, error) {
	clear(p)
	for i := 0; i < len(p); i += 8 {
		switch page := (at + int64(i)) / 8 % 16; {
		case page == 0:
			p[i+7] = 1 << 7
		case page < 8:
			p[i+7] = 1<<7 | 1<<5
		}
	}
	return len(p), nil
}

// TestMaps: a map that is all of a mapping has what smaps says of it, and a part what its pages say. Pages of files
// that were mapped for all to see are files; memory without one is shared.
func TestMaps(t *testing.T) {
	const a, b, c = 1, 2, 4
	got, err := Explain(Source{Smaps: strings.NewReader(mapsSmaps), Memory: halves{}, Pages: halves{}, PageSize: 4096,
		Freed: &Freed{
			Small: func(uint64) (uint64, int) { return 0, 0 },
			Maps: []Block{{0x7f1000000000, 64 << 10, a}, {0x7f2000000000, 48 << 10, b}, {0x7f200000c000, 16 << 10, a},
				{0x7f3000000000, 64 << 10, c}},
		}}, Limits{})
	if err != nil || !got.Complete {
		t.Fatalf("%v: %+v", err, got)
	}
	want := map[uint64]map[Kind]uint64{a: {Files: 40 << 10}, b: {Files: 28 << 10, Libraries: 4 << 10},
		c: {Shared: 64 << 10}}
	if !maps.EqualFunc(got.Falls.Maps, want, maps.Equal) {
		t.Errorf("%v, want %v", got.Falls.Maps, want)
	}
	if at := got.Falls.AtOnce; at[a] != 40<<10 || at[b] != 32<<10 || at[c] != 64<<10 {
		t.Errorf("at once: %v", at)
	}
	if got.of(Files) != 88<<10 || got.of(Libraries) != 16<<10 || got.of(Shared) != 64<<10 {
		t.Errorf("%+v", got.Parts)
	}
}
