package doctor

import "testing"

// TestTranslation: a program of x86-64 on an arm64 kernel, as in a container of another platform on an Apple laptop.
func TestTranslation(t *testing.T) {
	d := Diagnosis{Possible: true}
	d.checkTranslation("processor\t: 0\nBogoMIPS\t: 48.00\nFeatures\t: fp asimd\nCPU implementer\t: 0x61\n")
	if d.Possible || len(d.Actions) != 1 {
		t.Errorf("%+v", d)
	}
}
