package tracer

import (
	"crypto/sha1" //nolint:gosec // it is the hash that IPython takes
	"encoding/binary"
	"path"
	"strconv"
	"strings"
	"time"

	"ipytracer/event"
	"ipytracer/tracer/python/cpython"
)

// Functions that were defined in cells allocate after an attach, too. Their code says from which file it is, and that
// is no file: <ipython-input-N-HASH> in a terminal, where HASH is of what IPython compiled, and
// /tmp/ipykernel_PID/HASH.py in a kernel, where it is of what was typed. IPython keeps both texts of each cell that it
// stores. So a name stands for a cell if the text of that cell has the hash in it: then nothing else can be meant, not
// even if the process is hostile, or the cell was a silent one that had no number of its own. IPython's own table of
// names, compile._filename_map, gives a silent cell the number of the next one.

// pastCell is a cell that ran before the session.
type pastCell struct {
	number int32
	lines  []int32 // where the lines of its code were typed, if it was elsewhere
}

// pastCells are those of a process, the latest of each text.
type pastCells struct {
	typed    map[uint32]*pastCell // by the hash that ipykernel makes of what was typed
	compiled map[compiledName]*pastCell
}

// compiledName is what tells a terminal's cells apart.
type compiledName struct {
	number int32
	hash   [compiledHash]byte
}

// compiledHash is how many bytes of the hash are in a name.
const compiledHash = 6

// Limits of what is read of a process's past cells: their number, the bytes of all texts, and the time. How many
// newlines a text had at its end is not kept.
const (
	maxPastCells    = 1 << 14
	maxPastText     = 16 << 20
	pastCellsTake   = 200 * time.Millisecond
	mostNewlines    = 3
	terminalsPrefix = "<ipython-input-"
)

// pastCellsOf reads the cells that a process has run.
func pastCellsOf(p *python) *pastCells {
	all := &pastCells{typed: map[uint32]*pastCell{}, compiled: map[compiledName]*pastCell{}}
	until, cells, text := time.Now().Add(pastCellsTake), 0, 0
	_ = p.live.PastInputs(p.inputs, func(one cpython.PastInput) bool { // what was read by an error stands
		all.add(&one)
		cells, text = cells+1, text+len(one.Typed)+len(one.Compiled)
		return cells < maxPastCells && text < maxPastText && time.Now().Before(until)
	})
	return all
}

// add takes a cell in. Later ones have been.
func (all *pastCells) add(from *cpython.PastInput) {
	c := &pastCell{number: int32(from.Number)}
	if from.Compiled != "" {
		c.lines = typedLines(from.Compiled, from.Typed)
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

// of returns the cell that a file name of code stands for, nil for none.
func (all *pastCells) of(file string) *pastCell {
	if rest, is := strings.CutPrefix(file, terminalsPrefix); is {
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
	digits, is := strings.CutSuffix(path.Base(file), ".py")
	if !is {
		return nil
	}
	hash, err := strconv.ParseUint(digits, 10, 32)
	if err != nil {
		return nil
	}
	return all.typed[uint32(hash)]
}

// cellHash is the hash of a cell's text that ipykernel names its code by (ipykernel/compiler.py): MurmurHash2, 32 bits,
// with a seed of its own.
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
type past struct{ of map[int32]*pastCells }

// read reads those of a target that had run before its probes were in place.
func (a *past) read(t *target) {
	if p := t.python; p != nil && p.inputs != 0 && (t.late || p.unseen > 0) {
		if a.of == nil {
			a.of = map[int32]*pastCells{}
		}
		a.of[int32(t.pid)] = pastCellsOf(p)
	}
}

// changed forgets those of a process that ends, or executes another program: the pid is another's then, or may be.
func (a *past) changed(b *event.Boundary) {
	if b.Kind == event.ProcessExec || b.Kind == event.ProcessExit {
		delete(a.of, b.PID)
	}
}

// cell returns the cell that a file name of a process's code stands for, nil for none.
func (a *past) cell(pid int32, file string) *pastCell {
	if all := a.of[pid]; all != nil {
		return all.of(file)
	}
	return nil
}
