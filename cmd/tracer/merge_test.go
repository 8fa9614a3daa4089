package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"ipytracer/cmd/tracer/internal/console"
	"ipytracer/event"
	"ipytracer/event/recording"
	"ipytracer/internal/attributiontest"
	"ipytracer/internal/report/reporttest"
	"ipytracer/model"
)

// recordedOn returns a file with a recording of a notebook on a machine.
func recordedOn(t *testing.T, name, boot string, cells int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name+".arrows")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	w, err := recording.NewWriter(file, "test")
	if err != nil {
		t.Fatal(err)
	}
	attributiontest.Notebook(func(e event.Event) {
		if s, is := e.(*event.Start); is {
			s.Host.Name, s.Host.BootID = name, boot
		}
		if err == nil {
			err = errors.Join(w.Write(e), w.Flush())
		}
	}, cells, 2)
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

// ran returns the exit status, the output and the messages of the built tracer.
func ran(t *testing.T, args ...string) (code int, out, said string) {
	t.Helper()
	cmd := exec.Command(buildTracer(t), args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()
}

// TestMerge: every format of two recordings; the reports in the JSON are byte for byte those of `tracer report`.
func TestMerge(t *testing.T) {
	a, b := recordedOn(t, "one", "1", 4), recordedOn(t, "two", "2", 7)
	for _, more := range [][]string{nil, {"--no-source"}} {
		code, out, said := ran(t, append([]string{"merge", "-q", "--format", "json", a, b}, more...)...)
		if code != 0 || said != "" {
			t.Fatalf("status %d: %s", code, said)
		}
		if err := reporttest.CheckMerge([]byte(out)); err != nil {
			t.Errorf("JSON does not follow its schema: %v", err)
		}
		for _, file := range []string{a, b} {
			_, report, _ := ran(t, append([]string{"report", "-q", "--format", "json", file}, more...)...)
			if report == "" || !strings.Contains(out, report) {
				t.Errorf("the report of %s is another one", file)
			}
		}
		var m model.Merge
		if err := json.Unmarshal([]byte(out), &m); err != nil || len(m.Nodes) != 2 || len(m.Cells) != 11 {
			t.Fatalf("%d nodes, %d cells: %v", len(m.Nodes), len(m.Cells), err)
		}
		if hidden := m.Cells[0].Source == ""; hidden != (more != nil) {
			t.Errorf("source %q", m.Cells[0].Source)
		}
	}
	code, out, _ := ran(t, "merge", "-q", a, b, "--clock-error", "10ms", "--full")
	for _, want := range []string{"Together", "at most 5", "one", "two", "none", "20 ms as stated", "In[7]"} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	checkTraces(t, a, b)
}

// checkTraces checks that two processes with the same ID on two machines are two processes of the trace.
func checkTraces(t *testing.T, a, b string) {
	t.Helper()
	to := filepath.Join(t.TempDir(), "nodes.pftrace")
	if code, _, said := ran(t, "merge", "-q", a, b, "-o", to); code != 0 {
		t.Fatalf("status %d: %s", code, said)
	}
	trace, err := os.ReadFile(to)
	if err != nil {
		t.Fatal(err)
	}
	names, cells := processesOf(t, trace)
	kernels := map[string]int{}
	for pid, name := range names {
		node, _, _ := strings.Cut(name, fmt.Sprintf(" · %d ", attributiontest.Kernel))
		kernels[node] = cells[pid]
	}
	if kernels["one"] != 4 || kernels["two"] != 7 || len(cells) != 2 {
		t.Errorf("processes %v, cells %v", names, cells)
	}
}

// processesOf returns the names of the processes of a trace of Perfetto's, by pid, and the number of the cells of each.
func processesOf(t *testing.T, trace []byte) (names map[uint64]string, cells map[uint64]int) {
	t.Helper()
	names, cells = map[uint64]string{}, map[uint64]int{}
	pids := map[uint64]uint64{} // by track
	for _, packet := range fieldsOf(t, trace)[1] {
		p := fieldsOf(t, packet.bytes)
		for _, one := range p[60] {
			described := fieldsOf(t, one.bytes)
			track, pid := numberOf(described[1]), pids[numberOf(described[5])]
			for _, of := range described[3] {
				process := fieldsOf(t, of.bytes)
				pid = numberOf(process[1])
				names[pid] = string(process[6][0].bytes)
			}
			pids[track] = pid
		}
		for _, one := range p[11] {
			event := fieldsOf(t, one.bytes)
			if len(event[23]) == 1 && bytes.HasPrefix(event[23][0].bytes, []byte("In[")) {
				cells[pids[numberOf(event[11])]]++
			}
		}
	}
	return names, cells
}

// value is the value of a field of protocol buffers.
type value struct {
	number uint64
	bytes  []byte
}

// numberOf returns the first number of a field, 0 if there is none.
func numberOf(all []value) uint64 {
	if len(all) == 0 {
		return 0
	}
	return all[0].number
}

// fieldsOf returns the values of a message of protocol buffers, by the numbers of its fields.
func fieldsOf(t *testing.T, message []byte) map[protowire.Number][]value {
	t.Helper()
	all := map[protowire.Number][]value{}
	for len(message) > 0 {
		field, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			t.Fatal(protowire.ParseError(n))
		}
		message = message[n:]
		var one value
		if kind == protowire.VarintType {
			one.number, n = protowire.ConsumeVarint(message)
		} else {
			one.bytes, n = protowire.ConsumeBytes(message)
		}
		if n < 0 {
			t.Fatal(protowire.ParseError(n))
		}
		message = message[n:]
		all[field] = append(all[field], one)
	}
	return all
}

// TestMergeRefuses: mistakes end with one sentence and their status, and leave no file.
func TestMergeRefuses(t *testing.T) {
	a, b := recordedOn(t, "one", "1", 3), recordedOn(t, "two", "2", 3)
	copied := filepath.Join(t.TempDir(), "copied.arrows")
	data, err := os.ReadFile(a)
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "other.arrows")
	for name, content := range map[string][]byte{copied: data, other: []byte("no recording")} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	many := []string{"merge"}
	for range 1001 {
		many = append(many, a)
	}
	for _, c := range []struct {
		args []string
		code int
		said string
	}{
		{[]string{"merge"}, console.WrongUsage, ""},
		{[]string{"merge", a}, console.WrongUsage, ""},
		{many, console.WrongUsage, ""},
		{[]string{"merge", a, a}, console.WrongUsage, "recordings of the same session: name one of them"},
		{[]string{"merge", a, b, copied}, console.WrongUsage, copied},
		{[]string{"merge", a, other}, console.Failed, other},
		{[]string{"merge", a, filepath.Join(t.TempDir(), "none.arrows")}, console.Failed, "none.arrows"},
		{[]string{"merge", a, b, "--format", "html"}, console.WrongUsage, "text, json or perfetto"},
		{[]string{"merge", a, b, "--format", "chrome"}, console.WrongUsage, "use --format perfetto"},
		{[]string{"merge", a, b, "--by", "gpu.0.driver"}, console.WrongUsage, "only meters of the CPU side"},
		{[]string{"merge", a, b, "--by", "x"}, console.WrongUsage, "--by"},
		{[]string{"merge", a, b, "--clock-error", "-1s"}, console.WrongUsage, "--clock-error must be a time"},
		{[]string{"merge", a, b, "--clock-error", "x"}, console.WrongUsage, "--clock-error"},
		{[]string{"merge", a, b, "--cells", "-1"}, console.WrongUsage, "--cells"},
	} {
		to := filepath.Join(t.TempDir(), "out")
		code, out, said := ran(t, append(c.args, "-q", "-o", to)...)
		if code != c.code || out != "" || strings.Count(said, "\n") != 1 || !strings.Contains(said, c.said) {
			t.Errorf("%.200q: status %d, %q", c.args, code, said)
		}
		if _, err := os.Stat(to); err == nil {
			t.Errorf("%.200q: the output is there", c.args)
		}
	}
}

// TestMergeDamaged: a recording that is cut, or damaged in one byte, is merged as far as it goes, or refused. One
// sentence names the recording and says which.
func TestMergeDamaged(t *testing.T) {
	a, b := recordedOn(t, "one", "1", 3), recordedOn(t, "two", "2", 3)
	whole, err := os.ReadFile(b)
	if err != nil {
		t.Fatal(err)
	}
	cuts, refused := 0, 0
	for i := range 40 {
		at := len(whole) * i / 40
		data := bytes.Clone(whole[:at])
		if i%2 == 1 {
			data = bytes.Clone(whole)
			data[at] ^= 0x55
		}
		if err := os.WriteFile(b, data, 0o600); err != nil {
			t.Fatal(err)
		}
		code, out, said := ran(t, "merge", "-q", a, b)
		switch {
		case code == console.Failed && strings.Count(said, "\n") == 1 && strings.Contains(said, b) && out == "":
			refused++
		case code != 0 || strings.Count(said, "\n") != 1 || !strings.Contains(said, b) ||
			!strings.Contains(said, "no figure of it is exact"):
			t.Errorf("byte %d: status %d, %q", at, code, said)
		case strings.Contains(out, "the recording of two was cut"):
			cuts++
		}
	}
	if cuts < 10 || refused < 1 {
		t.Errorf("%d were cut, %d refused", cuts, refused)
	}
}
