package ledger

import (
	"reflect"
	"testing"

	"github.com/cilium/ebpf"
)

// The largest numbers of instructions that the kernel's verifier may walk at an attach: of one program, and of all
// together. Verification is most of an attach's time. The verifier walks a static function at every call, and a loop
// once for each value that it distinguishes. It walks a function that is not static once, and also values that are
// hidden from it (FORGET).
const verifiedOfOne, verifiedOfAll = 30_000, 320_000

func TestVerifierHasLittleToDo(t *testing.T) {
	l := load(t, Options{Heap: true})
	programs := reflect.ValueOf(l.objects.kernelPrograms)
	var all uint32
	for i := range programs.NumField() {
		info, err := programs.Field(i).Interface().(*ebpf.Program).Info()
		if err != nil {
			t.Fatal(err)
		}
		n, known := info.VerifiedInstructions()
		if !known {
			t.Skip("this kernel does not say: it does since 5.16")
		}
		if all += n; n > verifiedOfOne {
			t.Errorf("%s: %d instructions walked", programs.Type().Field(i).Name, n)
		}
	}
	if all > verifiedOfAll {
		t.Errorf("%d instructions walked in all", all)
	}
}
