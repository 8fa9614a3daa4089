package running

import (
	"crypto/sha1" //nolint:gosec // it is the hash that IPython takes
	"encoding/binary"
	"path"
	"runtime"
	"strconv"
	"strings"
	"time"

	"ipytracer/event"
	"ipytracer/internal/python/cpython"
	"ipytracer/internal/python/holders/objects"
	"ipytracer/tracer/internal/tracee"
)

// Functions that were defined in cells before an attach allocate after it, too. The file name of their code is no file.
// In a terminal it is <ipython-input-N-HASH>, where HASH is the hash of the compiled text. In a kernel it is
// /tmp/ipykernel_PID/HASH.py, where HASH is the hash of the typed text. IPython keeps both texts of each cell that it
// stores. So a name belongs to the cell whose text has that hash, even if the process is hostile. IPython's own table
// of names, compile._filename_map, is not used: it gives a silent cell the number of the next cell.

// pastCell is a cell that ran before the session.
type pastCell struct {
	number int32
	lines  []int32 // where the lines of its code were typed, if they differ
}

// pastCells are the past cells of a process; of several cells with the same text, the latest.
type pastCells struct {
	typed    map[uint32]*pastCell // by ipykernel's hash of the typed text
	compiled map[compiledName]*pastCell
}

// compiledName identifies a cell of a terminal.
type compiledName struct {
	number int32
	hash   [compiledHash]byte
}

// compiledHash is the number of bytes of the hash in a name.
const compiledHash = 6

const (
	maxPastCells    = 1 << 14                // cells that are read of a process
	maxPastText     = 16 << 20               // bytes of all texts that are read of a process
	pastCellsTake   = 500 * time.Millisecond // processor time for reading them
	mostNewlines    = 3                      // newlines at the end of a text, which IPython does not keep
	terminalsPrefix = "<ipython-input-"
)

// pastCellsOf reads the cells that a process has run.
func pastCellsOf(p *tracee.Python) *pastCells {
	found := &pastCells{typed: map[uint32]*pastCell{}, compiled: map[compiledName]*pastCell{}}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	until, cells, text := objects.ProcessorTime()+pastCellsTake, 0, 0
	held := time.Now().Add(tracee.HeldUp * pastCellsTake)
	_ = p.Live.PastInputs(p.Inputs, func(input cpython.PastInput) bool { // after an error, the cells read so far stay
		found.add(&input)
		cells, text = cells+1, text+len(input.Typed)+len(input.Compiled)
		return cells < maxPastCells && text < maxPastText && objects.ProcessorTime() < until &&
			time.Now().Before(held)
	})
	return found
}

// add adds a cell. It is called for later cells first.
func (all *pastCells) add(from *cpython.PastInput) {
	c := &pastCell{number: int32(from.Number)}
	if from.Compiled != "" {
		c.lines = TypedLines(from.Compiled, from.Typed)
	}
	text := from.Typed
	for range mostNewlines + 1 {
		if hash := cellHash(text); all.typed[hash] == nil {
			all.typed[hash] = c
		}
		text += "\n"
	}
	if from.Compiled == "" {
		return
	}
	text = from.Compiled
	for range mostNewlines + 1 {
		sum := sha1.Sum([]byte(text)) //nolint:gosec
		all.compiled[compiledName{c.number, [compiledHash]byte(sum[:])}] = c
		text += "\n"
	}
}

// cellOf returns the cell that a file name of code stands for, nil for none.
func (all *pastCells) cellOf(file string) *pastCell {
	if rest, isTerminals := strings.CutPrefix(file, terminalsPrefix); isTerminals {
		count, hash, _ := strings.Cut(strings.TrimSuffix(rest, ">"), "-")
		number, err := strconv.ParseInt(count, 10, 32)
		if err != nil || len(hash) != 2*compiledHash {
			return nil
		}
		sum, err := strconv.ParseUint(hash, 16, 8*compiledHash)
		if err != nil {
			return nil
		}
		var bytes [8]byte
		binary.BigEndian.PutUint64(bytes[:], sum)
		return all.compiled[compiledName{int32(number), [compiledHash]byte(bytes[8-compiledHash:])}]
	}
	digits, isModule := strings.CutSuffix(path.Base(file), ".py")
	if !isModule {
		return nil
	}
	hash, err := strconv.ParseUint(digits, 10, 32)
	if err != nil {
		return nil
	}
	return all.typed[uint32(hash)]
}

// cellHash returns the hash of a cell's text in ipykernel's name for its code (ipykernel/compiler.py): MurmurHash2, 32
// bits, with a seed of its own.
func cellHash(text string) uint32 {
	const seed, m = 0xc70f6907, 0x5bd1e995
	h := seed ^ uint32(len(text))
	for ; len(text) >= 4; text = text[4:] {
		k := uint32(text[0]) | uint32(text[1])<<8 | uint32(text[2])<<16 | uint32(text[3])<<24
		k *= m
		k ^= k >> 24
		h = h*m ^ k*m
	}
	if len(text) > 0 {
		for i := range len(text) {
			h ^= uint32(text[i]) << (8 * i)
		}
		h *= m
	}
	h ^= h >> 13
	h *= m
	return h ^ h>>15
}

// past are the cells that ran before the session, by process.
type past struct{ byPID map[int32]*pastCells }

// Read reads the cells of a target that had run before its probes were in place.
func (a *past) Read(t *tracee.Target) {
	if p := t.Python; p != nil && p.Inputs != 0 && (t.Late || p.Unseen > 0) {
		if a.byPID == nil {
			a.byPID = map[int32]*pastCells{}
		}
		a.byPID[int32(t.PID)] = pastCellsOf(p)
	}
}

// Changed drops the cells of a process that ends or executes another program: the pid may then be another's.
func (a *past) Changed(b *event.Boundary) {
	if b.Kind == event.ProcessExec || b.Kind == event.ProcessExit {
		delete(a.byPID, b.PID)
	}
}

// cell returns the cell that a file name of a process's code stands for, nil for none.
func (a *past) cell(pid int32, file string) *pastCell {
	if cells := a.byPID[pid]; cells != nil {
		return cells.cellOf(file)
	}
	return nil
}
