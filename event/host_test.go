package event

import "testing"

func TestPageSizeInARecording(t *testing.T) {
	for said, want := range map[Bytes]Bytes{
		0: 4096, 4096: 4096, 16384: 16384, 65536: 65536, 65535: 4096, -65536: 4096, 1: 4096, 1 << 40: 4096,
	} {
		if got := (&Host{PageSize: said}).Page(); got != want {
			t.Errorf("a recording says %d: %d, want %d", said, got, want)
		}
	}
}
