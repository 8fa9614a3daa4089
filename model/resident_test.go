package model_test

import (
	"fmt"
	"strings"
	"testing"

	"ipytracer/model"
)

// TestGiveBack: a file's name that is not safe in code makes no code; neither does one of another kind.
func TestGiveBack(t *testing.T) {
	const code = `import ctypes; ctypes.CDLL("libjemalloc.so.2").mallctl(b"arena.4096.purge", None, None, None, 0)`
	for _, c := range []struct {
		part model.ResidentPart
		want string
	}{
		{model.ResidentPart{Kind: "jemalloc-free", File: "libjemalloc.so.2"}, code},
		{model.ResidentPart{Kind: "jemalloc-free"}, ""},
		{model.ResidentPart{Kind: "jemalloc-free", File: `libjemalloc.so"); import os #`}, ""},
		{model.ResidentPart{Kind: "jemalloc-free", File: "libjemalloc\n.so"}, ""},
		{model.ResidentPart{Kind: "malloc-free", File: "libjemalloc.so.2"}, ""},
	} {
		if got := c.part.GiveBack(); got != c.want {
			t.Errorf("%+v: %q, want %q", c.part, got, c.want)
		}
	}
}

// TestTakeFiles: files are taken from what others left of their kind, and what has no file stays.
func TestTakeFiles(t *testing.T) {
	a := &model.Account{Bytes: 100}
	whole := map[string]int64{"shared": 75, "files": 9, "jemalloc-free": 7}
	left := map[string]int64{"shared": 50, "files": 9, "jemalloc-free": 7}
	a.TakeFiles([]model.ResidentPart{
		{Kind: "shared", Bytes: 40, File: "/dev/shm/x_…"}, {Kind: "shared", Bytes: 30, File: "/dev/shm/y_…"},
		{Kind: "shared", Bytes: 5}, {Kind: "jemalloc-free", Bytes: 7, File: "libjemalloc.so.2"},
	}, whole, left)
	var got []string
	for _, p := range a.Parts {
		got = append(got, fmt.Sprint(p.Who, " ", p.File, " ", p.Bytes, " ", p.AtLeast))
	}
	if a.Left() != 80 || left["shared"] != 30 || left["files"] != 9 || left["jemalloc-free"] != 7 ||
		strings.Join(got, ", ") != "shared /dev/shm/x_… 15 true, shared /dev/shm/y_… 5 true" {
		t.Errorf("%+v, %v", a, left)
	}
}
