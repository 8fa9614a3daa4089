package deaths

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestReportsOutliveTheAgent: another agent has the reports again, as they were, from files that only this user may
// read; those that are no longer kept are removed.
func TestReportsOutliveTheAgent(t *testing.T) {
	c := config(t)
	k := keeper(t, c)
	k.Death(killed(1000, podA, "a.ipynb", time.Now().Add(-time.Hour)))
	k.Death(killed(1000, podA, "b.ipynb", time.Now()))
	want := k.currentReports()
	if err := k.folder.sync(want); err != nil {
		t.Fatal(err)
	}
	again := keeper(t, c)
	got := again.currentReports()
	for i := range want {
		a, _ := json.Marshal(want[i])
		b, _ := json.Marshal(got[i])
		if string(a) != string(b) {
			t.Errorf("%s\n%s", a, b)
		}
	}
	names, err := os.ReadDir(c.Folder)
	if err != nil || len(names) != 2 {
		t.Fatal(names, err)
	}
	for _, n := range names {
		if at, err := n.Info(); err != nil || at.Mode() != 0o600 {
			t.Error(at.Mode(), err)
		}
	}
	if at, err := os.Stat(c.Folder); err != nil || at.Mode().Perm() != 0o700 {
		t.Error(at.Mode(), err)
	}
	if err := again.folder.sync(got[1:]); err != nil {
		t.Fatal(err)
	}
	if names, _ := os.ReadDir(c.Folder); len(names) != 1 || names[0].Name() != got[1].ID+".json" {
		t.Error(names)
	}
}

// TestStrangersInTheFolder: links, other names' files, files that others could write, and files that are no reports are
// none, and nothing is written through them.
func TestStrangersInTheFolder(t *testing.T) {
	c := config(t)
	k := keeper(t, c)
	k.Death(killed(1000, podA, "a.ipynb", time.Now()))
	if err := k.folder.sync(k.currentReports()); err != nil {
		t.Fatal(err)
	}
	good := k.currentReports()[0]
	at := func(name string) string { return filepath.Join(c.Folder, name) }
	text, err := os.ReadFile(at(good.ID + ".json"))
	if err != nil {
		t.Fatal(err)
	}
	named := func(id string) []byte { return []byte(strings.Replace(string(text), good.ID, id, 1)) }
	outside := filepath.Join(t.TempDir(), "outside")
	for _, err := range []error{
		os.WriteFile(outside, named("1111111111111111"), 0o600),
		os.Symlink(outside, at("1111111111111111.json")),
		os.WriteFile(at("2222222222222222.json"), named("2222222222222222"), 0o644),
		os.WriteFile(at("3333333333333333.json"), named("4444444444444444"), 0o600),
		os.WriteFile(at("5555555555555555.json"), []byte("{"), 0o600),
		os.WriteFile(at("6666666666666666.json"), make([]byte, maxReport+10), 0o600),
		unix.Mkfifo(at("7777777777777777.json"), 0o600),
		os.Mkdir(at("8888888888888888.json"), 0o700),
		os.WriteFile(at("notes.txt"), text, 0o600),
		os.WriteFile(at("."+good.ID+".tmp"), text[:9], 0o600),
		os.WriteFile(at("9999999999999999.json"), named("9999999999999999"), 0o600),
		os.Link(at("9999999999999999.json"), at("hard")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(at("2222222222222222.json"), 0o644); err != nil {
		t.Fatal(err)
	}
	again := keeper(t, c)
	if all := again.currentReports(); len(all) != 1 || all[0].ID != good.ID {
		t.Errorf("%d reports", len(all))
	}
	if _, err := os.Lstat(at("." + good.ID + ".tmp")); err == nil {
		t.Error("a half-written report stays")
	}
	writesThroughNoLink(t, again, at(good.ID+".json"), outside)
}

// writesThroughNoLink puts a link in the place of a report that is then written.
func writesThroughNoLink(t *testing.T, again *Keeper, report, outside string) {
	t.Helper()
	if err := os.Remove(report); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, report); err != nil {
		t.Fatal(err)
	}
	before, _ := os.ReadFile(outside)
	again.shelf.mark(0, true)
	if err := again.folder.sync(again.currentReports()); err != nil {
		t.Fatal(err)
	}
	if after, _ := os.ReadFile(outside); string(after) != string(before) {
		t.Error("a link was written through")
	}
	if st, err := os.Lstat(report); err != nil || !st.Mode().IsRegular() {
		t.Error(st, err)
	}
}

// TestUnusableFolders: a folder that is a link, or that others may write to, is not used: reports stay in memory.
func TestUnusableFolders(t *testing.T) {
	dir := t.TempDir()
	open, link, file := filepath.Join(dir, "open"), filepath.Join(dir, "link"), filepath.Join(dir, "file")
	for _, err := range []error{os.Mkdir(open, 0o700), os.Chmod(open, 0o777), os.Symlink(t.TempDir(), link),
		os.WriteFile(file, nil, 0o600)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{open, link, file, filepath.Join(file, "below")} {
		if f, err := openFolder(path); err == nil {
			f.close()
			t.Errorf("%s is used", path)
		}
	}
}

// TestFullDisk: where a report cannot be written, nothing half-written stays, and it is written once there is room.
func TestFullDisk(t *testing.T) {
	c := config(t)
	k := keeper(t, c)
	k.Death(killed(1000, podA, "a.ipynb", time.Now()))
	all := k.currentReports()
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	full := before
	full.Cur = 100 // a write of more stops there, as on a full disk (EFBIG)
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &full); err != nil {
		t.Fatal(err)
	}
	err := k.folder.sync(all)
	if err2 := unix.Setrlimit(unix.RLIMIT_FSIZE, &before); err2 != nil {
		t.Fatal(err2)
	}
	if err == nil {
		t.Fatal("it was written")
	}
	if names, err := os.ReadDir(c.Folder); err != nil || len(names) != 0 {
		t.Error(names, err)
	}
	if err := k.folder.sync(all); err != nil || len(keeper(t, c).currentReports()) != 1 {
		t.Error(err)
	}
}

// TestRoomAgain: a report that could not be written, as the folder could not be made or the disk was full, is written
// once that is over, without another death.
func TestRoomAgain(t *testing.T) {
	c := config(t)
	blocked := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c.Folder = filepath.Join(blocked, "deaths")
	t.Run("folder", func(t *testing.T) {
		writesAgain(t, c, func() error { return nil }, func() error { return os.Remove(blocked) })
	})
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	full := before
	full.Cur = 100 // a write of more stops there, as on a full disk (EFBIG)
	t.Run("disk", func(t *testing.T) {
		writesAgain(t, config(t), func() error { return unix.Setrlimit(unix.RLIMIT_FSIZE, &full) },
			func() error { return unix.Setrlimit(unix.RLIMIT_FSIZE, &before) })
	})
}

// said is a log that hands on its lines.
type said chan string

func (s said) Write(line []byte) (int, error) {
	s <- string(line)
	return len(line), nil
}

// writesAgain checks that a keeper that cannot write a report says so, and writes it once there is room.
func writesAgain(t *testing.T, c *Config, fill, room func() error) {
	t.Helper()
	log := make(said, 16)
	k := New(Options{Config: func() *Config { return c }, Log: slog.New(slog.NewTextHandler(log, nil))})
	k.retry = 10 * time.Millisecond
	err := fill()
	ctx, stop := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() { k.runWriter(ctx); close(over) }()
	k.Death(killed(1000, podA, "a.ipynb", time.Now()))
	first := <-log
	if err2 := room(); err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	then := <-log
	if !strings.Contains(first, "in memory only for now") || !strings.Contains(then, "written again") {
		t.Errorf("%s%s", first, then)
	}
	if names, _ := filepath.Glob(filepath.Join(c.Folder, "*.json")); len(names) != 1 {
		t.Errorf("%q", names)
	}
	stop()
	<-over
	if len(log) > 0 {
		t.Errorf("one more line: %s", <-log)
	}
}
