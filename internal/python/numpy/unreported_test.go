package numpy

import (
	"bytes"
	"errors"
	"testing"
)

// TestUnreported: NumPy 2.5.2's wheel asks tracemalloc whether it runs, also where the rest of its code is not
// understood; older code does not ask.
func TestUnreported(t *testing.T) {
	code := wheel(t)
	if unreported, err := Unreported(bytes.NewReader(code)); !unreported || err != nil {
		t.Errorf("%v, %v", unreported, err)
	}
	copy(code[0x1762f3:], "\x29\xff") // sub edi, edi for xor edi, edi
	if _, err := Find(bytes.NewReader(code)); !errors.Is(err, ErrUnknown) {
		t.Fatal(err)
	}
	if unreported, err := Unreported(bytes.NewReader(code)); !unreported || err != nil {
		t.Errorf("%v, %v of code that is not understood", unreported, err)
	}
	for at := range code[:len(code)-3] { // -3 is no answer of any function
		if bytes.Equal(code[at:at+3], []byte("\x83\xf8\xfe")) {
			code[at+2] = 0xfd
		}
	}
	if unreported, err := Unreported(bytes.NewReader(code)); unreported || err != nil {
		t.Errorf("%v, %v of code that compares with -3", unreported, err)
	}
	if unreported, err := Unreported(bytes.NewReader([]byte("no program"))); unreported || !errors.Is(err, ErrUnknown) {
		t.Errorf("%v, %v of no program", unreported, err)
	}
}

// TestUnreportedCompiled: the question is seen, however code is compiled.
func TestUnreportedCompiled(t *testing.T) {
	for _, flags := range [][]string{{"-O1"}, {"-O2"}, {"-O3", "-fno-plt"}, {"-Os"}} {
		for _, asks := range []bool{false, true} {
			all := flags
			if asks {
				all = append([]string{"-DASKS"}, flags...)
			}
			if unreported, err := Unreported(bytes.NewReader(built(t, all...))); unreported != asks || err != nil {
				t.Errorf("%v: %v, %v", all, unreported, err)
			}
		}
	}
}
