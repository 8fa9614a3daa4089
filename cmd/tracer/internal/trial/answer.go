package trial

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
)

// Bounds on what comes back from a run. The notebook's code may write there too.
const (
	maxAnswer  = 192 << 20 // bytes of a run
	maxDepth   = 64        // of values in each other
	maxParts   = 1_000_000 // values of a run
	maxOutputs = 64 << 20  // bytes of outputs of a run, asked of the runner
)

var (
	errTooMuch = fmt.Errorf("the notebook's outputs and values are more than %d MiB", maxAnswer>>20)
	errAnswer  = errors.New("what came back from the run is not what the runner sends")
)

// Result is what came back from a run.
type Result struct {
	What, Python string // the kernel, and its Python's version
	Cells        []CellResult
	Values       []Named
	ValuesMore   int64  // variables that were not looked at
	Why          string // the run's end before that of the notebook; "" if there was none
	ended        bool
}

// CellResult is a cell's outputs and time.
type CellResult struct {
	NS      int64    `json:"ns"`
	Outputs []Output `json:"outputs"`
	More    int      `json:"more"` // outputs that were left out
	Failed  *Failure `json:"failed"`
}

// Output is one output of a cell.
type Output struct {
	Type string          `json:"type"`
	Name string          `json:"name"` // of a stream
	Data map[string]Blob `json:"data"` // by MIME type
}

// Blob is a text, or the beginning of a long one with its size and hash.
type Blob struct {
	Text string `json:"text"`
	Head string `json:"head"`
	Size int64  `json:"size"`
	Hash string `json:"hash"`
}

// Failure is the exception that ended a cell.
type Failure struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Named is a digest with its name: a variable, a column, an item.
type Named struct {
	Name  string
	Value Value
}

// Value is the digest of a value (python/src/ipytracer/_try_digest.py).
type Value struct {
	Kind   string             `json:"kind"` // value, array, frame, container, object
	Type   string             `json:"type"`
	DType  string             `json:"dtype"`
	Device string             `json:"device"`
	Text   string             `json:"text"`
	Name   string             `json:"name"`
	Hash   string             `json:"hash"`
	Why    string             `json:"why"`
	Shape  []int64            `json:"shape"`
	Size   int64              `json:"size"`
	Sums   map[string]*string `json:"sums"`
	// Numbers are the elements or, with Block, the sums of blocks of as many elements; Weights are the sums of their
	// absolute values. They are packed float64.
	Numbers string  `json:"numbers"`
	Weights string  `json:"weights"`
	Block   int64   `json:"block"`
	Items   []Named `json:"items"`
}

// UnmarshalJSON reads a pair [name, digest].
func (n *Named) UnmarshalJSON(data []byte) error {
	pair := []any{&n.Name, &n.Value}
	if err := json.Unmarshal(data, &pair); err != nil {
		return err
	}
	if len(pair) != 2 {
		return errAnswer
	}
	return nil
}

func unpacked(text string) []float64 {
	packed, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil
	}
	all := make([]float64, len(packed)/8)
	for i := range all {
		all[i] = math.Float64frombits(binary.LittleEndian.Uint64(packed[8*i:]))
	}
	return all
}

// message is a line of the runner's.
type message struct {
	Event  string `json:"event"`
	What   string `json:"what"`
	Python string `json:"python"`
	PID    int    `json:"pid"` // of the kernel
	Cell   int    `json:"cell"`
	Why    string `json:"why"`
	Values struct {
		Variables []Named `json:"variables"`
		More      int64   `json:"more"`
	} `json:"values"`
	CellResult
}

// steps are called at the steps of a run: kernel with the process of the kernel, once, begins with the number of each
// cell that begins, over behind the last one.
type steps struct {
	kernel func(pid int)
	begins func(cell int)
	over   func()
}

// readAnswer reads the lines of a run.
func readAnswer(from io.Reader, cells int, steps steps) (*Result, error) {
	r := &Result{}
	in := &lines{from: from}
	for {
		line, err := in.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return r, err
		}
		var m message
		if !in.bounded(line) || json.Unmarshal(line, &m) != nil {
			return r, errAnswer
		}
		if err := r.take(&m, cells, steps); err != nil {
			return r, err
		}
	}
	if !r.ended {
		r.Why = "the run ended before the notebook did"
	}
	return r, nil
}

// take adds a line of the runner's.
func (r *Result) take(m *message, cells int, steps steps) error {
	switch m.Event {
	case "begin":
		if r.What != "" || m.What == "" || m.PID <= 0 {
			return errAnswer
		}
		r.What, r.Python = m.What, m.Python
		steps.kernel(m.PID)
	case "cell begins":
		if m.Cell >= 1 && m.Cell <= cells {
			steps.begins(m.Cell)
		}
	case "cells over":
		steps.over()
	case "cell":
		if m.Cell != len(r.Cells)+1 || m.Cell > cells {
			return errAnswer
		}
		r.Cells = append(r.Cells, m.CellResult)
	case "values":
		r.Values, r.ValuesMore = m.Values.Variables, m.Values.More
		if m.Failed != nil {
			return fmt.Errorf("the notebook's variables could not be read: %.80s: %.200s",
				m.Failed.Name, m.Failed.Value)
		}
	case "end":
		r.ended, r.Why = true, m.Why
	}
	return nil
}

// lines reads lines, as many bytes as a run may send.
type lines struct {
	from  io.Reader
	kept  []byte
	chunk [64 << 10]byte
	taken int
	parts int // values so far
}

func (l *lines) next() ([]byte, error) {
	for searched := 0; ; {
		if at := bytes.IndexByte(l.kept[searched:], '\n'); at >= 0 {
			line := l.kept[:searched+at]
			l.kept = l.kept[searched+at+1:]
			return line, nil
		}
		searched = len(l.kept)
		if l.taken >= maxAnswer {
			return nil, errTooMuch
		}
		n, err := l.from.Read(l.chunk[:])
		l.taken += n
		l.kept = append(l.kept, l.chunk[:n]...)
		if n == 0 && err != nil {
			return nil, io.EOF
		}
	}
}

// bounded reports whether the values of a line are nested within bounds, and together with those of earlier lines not
// too many.
func (l *lines) bounded(line []byte) bool {
	depth, quoted := 0, false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\\' && quoted:
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
			l.parts++
		case c == '}' || c == ']':
			depth--
		case c == ',':
			l.parts++
		}
		if depth > maxDepth || l.parts > maxParts {
			return false
		}
	}
	return true
}
