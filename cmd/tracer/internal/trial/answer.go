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
	errTooMuch         = fmt.Errorf("the notebook's outputs and values are more than %d MiB", maxAnswer>>20)
	errMalformedAnswer = errors.New("what came back from the run is not what the runner sends")
)

// Result is what came back from a run.
type Result struct {
	What, Python string // the kernel's name and its Python's version; "" if no kernel has started
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

// Value is the digest of a Python object (python/src/ipytracer/_try_digest.py).
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
	// Numbers are the elements. If Block is over 1, they are the sums of blocks of Block elements each, and Weights are
	// the sums of the blocks' absolute values. Both are packed float64, in base64.
	Numbers string  `json:"numbers"`
	Weights string  `json:"weights"`
	Block   int64   `json:"block"`
	Items   []Named `json:"items"`
}

// UnmarshalJSON reads an array [name, digest].
func (n *Named) UnmarshalJSON(data []byte) error {
	pair := []any{&n.Name, &n.Value}
	if err := json.Unmarshal(data, &pair); err != nil {
		return err
	}
	if len(pair) != 2 {
		return errMalformedAnswer
	}
	return nil
}

// unpackFloats decodes little-endian float64 in base64; nil if the text is malformed.
func unpackFloats(text string) []float64 {
	packed, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil
	}
	floats := make([]float64, len(packed)/8)
	for i := range floats {
		floats[i] = math.Float64frombits(binary.LittleEndian.Uint64(packed[8*i:]))
	}
	return floats
}

// message is one line of the driver's output. Event says which other fields are set.
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

// steps are called as a run goes on.
type steps struct {
	kernelStarted func(pid int)  // once
	cellBegins    func(cell int) // from 1
	cellsOver     func()         // behind the last cell
}

// readAnswer reads the driver's output until its end. Its error is about the output: a run that failed has Result.Why.
func readAnswer(from io.Reader, cells int, steps steps) (*Result, error) {
	r := &Result{}
	in := &lineReader{from: from}
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
			return r, errMalformedAnswer
		}
		if err := r.addMessage(&m, cells, steps); err != nil {
			return r, err
		}
	}
	if !r.ended {
		r.Why = "the run ended before the notebook did"
	}
	return r, nil
}

// addMessage takes a message into the result, and calls its step.
func (r *Result) addMessage(m *message, cells int, steps steps) error {
	switch m.Event {
	case "begin":
		if r.What != "" || m.What == "" || m.PID <= 0 {
			return errMalformedAnswer
		}
		r.What, r.Python = m.What, m.Python
		steps.kernelStarted(m.PID)
	case "cell begins":
		if m.Cell >= 1 && m.Cell <= cells {
			steps.cellBegins(m.Cell)
		}
	case "cells over":
		steps.cellsOver()
	case "cell":
		if m.Cell != len(r.Cells)+1 || m.Cell > cells {
			return errMalformedAnswer
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

// lineReader reads lines. It fails behind maxAnswer bytes.
type lineReader struct {
	from     io.Reader
	buffer   []byte
	chunk    [64 << 10]byte
	received int
	parts    int // JSON values so far, by their commas and brackets
}

func (l *lineReader) next() ([]byte, error) {
	for searched := 0; ; {
		if at := bytes.IndexByte(l.buffer[searched:], '\n'); at >= 0 {
			line := l.buffer[:searched+at]
			l.buffer = l.buffer[searched+at+1:]
			return line, nil
		}
		searched = len(l.buffer)
		if l.received >= maxAnswer {
			return nil, errTooMuch
		}
		n, err := l.from.Read(l.chunk[:])
		l.received += n
		l.buffer = append(l.buffer, l.chunk[:n]...)
		if n == 0 && err != nil {
			return nil, err
		}
	}
}

// bounded reports whether a line of JSON is nested at most maxDepth deep, and all lines so far have at most maxParts
// values. It is called before the line is decoded, because decoding takes much more memory than the text.
func (l *lineReader) bounded(line []byte) bool {
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
