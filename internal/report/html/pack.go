package html

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
)

// ints and longs are columns of numbers. In JSON each is a text: the base64 of the differences between neighbours, as
// the varints of encoding/binary. Browsers read such a text several times as fast as a list, and it deflates to less.
type (
	ints  []int
	longs []int64
)

// MarshalJSON writes the column as a text.
func (c ints) MarshalJSON() ([]byte, error) { return column(c), nil }

// MarshalJSON writes the column as a text.
func (c longs) MarshalJSON() ([]byte, error) { return column(c), nil }

// column encodes numbers as a JSON text: see [ints].
func column[T int | int64](numbers []T) []byte {
	packed := make([]byte, 0, 2*len(numbers))
	before := int64(0)
	for _, n := range numbers {
		packed = binary.AppendVarint(packed, int64(n)-before)
		before = int64(n)
	}
	out := append(make([]byte, 0, base64.StdEncoding.EncodedLen(len(packed))+2), '"')
	return append(base64.StdEncoding.AppendEncode(out, packed), '"')
}

// deflated encodes a value as the base64 of its deflated JSON (RFC 1951). A browser can read such a part of the page
// after it has drawn the others.
func deflated(value any) (string, error) {
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.DefaultCompression)
	if err != nil {
		return "", fmt.Errorf("deflate: %w", err)
	}
	if err := json.NewEncoder(w).Encode(value); err != nil {
		return "", fmt.Errorf("encode a part of the page: %w", err)
	}
	if err := w.Close(); err != nil {
		return "", fmt.Errorf("deflate: %w", err)
	}
	return base64.StdEncoding.EncodeToString(b.Bytes()), nil
}
