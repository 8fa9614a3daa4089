package serving

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestFolder: the socket is only made where no other user could have made it.
func TestFolder(t *testing.T) {
	dir := t.TempDir()
	good, link, open := filepath.Join(dir, "good"), filepath.Join(dir, "link"), filepath.Join(dir, "open")
	for _, err := range []error{os.Mkdir(good, 0o755), os.Symlink(good, link), os.Mkdir(open, 0o777),
		os.Chmod(open, 0o777)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, folder := range []string{link, open, filepath.Join(good, "no", "such")} {
		if l, err := Listen(folder); err == nil {
			l.Close()
			t.Errorf("a socket in %s", folder)
		}
	}
	// a link that root has put there itself
	if err := os.Symlink("/etc/passwd", filepath.Join(good, SocketName)); err != nil {
		t.Fatal(err)
	}
	l, err := Listen(good)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(filepath.Join(good, SocketName))
	if err != nil || info.Mode() != os.ModeSocket|0o666 {
		t.Errorf("%v: %v", info.Mode(), err)
	}
	if _, err := Listen(good); !errors.Is(err, ErrServed) {
		t.Errorf("a second server: %v", err)
	}
	l.close() // as one that is killed: the socket stays
	if l, err = Listen(good); err != nil {
		t.Fatal("what a server has left is in the way: ", err)
	}
	l.Close()
	if _, err := os.Lstat(filepath.Join(good, SocketName)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is left: %v", err)
	}
	if os.Geteuid() == 0 {
		if err := os.Chown(good, 65534, 65534); err != nil {
			t.Fatal(err)
		}
		if _, err := Listen(good); !errors.Is(err, ErrFolder) {
			t.Errorf("in another user's folder: %v", err)
		}
	}
}

// TestListensOnceItIsThere: whoever sees the socket's file can connect.
func TestListensOnceItIsThere(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, SocketName)
	tried := 0
	for range 300 {
		ended := make(chan error)
		stop := make(chan struct{})
		go func() {
			var st unix.Stat_t
			for {
				if unix.Lstat(path, &st) == nil {
					break
				}
				select {
				case <-stop:
					ended <- nil
					return
				default:
				}
			}
			fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
			if err == nil {
				err = unix.Connect(fd, &unix.SockaddrUnix{Name: path})
				unix.Close(fd)
				tried++
			}
			ended <- err
		}()
		l, err := Listen(folder)
		if err != nil {
			t.Fatal(err)
		}
		close(stop)
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		l.Close()
	}
	if tried == 0 {
		t.Error("it was never tried")
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// TestOneServer: of servers that begin at the same time one is there, and the others fail with that reason.
func TestOneServer(t *testing.T) {
	folder := t.TempDir()
	const many = 8
	begun := make(chan *Listener, many)
	for range many {
		go func() {
			l, err := Listen(folder)
			if err != nil && !errors.Is(err, ErrServed) {
				t.Error(err)
			}
			begun <- l
		}()
	}
	served := 0
	for range many {
		if l := <-begun; l != nil {
			served++
			defer l.Close()
		}
	}
	if served != 1 {
		t.Errorf("%d servers", served)
	}
}
