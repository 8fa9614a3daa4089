package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"ipytracer/tracer/host/confine"
)

// seclude gives up, for good, what printing a recording does not take, once the recording and the place of the report are open: a
// recording may come from anybody. What is left can read and write what is open and put the report in its place, as the user who typed the command.
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

// unlessAbsent takes what a kernel does not have for no error, and tells it to root.
func (s *session) unlessAbsent(err error) error {
	if !errors.Is(err, confine.ErrNoLandlock) && !errors.Is(err, confine.ErrNoFilter) {
		return err
	}
	if os.Getuid() == 0 && !s.options.Quiet {
		fmt.Fprintf(s.console.err, "tracer: %v: the recording is read without that protection\n", err)
	}
	return nil
}
