package html_test

import (
	"compress/flate"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"io"
	"strings"
	"testing"
)

// numbers is a column of the page's, as its program reads it.
type numbers []int64

func (n *numbers) UnmarshalJSON(of []byte) error {
	var packed []byte
	if err := json.Unmarshal(of, &packed); err != nil {
		return err
	}
	last := int64(0)
	for *n = (numbers{}); len(packed) > 0; {
		by, size := binary.Varint(packed)
		if size <= 0 {
			return io.ErrUnexpectedEOF
		}
		last += by
		*n, packed = append(*n, last), packed[size:]
	}
	return nil
}

// block has the part of the data that the tests read.
type block struct {
	Answers [][2]string
	Meters  []struct{ ID string }
	Left    []string
	Body    string
	Sources []struct {
		At   numbers
		Data string
	}
	read
}

// read returns the value of a deflated part of the page.
type read struct {
	Texts []string
	Rows  struct {
		Kind, ID, Source numbers
		Figures          []struct{ Start, Need, Consumed, Off numbers }
		Trees            struct{ Row, Meter, Start, Need, Consumed, Off numbers }
	}
	Details []struct {
		Row, Meter int
		Stacks     numbers
		More       int
	}
	sources map[int64]string
}

// inflate reads a part of the page.
func inflate(t *testing.T, part string, to any) {
	t.Helper()
	text, err := io.ReadAll(flate.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(part))))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, to); err != nil {
		t.Fatal(err)
	}
}

// readAll reads all deflated parts of a block.
func (b *block) readAll(t *testing.T) {
	t.Helper()
	inflate(t, b.Body, &b.read)
	b.sources = map[int64]string{0: ""}
	for _, part := range b.Sources {
		var some []string
		inflate(t, part.Data, &some)
		if len(some) != len(part.At) {
			t.Fatalf("%d sources for %d places", len(some), len(part.At))
		}
		for i, at := range part.At {
			b.sources[at] = some[i]
		}
	}
}
