package doctor

import (
	"errors"
	"testing"
)

const smapsText = `00400000-00500000 r-xp 00000000 fe:00 12                                 /usr/bin/thing
Size:               1024 kB
Rss:                 600 kB
Anonymous:             0 kB
VmFlags: rd ex mr mw me
00600000-00700000 rw-p 00000000 fe:00 12                                 /usr/bin/thing: with a colon
Size:               1024 kB
Rss:                 100 kB
Anonymous:            40 kB
VmFlags: rd wr mr mw me ac
7f0000000000-7f0000200000 rw-s 00000000 00:01 99                         /memfd:x (deleted)
Size:               2048 kB
Rss:                2048 kB
Anonymous:             0 kB
VmFlags: rd wr sh mr mw me ms
7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0                          [stack]
Size:                132 kB
Rss:                  12 kB
Anonymous:            12 kB
VmFlags: rd wr mr mw me gd ac
`

func TestParseSmaps(t *testing.T) {
	got, err := parseSmaps([]byte(smapsText))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int64{
		Mapped: 1024 << 10, Resident: (600 + 100 + 2048 + 12) << 10, Anon: 52 << 10,
		File: 660 << 10, Shmem: 2048 << 10,
	}
	for meter, n := range want {
		if got[meter] != n {
			t.Errorf("%s = %d, want %d", meter, got[meter], n)
		}
	}
	if _, err := parseSmaps([]byte("nothing")); !errors.Is(err, ErrNoTruth) {
		t.Errorf("parseSmaps of nonsense: %v", err)
	}
}

func TestParseTruthsRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"nothing": "", "words": "what is this", "too long": "1 2 3\n", "negative": "1 -5 2\nxxxx",
	} {
		if _, err := ParseTruths([]byte(text)); !errors.Is(err, ErrNoTruth) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
