package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"ipytracer/internal/host/confine"
)

// seclude gives up, for good, all rights that printing a recording does not need, once the recording and the place of
// the report are open: a recording may come from any source. The program can still read and write open files, and move
// the report to its place, as the invoking user.
func (s *session) seclude() error {
	_, _ = time.Now().Zone() // the time zone is read while files can be
	var err error
	if override(s.to.file) {
		err = confine.KeepCapabilities(unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER)
	} else if u := s.who.Heir(); u != nil {
		err = confine.Become(u.UID, u.GID, u.Groups)
	} else {
		err = confine.KeepCapabilities()
	}
	if err != nil {
		return err
	}
	var paths confine.Paths
	rules := confine.Program()
	if s.to.file != nil {
		paths.Make = append(paths.Make, s.to.file.Folder())
		rules = slices.Concat(rules, confine.Making())
	}
	return errors.Join(s.unlessAbsent(confine.OnlyPaths(paths)), s.unlessAbsent(confine.Allow(rules)))
}

// unlessAbsent drops the error of a feature that the kernel lacks, and reports it to root.
func (s *session) unlessAbsent(err error) error {
	if !errors.Is(err, confine.ErrNoLandlock) && !errors.Is(err, confine.ErrNoFilter) {
		return err
	}
	if os.Getuid() == 0 && !s.options.Quiet {
		fmt.Fprintf(s.console.err, "tracer: %v: the recording is read without that protection\n", err)
	}
	return nil
}
