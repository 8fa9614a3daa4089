package gpu

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"ipytracer/internal/code/elffile"
)

// The driver's libraries by the names that programs load.
const (
	Library     = "libnvidia-ml.so.1" // NVML
	CUDALibrary = "libcuda.so.1"      // the CUDA driver API
)

// usualPlaces are directories in which the driver's libraries are on systems whose dynamic linker may not list them.
var usualPlaces = []string{
	"/usr/lib/" + elffile.Triplet, "/usr/lib64", "/usr/lib", "/lib/" + elffile.Triplet, "/lib64",
	"/usr/lib/" + elffile.Triplet + "/nvidia/current", // Debian
	"/usr/lib/wsl/lib",        // Windows Subsystem for Linux
	"/run/opengl-driver/lib",  // NixOS
	"/usr/local/nvidia/lib64", // Kubernetes device plugins
}

// FindLibrary returns the path of a library on this machine, from the dynamic linker's cache or from one of the usual
// places; "" if it is in neither. It loads nothing.
func FindLibrary(name string) string {
	if path := inCache("/etc/ld.so.cache", name); path != "" {
		return path
	}
	if paths := inUsualPlaces(name); len(paths) > 0 {
		return paths[0]
	}
	return ""
}

func inUsualPlaces(name string) (found []string) {
	for _, dir := range usualPlaces {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			found = append(found, path)
		}
	}
	return found
}

// LoadedDriver returns the version of NVIDIA's loaded kernel driver, such as "580.159.04", from a proc file system; ""
// if none is loaded. It needs neither NVML nor rights.
func LoadedDriver(proc string) string {
	f, err := os.Open(filepath.Join(proc, "driver/nvidia/version"))
	if err != nil {
		return ""
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, 4<<10))
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(data), "\n")
	if version := driverVersion.FindString(line); version != "" {
		return version
	}
	return "unknown"
}

// driverVersion matches the version in "NVRM version: NVIDIA UNIX Open Kernel Module for …  580.159.04  Release …".
var driverVersion = regexp.MustCompile(`\b\d{3,}\.\d+(\.\d+)?\b`)

// maxCache bounds the size of the dynamic linker's cache, in bytes; usual caches have some hundred KiB.
const maxCache = 16 << 20

// inCache returns the path of a library from a cache of ldconfig, if the file exists; else "".
func inCache(cache, name string) string {
	f, err := os.Open(cache)
	if err != nil {
		return ""
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxCache))
	if err != nil {
		return ""
	}
	for _, path := range lookup(data, name) {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
	}
	return ""
}

// The layout is struct cache_file_new and file_entry_new (sysdeps/generic/dl-cache.h in glibc). Older caches begin
// with another table, and the new one follows.
const (
	cacheMagic  = "glibc-ld.so.cache1.1"
	cacheHeader = 48
	cacheEntry  = 24
)

// lookup returns the paths that a cache has for a name, in the cache's order.
func lookup(cache []byte, name string) (paths []string) {
	at := bytes.Index(cache, []byte(cacheMagic))
	if at < 0 || len(cache)-at < cacheHeader {
		return nil
	}
	table := cache[at:]
	count := int(binary.LittleEndian.Uint32(table[len(cacheMagic):]))
	for i := range min(count, (len(table)-cacheHeader)/cacheEntry) {
		entry := table[cacheHeader+i*cacheEntry:]
		if binary.LittleEndian.Uint32(entry) != cacheFlags {
			continue
		}
		if text(table, binary.LittleEndian.Uint32(entry[4:])) == name {
			paths = append(paths, text(table, binary.LittleEndian.Uint32(entry[8:])))
		}
	}
	return paths
}

// text returns the string at an offset; "" if there is none.
func text(table []byte, offset uint32) string {
	if uint64(offset) >= uint64(len(table)) {
		return ""
	}
	rest := table[offset:]
	end := bytes.IndexByte(rest, 0)
	if end < 0 {
		return ""
	}
	return string(rest[:end])
}
