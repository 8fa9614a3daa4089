package doors

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// ErrFolder says that others could make a socket in the place of one.
var ErrFolder = errors.New("the folder is a link, not this user's, or others may write to it: " +
	"a socket in it could be anybody's")

// isPath reports whether an address is the path of a Unix socket.
func isPath(address string) bool { return strings.HasPrefix(address, "/") }

// listen listens at an address.
func listen(address string, mode uint32) (net.Listener, error) {
	if isPath(address) {
		return listenUnix(address, mode)
	}
	return (&net.ListenConfig{}).Listen(context.Background(), "tcp", address)
}

// listenUnix makes a Unix socket, in the place of one at which nobody answers any more. The folder has to be this
// user's alone.
func listenUnix(path string, mode uint32) (net.Listener, error) {
	folder := filepath.Dir(path)
	if err := os.Mkdir(folder, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	var st unix.Stat_t
	if err := unix.Lstat(folder, &st); err != nil {
		return nil, fmt.Errorf("look at %s: %w", folder, err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR || int(st.Uid) != os.Geteuid() || st.Mode&0o022 != 0 {
		return nil, fmt.Errorf("%s: %w", folder, ErrFolder)
	}
	if other, err := net.Dial("unix", path); err == nil {
		other.Close()
		return nil, fmt.Errorf("%s: %w", path, unix.EADDRINUSE)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, os.FileMode(mode)); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}
