package recording

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"ipytracer/event"
	"ipytracer/internal/code/elffile/elftest"
)

// inSid runs a Python program on a file, in the Debian sid chroot of scripts/pythons.sh, and returns its output.
// Without the chroot the test is skipped, unless TRACER_PYTHONS=all says that there has to be one.
func inSid(t *testing.T, file []byte, program string) string {
	t.Helper()
	root := elftest.TreeRoot("sid")
	elftest.NeedTree(t, root)
	if os.Geteuid() != 0 {
		absent := t.Skipf
		if elftest.AllTrees() {
			absent = t.Fatalf
		}
		absent("needs root to enter the chroot %s", root)
	}
	// other tests mount a file system on its /tmp
	tmp, err := os.MkdirTemp(filepath.Join(root, "var", "tmp"), "recording")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(tmp) })
	if err := os.WriteFile(filepath.Join(tmp, "run.arrows"), file, 0o600); err != nil {
		t.Fatal(err)
	}
	inside := strings.TrimPrefix(tmp, root)
	out, err := exec.Command("chroot", root, "python3", "-c", program, inside+"/run.arrows").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// The recipes of docs/recording.md.
const (
	openPandas = `
import sys, pyarrow, pyarrow.ipc
path = sys.argv[1]
df = pyarrow.ipc.open_stream(path).read_pandas()
`
	openWhatIsThere = `
import sys, pyarrow, pyarrow.ipc
path = sys.argv[1]
def batches(path):
    r = pyarrow.ipc.open_stream(path)
    try:
        yield from r
    except (pyarrow.ArrowInvalid, OSError):
        pass
df = pyarrow.Table.from_batches(batches(path)).to_pandas()
`
)

func TestPandasReadsIt(t *testing.T) {
	events := session()
	for _, c := range changes(10_000) {
		events = append(events, &c)
	}
	ask := openPandas + `
assert pyarrow.ipc.open_stream(path).schema.metadata == {b"ipytracer.format": b"` + strconv.Itoa(Format) +
		`", b"ipytracer.version": b"1.2.3"}
for b in pyarrow.ipc.open_stream(path): b.validate(full=True)
print(len(df), len(df.columns), str(df.time_ns.dtype), str(df.pid.dtype))
print(df.kind.value_counts(sort=False).to_dict())
close = df[df.kind == "cell-close"].iloc[0]
print(int(close["cpu.numpy"]), int(close["cpu.mapped.high"]), close.outcome, int(close.cell))
print(df[df.kind == "cell-source"].text.iloc[0].strip())
change = df[df.kind == "change"]
print(int(change["value"].sum()), int(change["size"].sum()), int(change.address.max()), int(change.stream.sum()))
import json
print(json.loads(df[df.kind == "start"].detail.iloc[0])["host"]["kernel"])
`
	want := fmt.Sprintf("10008 %d int64 int32\n", colCount) +
		"{'start': 1, 'process': 1, 'cell-open': 1, 'cell-source': 1, 'change': 10001, 'cell-close': 1, " +
		"'reading': 1, 'finish': 1}" + `
8000 1073754112 ok 1
x = np.zeros(1000)
VALUES
7.0.1
`
	t.Run("whole", func(t *testing.T) {
		got := inSid(t, record(t, events, 0), ask)
		if w := strings.Replace(want, "VALUES\n", sums(events), 1); got != w {
			t.Errorf("got\n%s\nwant\n%s", got, w)
		}
	})
	t.Run("cut", func(t *testing.T) {
		file := record(t, events, 0)
		got := inSid(t, file[:len(file)*2/3], openWhatIsThere+"print(len(df))")
		if got != fmt.Sprintln(maxRows-maxEventRows+1) {
			t.Errorf("%s rows, want those of the one whole batch", got)
		}
	})
}

// sums returns the output of the program above for all changes.
func sums(events []event.Event) string {
	var value, size event.Bytes
	var address, stream uint64
	for _, e := range events {
		if c, ok := e.(*event.Change); ok {
			value, size = value+c.Value, size+c.Size
			address, stream = max(address, c.Address), stream+c.Stream
		}
	}
	return fmt.Sprintln(int64(value), int64(size), address, stream)
}
