package privileges

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// rig is a folder of alice's in which root has a file, and alice's rights.
type rig struct {
	*testing.T
	rights  *Rights
	dir     string // alice's
	secret  string // root's, in a folder that alice may not enter
	nearby  string // root's, in alice's folder
	content string
}

// newRig needs root: whoever is not cannot be anybody else.
func newRig(t *testing.T) *rig {
	t.Helper()
	if os.Geteuid() != 0 {
		if os.Getenv("TRACER_REQUIRE_BPF") == "1" {
			t.Fatal("not root")
		}
		t.Skip("not root")
	}
	base := t.TempDir()
	for dir := base; dir != "/" && dir != os.TempDir(); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	r := &rig{T: t, dir: filepath.Join(base, "alice"), content: "root's own"}
	vault := filepath.Join(base, "root")
	r.secret, r.nearby = filepath.Join(vault, "secret"), filepath.Join(r.dir, "nearby")
	r.must(os.Mkdir(r.dir, 0o755), os.Chown(r.dir, alice, alice), os.Mkdir(vault, 0o700),
		os.WriteFile(r.secret, []byte(r.content), 0o600), os.WriteFile(r.nearby, []byte(r.content), 0o600))
	var err error
	if r.rights, err = RightsOf(User{UID: alice, GID: alice}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.rights.Close)
	return r
}

func (r *rig) must(errs ...error) {
	r.Helper()
	if err := errors.Join(errs...); err != nil {
		r.Fatal(err)
	}
}

func (r *rig) path(name string) string { return filepath.Join(r.dir, name) }

// unharmed checks that root's files are unchanged.
func (r *rig) unharmed() {
	r.Helper()
	for _, path := range []string{r.secret, r.nearby} {
		var st unix.Stat_t
		data, err := os.ReadFile(path)
		r.must(err, unix.Stat(path, &st))
		if string(data) != r.content || st.Uid != 0 || st.Gid != 0 || st.Mode&0o777 != 0o600 {
			r.Errorf("%s: %q, of %d:%d, mode %o", path, data, st.Uid, st.Gid, st.Mode)
		}
	}
}

// nothingLeft checks that no file of a name that nobody chose lies about.
func (r *rig) nothingLeft() {
	r.Helper()
	left, err := filepath.Glob(r.path(".tracer-*"))
	r.must(err)
	if len(left) > 0 {
		r.Errorf("left behind: %v", left)
	}
}

// write makes a whole file.
func (r *rig) write(path string, replace bool) error {
	f, err := r.rights.Create(path, replace)
	if err != nil {
		return err
	}
	defer f.Discard()
	if _, err := f.WriteString("new"); err != nil {
		return err
	}
	return f.Commit()
}

// bothWays runs a test on a file system that has files without a name, and on one that has not.
func bothWays(t *testing.T, test func(*rig)) {
	for _, named := range []bool{false, true} {
		t.Run(fmt.Sprintf("named %v", named), func(t *testing.T) {
			noUnnamed = named
			defer func() { noUnnamed = false }()
			r := newRig(t)
			test(r)
			r.unharmed()
			r.nothingLeft()
		})
	}
}
