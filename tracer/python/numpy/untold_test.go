package numpy

import (
	"bytes"
	"errors"
	"testing"
)

// TestUntold: NumPy 2.5.2's wheel asks tracemalloc whether it runs, also where the rest of its code is not understood;
// older code does not ask.
func TestUntold(t *testing.T) {
	code := wheel(t)
	if untold, err := Untold(bytes.NewReader(code)); !untold || err != nil {
		t.Errorf("%v, %v", untold, err)
	}
	copy(code[0x1762f3:], "\x29\xff") // sub edi, edi for xor edi, edi
	if _, err := Find(bytes.NewReader(code)); !errors.Is(err, ErrUnknown) {
		t.Fatal(err)
	}
	if untold, err := Untold(bytes.NewReader(code)); !untold || err != nil {
		t.Errorf("%v, %v of code that is not understood", untold, err)
	}
	for at := range code[:len(code)-3] { // -3 is an answer that nobody gives
		if bytes.Equal(code[at:at+3], []byte("\x83\xf8\xfe")) {
			code[at+2] = 0xfd
		}
	}
	if untold, err := Untold(bytes.NewReader(code)); untold || err != nil {
		t.Errorf("%v, %v of code that compares with -3", untold, err)
	}
	if untold, err := Untold(bytes.NewReader([]byte("no program"))); untold || !errors.Is(err, ErrUnknown) {
		t.Errorf("%v, %v of no program", untold, err)
	}
}

// TestUntoldCompiled: what is asked is seen, however code is compiled.
func TestUntoldCompiled(t *testing.T) {
	for _, flags := range [][]string{{"-O1"}, {"-O2"}, {"-O3", "-fno-plt"}, {"-Os"}} {
		for _, asks := range []bool{false, true} {
			all := flags
			if asks {
				all = append([]string{"-DASKS"}, flags...)
			}
			if untold, err := Untold(bytes.NewReader(built(t, all...))); untold != asks || err != nil {
				t.Errorf("%v: %v, %v", all, untold, err)
			}
		}
	}
}
