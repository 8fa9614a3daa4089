package gpu

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ipytracer/internal/hostile"
)

// cache makes an ld.so.cache of name and path pairs, all of x86-64.
func cache(pairs ...string) []byte {
	head := make([]byte, cacheHeader)
	copy(head, cacheMagic)
	binary.LittleEndian.PutUint32(head[len(cacheMagic):], uint32(len(pairs)/2))
	strings, entries := []byte{}, []byte{}
	at := func(text string) uint32 {
		offset := uint32(cacheHeader + len(pairs)/2*cacheEntry + len(strings))
		strings = append(append(strings, text...), 0)
		return offset
	}
	for i := 0; i < len(pairs); i += 2 {
		entry := make([]byte, cacheEntry)
		binary.LittleEndian.PutUint32(entry, cacheFlags)
		binary.LittleEndian.PutUint32(entry[4:], at(pairs[i]))
		binary.LittleEndian.PutUint32(entry[8:], at(pairs[i+1]))
		entries = append(entries, entry...)
	}
	return append(append(head, entries...), strings...)
}

func TestCache(t *testing.T) {
	dir := t.TempDir()
	there := filepath.Join(dir, "libcuda.so.1")
	data := cache("liba.so", "/a", CUDALibrary, dir+"/gone", CUDALibrary, there)
	file := filepath.Join(dir, "cache")
	for path, text := range map[string]string{there: "", file: "ld.so-1.7.0 old table....." + string(data)} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got := inCache(file, CUDALibrary); got != there {
		t.Errorf("%q", got)
	}
	if got := inCache(file, "libcuda"); got != "" {
		t.Errorf("%q", got)
	}
	if got := inCache(filepath.Join(dir, "none"), CUDALibrary); got != "" {
		t.Errorf("%q", got)
	}
}

// The cache of this machine is one that ldconfig made: it has the C library.
func TestRealCache(t *testing.T) {
	if _, err := os.Stat("/etc/ld.so.cache"); err != nil {
		t.Skip("this machine has no ld.so.cache (no glibc)")
	}
	if path := FindLibrary("libc.so.6"); !strings.HasSuffix(path, "/libc.so.6") {
		t.Errorf("%q", path)
	}
	if path := FindLibrary("libnosuch.so.1"); path != "" {
		t.Errorf("%q", path)
	}
}

func TestLoadedDriver(t *testing.T) {
	proc := t.TempDir()
	if got := LoadedDriver(proc); got != "" {
		t.Errorf("%q", got)
	}
	if err := os.MkdirAll(filepath.Join(proc, "driver/nvidia"), 0o755); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"NVRM version: NVIDIA UNIX x86_64 Kernel Module  470.82.01  Wed Oct 27 21:21:55 UTC 2021\n" +
			"GCC version:  gcc version 12.2.0\n": "470.82.01",
		"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build  (dvs-builder@U22)\n" +
			"GCC version: 12.2.0\n": "580.159.04",
		"\n": "unknown",
	} {
		if err := os.WriteFile(filepath.Join(proc, "driver/nvidia/version"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := LoadedDriver(proc); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func FuzzCache(f *testing.F) {
	f.Add(cache("liba.so", "/a", CUDALibrary, "/b"), CUDALibrary)
	f.Add([]byte(cacheMagic), "")
	f.Add([]byte(cacheMagic+strings.Repeat("\xff", 1<<20)), CUDALibrary)
	hostile.Fuzz(f, 64<<20, func(t *testing.T, data []byte, name string) { lookup(data, name) })
}
