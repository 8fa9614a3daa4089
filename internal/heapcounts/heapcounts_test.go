package heapcounts

import (
	"cmp"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ipytracer/internal/code/machine"
)

// built compiles a program.
func built(t *testing.T, flags ...string) string {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil {
		if os.Getenv("TRACER_REQUIRE_BPF") == "1" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	dir := t.TempDir()
	source, program := filepath.Join(dir, "main.c"), filepath.Join(dir, "main")
	if err := os.WriteFile(source, []byte("int main(void) { return 0; }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	compile := exec.Command("gcc", append([]string{"-o", program, source}, flags...)...)
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return program
}

// TestSuits: only a program whose dynamic linker preloads libraries, in front of the C library's malloc, suits.
func TestSuits(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	usual, setuid := built(t), built(t)
	if err := os.Chmod(setuid, 0o755|os.ModeSetuid); err != nil {
		t.Fatal(err)
	}
	again := write("again", "#!"+filepath.Join(dir, "again")+"\n")
	for program, want := range map[string]string{
		usual: "", write("script", "#! "+usual+" -x\n"): "",
		write("scripted", "#!"+filepath.Join(dir, "script")+"\n"): "",
		built(t, "-static"): "linked statically", setuid: "gets rights", dir: "is no file",
		filepath.Join(dir, "none"): "cannot be read", write("empty", ""): "no program",
		write("cut", "\x7fELF\x02\x01"): "no program", again: "too many interpreters",
		built(t, "-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1"): "another C library",
		built(t, "-fsanitize=address"):                            "a sanitizer",
	} {
		err := Suits(program)
		refused := errors.Is(err, ErrCannot) && strings.Contains(err.Error(), cmp.Or(want, "?"))
		if want == "" && err != nil || want != "" && !refused {
			t.Errorf("%s: %v, want %q", program, err, want)
		}
	}
}

// TestPreload: the variables are where the library reads them, and the user's own library stays behind it.
func TestPreload(t *testing.T) {
	cmd := exec.Command("true")
	cmd.Env = []string{"A=1", "LD_PRELOAD=/lib/users.so", "IPYTRACER_HEAP=9,9"}
	cmd.ExtraFiles = []*os.File{os.Stdin}
	Preload(cmd, os.Stdout, os.Stderr)
	want := []string{"IPYTRACER_HEAP=4,5", "A=1", "LD_PRELOAD=/proc/self/fd/5:/lib/users.so"}
	if !slices.Equal(cmd.Env, want) {
		t.Errorf("%q, want %q", cmd.Env, want)
	}
	if !slices.Equal(cmd.ExtraFiles, []*os.File{os.Stdin, os.Stderr, os.Stdout}) {
		t.Errorf("files: %v", cmd.ExtraFiles)
	}
}

// TestCarried: the program carries the library, if it was built, with the function that has a probe. Nobody can write
// to it.
func TestCarried(t *testing.T) {
	library, err := Open()
	if errors.Is(err, ErrCannot) && strings.Contains(err.Error(), "built without") {
		t.Skip(err) // scripts/build.sh builds it first
	}
	if err != nil {
		t.Fatal(err)
	}
	defer library.Close()
	code, err := machine.OpenLibrary(library, Told)
	if err != nil {
		t.Fatal(err)
	}
	if at := code.Start(Told); !at.Present() || !at.Emulated {
		t.Errorf("%+v", at)
	}
	if _, err := library.WriteAt([]byte{0}, 0); err == nil {
		t.Error("it can be written to")
	}
}
