package words

import (
	"strings"
	"testing"

	"ipytracer/model"
)

func TestMarimoCell(t *testing.T) {
	const dir = "/tmp/marimo_12/"
	uuid := "c9bf9e57-1685-4c89-bafb-ff5af830be8a"
	for file, want := range map[string]string{
		dir + "__marimo__cell_Hbol_.py":                              "cell Hbol",
		"__marimo__cell_setup_.py":                                   "cell setup",
		dir + "__marimo__cell_" + uuid + "_.py":                      "cell " + uuid,
		dir + "__marimo__cell_" + uuid + "Hbol_.py":                  "cell " + uuid + "Hbol",
		dir + "__marimo__cell_a\x1b[31m\n_b_.py":                     "cell a__31m__b",
		dir + "__marimo__cell_" + strings.Repeat("Aé", 500) + "_.py": "cell " + strings.Repeat("A_", 20),
		dir + "__marimo__cell_one_.py/__marimo__cell_two_.py":        "cell two",
		dir + "__marimo__cell_\xff\xfe_.py":                          "cell __",
		dir + "__marimo__cell__.py":                                  "",
		dir + "__marimo__cell_Hbol.py":                               "",
		dir + "marimo.py":                                            "",
		"/tmp/ipykernel_7/2398848727.py":                             "",
		"":                                                           "",
		"_.py":                                                       "",
	} {
		if got := MarimoCell(file); got != want {
			t.Errorf("%q is %q, want %q", file, got, want)
		}
	}
}

// TestNameOf: only names as MarimoCell returns them are names of cells. A recording may have others.
func TestNameOf(t *testing.T) {
	for name, want := range map[string]string{
		"cell Hbol": "cell Hbol", "cell " + strings.Repeat("a", 40): "cell " + strings.Repeat("a", 40),
		"cell " + strings.Repeat("a", 41): "", "cell \x1b[31m": "", "cell ": "", "Hbol": "", "": "",
	} {
		if got := NameOf(&model.Window{Kind: model.Cell, Name: name}); got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
	if got := NameOf(&model.Window{Kind: model.Experiment, Name: "cell Hbol"}); got != "" {
		t.Errorf("an experiment is %q", got)
	}
}
