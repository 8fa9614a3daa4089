package cpython

import (
	"encoding/hex"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ipytracer/internal/code/elffile/elftest"
	"ipytracer/internal/hostile"
)

// dump prints, for the code objects of some source, their line tables and the line of every instruction by Python
// itself: {"version": minor, "codes": [[firstlineno, table in hex, [[at, line], …]], …]}. at is f_lasti as frames have
// it.
const dump = `
import dis, json, sys
source = r'''
import os

def plain(a, b=1,
          c=2):
    x = (a +
         b +
         c)
    for i in range(3):
        if i:
            continue
        x += i
    return [y
            for y in range(x)
            if y]
class K:
    attribute: int = 3
    @property
    def value(self):
        try:
            return 1 / 0
        except ZeroDivisionError as e:
            raise ValueError(
                "no"
            ) from e
        finally:
            print("done")
async def co(x):
    async with x as y:
        await y
    return {k: v async for k, v in y}
` + "f = lambda: (\n" + `''' + "\n" * 400 + '''
    1)
''' + "\n".join("x%d = [%d,\n\n\n %d]" % (i, i, i) for i in range(300))
def walk(code):
    yield code
    for c in code.co_consts:
        if hasattr(c, "co_code"):
            yield from walk(c)
codes = []
minor = sys.version_info[1]
for c in walk(compile(source, "<s>", "exec")):
    lines, table = [], c.co_lnotab if minor < 10 else c.co_linetable
    if minor >= 11:
        lines = [[2 * i, p[0] or 0] for i, p in enumerate(c.co_positions())]
    elif minor == 10:
        lines = [[at // 2, line or 0] for start, end, line in c.co_lines() for at in range(start, end, 2)]
    else:
        starts = list(dis.findlinestarts(c))
        line = c.co_firstlineno
        for at in range(0, len(c.co_code), 2):
            for start, l in starts:
                if start == at:
                    line = l
            lines.append([at, line])
    codes.append([c.co_firstlineno, table.hex(), lines])
print(json.dumps({"version": minor, "codes": codes}))
`

// TestLineIsPythons compares Line with each Python's own answer, for every instruction.
func TestLineIsPythons(t *testing.T) {
	t.Run("here", func(t *testing.T) {
		if _, err := exec.LookPath("/usr/bin/python3"); err != nil {
			t.Skip("no Python here")
		}
		checkLines(t, []string{"/usr/bin/python3"})
	})
	for _, tree := range []string{"bullseye", "trixie", "sid", "pbs311", "pbs314"} {
		t.Run(tree, func(t *testing.T) {
			root := elftest.TreeRoot(tree)
			elftest.NeedTree(t, root)
			pythons := pythonsOf(root)
			if len(pythons) == 0 {
				t.Fatalf("%s has no Python", root)
			}
			for _, python := range pythons {
				checkLines(t, python)
			}
		})
	}
}

func checkLines(t *testing.T, python []string) {
	t.Helper()
	out, err := exec.Command(python[0], append(python[1:], "-c", dump)...).Output()
	if err != nil {
		t.Errorf("%v: %v", python, err)
		return
	}
	var said struct {
		Version int
		Codes   [][3]json.RawMessage
	}
	if err := json.Unmarshal(out, &said); err != nil {
		t.Fatalf("%v: %v", python, err)
	}
	instructions := 0
	for _, c := range said.Codes {
		var first int32
		var table hexBytes
		var lines [][2]int64
		for i, into := range []any{&first, &table, &lines} {
			if err := json.Unmarshal(c[i], into); err != nil {
				t.Fatal(err)
			}
		}
		for _, l := range lines {
			instructions++
			if got := Line(Version{Major: 3, Minor: said.Version}, first, table, l[0]); int64(got) != l[1] {
				t.Fatalf("3.%d: code at line %d: instruction %d is on line %d, got %d", said.Version, first,
					l[0], l[1], got)
			}
		}
	}
	t.Logf("3.%d: %d instructions", said.Version, instructions)
}

// pythonsOf are the commands of the Pythons of a tree that make pythons builds: a system's, or
// python-build-standalone's.
func pythonsOf(root string) (found [][]string) {
	paths, _ := filepath.Glob(filepath.Join(root, "usr/bin/python3.*"))
	for _, p := range paths {
		if !strings.Contains(filepath.Base(p), "-") {
			found = append(found, []string{"chroot", root, strings.TrimPrefix(p, root)})
		}
	}
	paths, _ = filepath.Glob(filepath.Join(root, "bin/python3.??"))
	if !strings.HasPrefix(filepath.Base(root), "pbs") {
		return found
	}
	for _, p := range paths {
		found = append(found, []string{p})
	}
	return found
}

func FuzzLine(f *testing.F) {
	f.Add(uint8(9), int32(1), []byte{6, 1, 8, 0xff}, int64(4))
	f.Add(uint8(10), int32(1), []byte{4, 1, 8, 0x80}, int64(4))
	f.Add(uint8(14), int32(1), []byte{0x80, 0x01, 0xd8, 0x00, 0xf0, 0x02, 0x01, 0x02, 0x03}, int64(6))
	hostile.Fuzz(f, 64<<20, func(t *testing.T, minor uint8, first int32, table []byte, at int64) {
		Line(Version{Major: 3, Minor: 9 + int(minor)%7}, first, table, at)
	})
}

// hexBytes is bytes that JSON has in hexadecimal.
type hexBytes []byte

func (h *hexBytes) UnmarshalText(text []byte) (err error) {
	*h, err = hex.DecodeString(string(text))
	return err
}
