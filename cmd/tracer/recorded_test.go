package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"ipytracer/cmd/tracer/internal/console"
)

// takesRecordings are the commands that take a recording. A row has the arguments before the file, the arguments
// behind it, and the formats.
var takesRecordings = []struct {
	command string
	behind  []string // "OTHER" is another recording, that is whole
	formats []string
}{
	// the recording has no GPU
	{"report", nil, slices.DeleteFunc(console.FormatNames(), func(f string) bool { return f == "memory-viz" })},
	{"advise", nil, []string{"text", "json", "markdown", "html"}},
	{"audit", nil, []string{"text", "json", "markdown", "html"}},
	{"diff", []string{"OTHER"}, []string{"text", "json", "markdown", "html"}},
	{"merge", []string{"OTHER"}, []string{"text", "json", "perfetto"}},
	{"plan", []string{"OTHER"}, []string{"text", "json", "markdown", "html"}},
	{"view", nil, nil},   // TestViewOfPartial
	{"recall", nil, nil}, // TestRecallOfPartial; 'audit --check FILE' asks it
}

// otherCommands are all other commands.
var otherCommands = strings.Fields(`agent agent/check attach bare-probes deaths doctor explain file-helper gpu
	gpu-move-worker gpu/restore gpu/yield keep-report kernels limit limit-guard look notebook notebook/install
	notebook/uninstall nvml-helper run selftest serve serve-porter top try version workload`)

// TestEveryCommandIsAsked: each command is in one of the lists, and only one file of the program opens recordings. So a
// new command cannot read recordings in another way.
func TestEveryCommandIsAsked(t *testing.T) {
	known := slices.Clone(otherCommands)
	for _, c := range takesRecordings {
		known = append(known, c.command)
	}
	var all func(prefix string, c *cobra.Command)
	all = func(prefix string, c *cobra.Command) {
		for _, sub := range c.Commands() {
			name := prefix + sub.Name()
			if !slices.Contains(known, name) {
				t.Errorf("the command %q has no row: does it take a recording?", name)
			}
			all(name+"/", sub)
		}
	}
	all("", newRootCommand(console.Console{Out: io.Discard, Err: io.Discard}))
	err := filepath.WalkDir(".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			return err
		}
		text, err := os.ReadFile(name)
		if bytes.Contains(text, []byte("recording.Open(")) && name != "internal/saved/recorded.go" {
			t.Errorf("%s opens a recording itself: readRecording says how far it goes", name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// unzipped returns a recording of the documentation.
func unzipped(t testing.TB, name string) []byte {
	t.Helper()
	f, err := os.Open("../../docs/pictures/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// framesOf returns the offsets at which the messages of a recording begin, the end mark's last.
func framesOf(t testing.TB, file []byte) (at []int) {
	t.Helper()
	for i := 0; ; {
		at = append(at, i)
		size := int(binary.LittleEndian.Uint32(file[i+4:]))
		if size == 0 {
			return at
		}
		root, length := file[i+8:], uint64(0)
		table := int(binary.LittleEndian.Uint32(root))
		slots := root[table-int(int32(binary.LittleEndian.Uint32(root[table:]))):]
		const slot = 4 + 2*3 // of Arrow's bodyLength
		if has := int(binary.LittleEndian.Uint16(slots)); has > slot {
			if at := int(binary.LittleEndian.Uint16(slots[slot:])); at > 0 {
				length = binary.LittleEndian.Uint64(root[table+at:])
			}
		}
		i += 8 + size + int(length)
	}
}

// spoiled returns damaged copies of a recording, by the kind of damage.
func spoiled(t testing.TB, file []byte) map[string][]byte {
	t.Helper()
	at := framesOf(t, file)
	n := len(at)
	flip := func(i int) []byte {
		bad := bytes.Clone(file)
		bad[i] ^= 1 << (i % 8)
		return bad
	}
	mid := n / 2
	swapped := slices.Concat(file[:at[mid-1]], file[at[mid]:at[mid+1]], file[at[mid-1]:at[mid]], file[at[mid+1]:])
	return map[string][]byte{
		"cut behind a batch": file[:at[2]], "cut between batches": file[:at[mid]], "cut in a batch": file[:at[mid]+99],
		"cut in the last batch": file[:at[n-1]-1], "flipped in a batch": flip((at[mid] + at[mid+1]) / 2),
		"flipped in a length": flip(at[mid] + 4), "flipped in the last batch": flip(at[n-1] - 9), "swapped": swapped,
		"doubled": slices.Concat(file[:at[mid]], file[at[mid-1]:]),
		"missing": slices.Concat(file[:at[mid]], file[at[mid+1]:]),
	}
}

// outcome is how a command ended.
type outcome struct {
	status    int
	out, said string
}

// runBounded runs the program, and fails if it takes too much time or memory.
func runBounded(t testing.TB, tracer string, in []byte, args ...string) outcome {
	t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), 2*time.Minute)
	defer stop()
	cmd := exec.CommandContext(ctx, tracer, args...)
	var out, said bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(in), &out, &said
	_ = cmd.Run()
	if ctx.Err() != nil {
		t.Fatalf("%v does not end", args)
	}
	if most := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss; most > 512<<10 {
		t.Errorf("%v takes %d KiB", args, most)
	}
	if strings.Contains(said.String(), "panic") || strings.Contains(said.String(), "goroutine ") {
		t.Fatalf("%v: %s", args, said.String())
	}
	return outcome{cmd.ProcessState.ExitCode(), out.String(), said.String()}
}

// denies matches phrases that contain such a word but deny accuracy.
var (
	denies = regexp.MustCompile(`(?i)no figure of it is exact|nothing is exact|` +
		`not (every figure is )?(exact|complete)|` +
		`exact memory(, not sampled| of every cell)|no exact figures`)
	claims = regexp.MustCompile(`(?i)\bexact\b|✓ complete|certificate: complete`)
)

// accuracyClaim returns a claim of accuracy in an output; "" if there is none.
func accuracyClaim(format, out string) string {
	switch format {
	case "json":
		var v any
		if err := json.Unmarshal([]byte(out), &v); err != nil {
			return err.Error()
		}
		return accuracyClaimIn(v, "")
	case "csv": // the names of columns
		if i := strings.Index(out, ",true,0"); i >= 0 {
			return out[max(0, i-80):i]
		}
		return ""
	case "text", "markdown", "allocations-csv":
		out = denies.ReplaceAllString(out, "")
		if i := claims.FindStringIndex(out); i != nil {
			return out[max(0, i[0]-100):min(len(out), i[1]+100)]
		}
	}
	return ""
}

// accuracyClaimIn goes through a JSON value. of is the key that it stands behind.
func accuracyClaimIn(v any, of string) string {
	switch v := v.(type) {
	case map[string]any:
		for key, one := range v {
			if s := accuracyClaimIn(one, key); s != "" {
				return key + ": " + s
			}
		}
	case []any:
		for i, one := range v {
			if s := accuracyClaimIn(one, of); s != "" {
				return fmt.Sprint(i, ": ", s)
			}
		}
	case bool:
		if k := strings.ToLower(of); v && (strings.HasSuffix(k, "exact") || k == "complete") {
			return "true"
		}
	case string:
		if of == "accuracy" && v == "exact" {
			return v
		}
	}
	return ""
}
