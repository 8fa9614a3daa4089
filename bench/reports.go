package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"os"
	"strings"

	"ipytracer/event"
	"ipytracer/event/recording"
)

const reportMemory = "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE"

type cell struct {
	Source string         `json:"source"`
	Raised bool           `json:"raised"`
	Truth  [4]event.Bytes `json:"truth"` // allocated, most allocated, reserved, most reserved

	from, to uint64 // its segments
	rows     [][]any
}

// reports reads one of the program's recordings, in which each block is streamed. It prints a recording in the format
// of testdata/gpu/replay/recordings.py that has only the reports of PyTorch's allocator.
func reports(arguments []string) {
	if len(arguments) != 2 {
		log.Fatal("usage: bench reports NAME FILE.arrows > NAME.jsonl")
	}
	check(convert(arguments[0], arguments[1]))
}

func convert(name, path string) error {
	cells, changes, err := read(path)
	if err != nil {
		return err
	}
	fill(cells, changes)
	out := bufio.NewWriter(os.Stdout)
	lines := json.NewEncoder(out)
	err = lines.Encode(map[string]any{"recording": name, "libraries": []string{"libc10.so"},
		"functions": []string{reportMemory}, "threads": 1, "truth_from": "reports", "cells": cells})
	for _, c := range cells {
		for _, row := range c.rows {
			err = errors.Join(err, lines.Encode(row))
		}
	}
	return errors.Join(err, out.Flush())
}

// read returns the cells of a recording, and the changes of PyTorch's totals on the first GPU.
func read(path string) (cells []*cell, changes []*event.Change, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	r, err := recording.Open(f)
	if err != nil {
		return nil, nil, err
	}
	byCell := map[uint64]*cell{}
	for {
		e, err := r.Next(context.Background())
		if err == io.EOF {
			return cells, changes, nil
		} else if err != nil {
			return nil, nil, err
		}
		switch e := e.(type) {
		case *event.Boundary:
			switch e.Kind {
			case event.CellOpen:
				byCell[e.Cell] = &cell{from: e.Segment}
				cells = append(cells, byCell[e.Cell])
			case event.CellClose:
				byCell[e.Cell].to = e.Segment
				byCell[e.Cell].Raised = false // only the reports are played, not the errors
			}
		case *event.CellSource:
			first, _, _ := strings.Cut(e.Text, "\n")
			byCell[e.Cell].Source = first
		case *event.Change:
			if e.Meter == event.OfDevice(0, event.Active) || e.Meter == event.OfDevice(0, event.Reserved) {
				changes = append(changes, e)
			}
		}
	}
}

// fill gives cells their reports: one for each block, with the totals after it. It drops the threads and numbers the
// addresses.
func fill(cells []*cell, changes []*event.Change) {
	var active, reserved event.Bytes
	numbers := map[uint64]uint64{}
	for step, c := range cells {
		c.Truth = [4]event.Bytes{active, active, reserved, reserved}
		for len(changes) > 0 && changes[0].Segment <= c.to {
			change := changes[0]
			changes = changes[1:]
			if change.Meter == event.OfDevice(0, event.Reserved) {
				reserved = change.Value
				if n := len(c.rows); n > 0 { // it came with the block before
					c.rows[n-1][3].([]uint64)[3] = uint64(reserved)
				}
				c.Truth[2], c.Truth[3] = reserved, max(c.Truth[3], reserved)
				continue
			}
			if !change.Block || change.Learned {
				continue
			}
			active = change.Value
			if _, known := numbers[change.Address]; !known {
				numbers[change.Address] = uint64(len(numbers)+1) << 9
			}
			const gpu0 = 1 // the type in the lowest byte, the index in the next
			address, size := numbers[change.Address], uint64(change.Size)
			arguments := []uint64{address, size, uint64(active), uint64(reserved), gpu0, 0}
			c.rows = append(c.rows, []any{step + 1, 0, 0, arguments})
			c.Truth = [4]event.Bytes{active, max(c.Truth[1], active), reserved, max(c.Truth[3], reserved)}
		}
	}
}
