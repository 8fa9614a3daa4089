package service

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"ipytracer/cmd/tracer/internal/console"
	"ipytracer/internal/host/privileges"
	"ipytracer/internal/serving"
)

// The reports that sessions of a server leave to their users.
const (
	maxReport     = 1 << 20 // bytes; the rest is cut
	maxReports    = 20      // in a folder; the oldest are removed
	keepTimeout   = 5 * time.Second
	reportsFolder = "%h/.local/state/ipytracer" // the default of --reports
	keepCommand   = "keep-report"
)

// keepProgram is the command line that writes a report, without its path.
var keepProgram = []string{"/proc/self/exe", keepCommand}

const cutHere = "\n… the rest is cut: a session of a server leaves at most 1 MiB; " +
	"'sudo tracer attach PID -o FILE' leaves all of it\n"

// reportPlace returns the path for a peer's report; "" if there is no folder, or the user is not in the database, or
// the peer has another root directory, such as in a container: paths and user IDs mean something else there.
func reportPlace(folder string, peer serving.Peer, now time.Time) string {
	if folder == "" || !sameRoot(peer.PID) {
		return ""
	}
	entry, err := user.LookupId(strconv.FormatUint(uint64(peer.UID), 10))
	if err != nil || !filepath.IsAbs(entry.HomeDir) || entry.HomeDir == "/" ||
		strings.ContainsRune(entry.Username, '/') {
		return ""
	}
	folder = strings.NewReplacer("%h", entry.HomeDir, "%u", entry.Username, "%%", "%").Replace(folder)
	return filepath.Join(folder, fmt.Sprintf("%s-%d.txt", now.UTC().Format("20060102-150405"), peer.PID))
}

// sameRoot reports whether a process's root directory is this program's.
func sameRoot(pid int) bool {
	var theirs, ours unix.Stat_t
	if unix.Stat(fmt.Sprintf("/proc/%d/root", pid), &theirs) != nil || unix.Stat("/proc/self/root", &ours) != nil {
		return false
	}
	return theirs.Dev == ours.Dev && theirs.Ino == ours.Ino
}

// checkReports checks the value of --reports, and returns the folder; "" for "off".
func checkReports(folder string) (string, error) {
	if folder == "off" {
		return "", nil
	}
	if !strings.HasPrefix(folder, "/") && !strings.HasPrefix(folder, "%h/") {
		return "", console.Usagef(
			"--reports %q: must be 'off', or a folder that begins with / or %%h/ (the user's home; "+
				"%%u: the user's name)", folder)
	}
	return folder, nil
}

// reportOutput takes a session's report from its standard output, until the report is stored.
type reportOutput struct {
	mu     sync.Mutex
	text   bytes.Buffer
	cut    bool        // the report is longer than text
	keeper *os.Process // the process that stores the report, while it runs
}

func (l *reportOutput) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	room := maxReport - l.text.Len()
	l.text.Write(p[:min(len(p), room)])
	l.cut = l.cut || len(p) > room
	return len(p), nil
}

// kill ends the process that stores the report.
func (l *reportOutput) kill() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.keeper != nil {
		_ = l.keeper.Kill()
	}
}

// store stores the report at a path, by a process that runs as the peer's user and has no other rights. It kills that
// process if it takes longer than keepTimeout: the path may be on a file system that does not answer.
func (l *reportOutput) store(log *slog.Logger, peer serving.Peer, path string) {
	l.mu.Lock()
	text := bytes.Clone(l.text.Bytes())
	if l.cut {
		text = append(bytes.ToValidUTF8(text, nil), cutHere...)
	}
	l.text = bytes.Buffer{}
	l.mu.Unlock()
	if len(text) == 0 || path == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), keepTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, keepProgram[0], append(slices.Clone(keepProgram[1:]), path)...)
	errs := &console.Tail{}
	cmd.Env, cmd.Dir, cmd.Stdin, cmd.Stderr = []string{"LANG=C.UTF-8"}, "/", bytes.NewReader(text), errs
	cmd.WaitDelay = time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: credentialOf(peer)}
	l.mu.Lock()
	err := cmd.Start()
	l.keeper = cmd.Process
	l.mu.Unlock()
	if err == nil {
		err = cmd.Wait()
		l.mu.Lock()
		l.keeper = nil
		l.mu.Unlock()
	}
	if err != nil {
		log.Warn("a session's report could not be left to its user", "pid", peer.PID, "uid", peer.UID, "path", path,
			"error", err, "said", errs.Text())
	}
}

// credentialOf returns the peer's user, with the groups in the database.
func credentialOf(peer serving.Peer) *syscall.Credential {
	credential := &syscall.Credential{Uid: peer.UID, Gid: peer.GID}
	entry, err := user.LookupId(strconv.FormatUint(uint64(peer.UID), 10))
	if err != nil {
		return credential
	}
	ids, _ := entry.GroupIds()
	for _, id := range ids {
		if n, err := strconv.ParseUint(id, 10, 32); err == nil {
			credential.Groups = append(credential.Groups, uint32(n))
		}
	}
	return credential
}

// newKeepCommand returns the command that stores its standard input as a report, as the user who gets the report.
func newKeepCommand(c console.Console) *cobra.Command {
	return console.Hidden(keepCommand+" PATH", "Keep the report of a session; started by tracer itself",
		cobra.ExactArgs(1),
		func(_ *cobra.Command, args []string) error {
			if err := privileges.NoNewPrivileges(); err != nil {
				return err
			}
			return keepReport(c.In, args[0])
		})
}

func keepReport(from io.Reader, path string) error {
	self, err := privileges.Self()
	if err != nil {
		return err
	}
	rights, err := privileges.RightsOf(self)
	if err != nil {
		return err
	}
	defer rights.Close()
	folder, err := rights.MakeFolder(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer folder.Close()
	if err := folder.Thin(maxReports-1, isReportName); err != nil {
		return err
	}
	f, err := rights.Create(path, false)
	if err != nil {
		return err
	}
	defer f.Discard()
	if _, err := io.Copy(f, io.LimitReader(from, maxReport+int64(len(cutHere)))); err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Commit())
}

// isReportName reports whether a file's name is one of [reportPlace]: DATE-TIME-PID.txt.
func isReportName(name string) bool {
	rest, isText := strings.CutSuffix(name, ".txt")
	parts := strings.Split(rest, "-")
	if !isText || len(parts) != 3 {
		return false
	}
	_, timeErr := time.Parse("20060102 150405", parts[0]+" "+parts[1])
	pid, pidErr := strconv.ParseUint(parts[2], 10, 31)
	return timeErr == nil && pidErr == nil && pid > 0
}
