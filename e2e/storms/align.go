package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/cilium/ebpf/link"
)

//go:generate go tool bpf2go -go-package main -target amd64,arm64 -cc clang -strip llvm-strip align c/align.bpf.c -- -O2 -mcpu=v3 -Wall -Werror -I/usr/include/x86_64-linux-gnu

// aligned delays threads that end, fork or execute a program, so that they do so at the same time, until it is closed
// (c/align.bpf.c).
type aligned struct {
	objects alignObjects
	links   []link.Link
}

// align attaches the delays to threads whose names begin with one of names: at most 4, of which the first 8 bytes
// count. meeting is the time between the instants at which threads meet. Attach the tracer later, because programs at a
// tracepoint run in the order in which they were attached.
func align(meeting time.Duration, names []string) (_ *aligned, err error) {
	spec, err := loadAlign()
	if err != nil {
		return nil, err
	}
	var name, mask [4]uint64
	if len(names) > len(name) {
		return nil, fmt.Errorf("%d names, there is room for %d", len(names), len(name))
	}
	for i, n := range names {
		var bytes, bits [8]byte
		for j := range copy(bytes[:], n) {
			bits[j] = 0xff
		}
		name[i], mask[i] = binary.NativeEndian.Uint64(bytes[:]), binary.NativeEndian.Uint64(bits[:])
	}
	for of, value := range map[string]any{"name": name, "mask": mask, "meeting": uint64(meeting.Nanoseconds())} {
		if err := spec.Variables[of].Set(value); err != nil {
			return nil, fmt.Errorf("set %s: %w", of, err)
		}
	}
	a := &aligned{}
	if err := spec.LoadAndAssign(&a.objects, nil); err != nil {
		return nil, fmt.Errorf("load align: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.Close())
		}
	}()
	for _, o := range []link.RawTracepointOptions{
		{Name: "sched_process_fork", Program: a.objects.AtFork},
		{Name: "sched_process_exec", Program: a.objects.AtExec},
		{Name: "sched_process_exit", Program: a.objects.AtExit},
		{Name: "rss_stat", Program: a.objects.AtRss},
		{Name: "mmap_lock_released", Program: a.objects.AtLock},
	} {
		l, err := link.AttachRawTracepoint(o)
		if err != nil {
			return nil, fmt.Errorf("attach align to %s: %w", o.Name, err)
		}
		a.links = append(a.links, l)
	}
	return a, nil
}

// waits returns the number of waits of threads that ended, forked or executed a program.
func (a *aligned) waits() (n uint64, err error) {
	err = a.objects.Waits.Get(&n)
	return n, err
}

// Close ends the delays.
func (a *aligned) Close() error {
	var errs []error
	for _, l := range a.links {
		errs = append(errs, l.Close())
	}
	return errors.Join(append(errs, a.objects.Close())...)
}
