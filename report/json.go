package report

import (
	"bufio"
	"fmt"
	"io"
	"iter"
	"reflect"
	"strings"

	"ipytracer/model"
)

// JSON writes the report as one JSON object that follows its schema in [Schemas], with a line for each item of its
// lists. It keeps one window at a time in memory, and the tables of frames and stacks, which it writes last. Equal
// reports give equal bytes: the members of maps are sorted, and an empty list or map is [] or {}, never null. Strings
// keep every character of the target; those that a terminal could act on are written as \u escapes.
func JSON(w io.Writer, report *model.Report) error {
	session := complete(report)
	return newDocument(w).write(reflect.ValueOf(session).Elem(), map[string]iter.Seq[any]{
		"windows": func(yield func(any) bool) {
			for window := range report.AllPassing() {
				if report.Detail != nil {
					report.Detail(window)
				}
				if !yield(window) {
					return
				}
			}
		},
		"between": func(yield func(any) bool) {
			for between := range report.AllBetweenPassing() {
				if !yield(between) {
					return
				}
			}
		},
		"timeline": func(yield func(any) bool) {
			for track := range report.AllTimeline() {
				if !yield(track) {
					return
				}
			}
		},
	}, "report")
}

// document is an unfinished JSON object.
type document struct {
	to *bufio.Writer
	encoder
	members int // written so far
}

func newDocument(w io.Writer) *document {
	return &document{to: bufio.NewWriterSize(w, 64<<10), encoder: encoder{tables: newTables()}}
}

// write writes the fields of a struct, the tables of stacks and frames, and the end. The items of some lists come from
// streams, by the list's name. what names the object in an error.
func (d *document) write(object reflect.Value, streams map[string]iter.Seq[any], what string) error {
	d.fields(object, streams)
	d.list("stacks", items(d.tables.stacks))
	d.list("frames", items(d.tables.frames))
	return d.end(what)
}

// plain is write for an object without stacks.
func (d *document) plain(object any, what string) error {
	d.fields(reflect.ValueOf(object), nil)
	return d.end(what)
}

// fields writes the beginning of the object and the fields of a struct, lists item by item.
func (d *document) fields(object reflect.Value, streams map[string]iter.Seq[any]) {
	d.put([]byte("{"))
	for i := range object.NumField() {
		name, omit := jsonName(object.Type().Field(i))
		field := object.Field(i)
		switch {
		case name == "":
		case streams[name] != nil:
			d.list(name, streams[name])
		case field.Kind() != reflect.Slice:
			d.member(name)
			d.b = d.b[:0]
			d.any(field.Interface())
			d.put(d.b)
		case field.Len() > 0 || !omit:
			d.list(name, func(yield func(any) bool) {
				for j := range field.Len() {
					if !yield(field.Index(j).Interface()) {
						return
					}
				}
			})
		}
	}
}

// end writes the end of the object, and returns the first error of all writes.
func (d *document) end(what string) error {
	d.put([]byte("\n}\n"))
	if err := d.to.Flush(); err != nil {
		return err
	}
	if d.err != nil {
		return fmt.Errorf("encode %s: %w", what, d.err)
	}
	return nil
}

// items yields pointers to the items of a list.
func items[T any](list []T) iter.Seq[any] {
	return func(yield func(any) bool) {
		for i := range list {
			if !yield(&list[i]) {
				return
			}
		}
	}
}

// jsonName returns a field's name in JSON, "" for none, and whether it is left out if empty.
func jsonName(field reflect.StructField) (name string, omit bool) {
	name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
	if name == "-" {
		return "", false
	}
	return name, options == "omitempty"
}

// member begins a member of the object.
func (d *document) member(name string) {
	if d.members++; d.members > 1 {
		d.put([]byte(","))
	}
	d.put([]byte("\n\"" + name + "\":"))
}

// list writes a member that is a list, with a line for each item. It stops at an error.
func (d *document) list(name string, items iter.Seq[any]) {
	d.member(name)
	d.put([]byte("["))
	count := 0
	for item := range items {
		if d.err != nil {
			return
		}
		d.b = d.b[:0]
		d.raw(comma(count))
		d.raw("\n")
		d.item(item)
		d.put(d.b)
		count++
	}
	if count > 0 {
		d.put([]byte("\n"))
	}
	d.put([]byte("]"))
}

// put writes a text, and keeps the first error.
func (d *document) put(s []byte) {
	if _, err := d.to.Write(s); err != nil && d.err == nil {
		d.err = err
	}
}

// complete copies a report without its windows, names its schema, and makes nil lists and maps empty.
func complete(report *model.Report) *model.Report {
	session := *report
	session.Schema = model.Schema
	session.Processes = list(report.Processes)
	for i := range session.Processes {
		session.Processes[i].Meters = figures(session.Processes[i].Meters)
	}
	session.Meters = list(report.Meters)
	proof := &session.Certificate
	proof.Lost, proof.LateLibraries, proof.Probes = list(proof.Lost), list(proof.LateLibraries), list(proof.Probes)
	proof.Meters, proof.Problems = list(proof.Meters), list(proof.Problems)
	return &session
}

// figures returns m; an empty map for nil.
func figures(m map[string]model.Figure) map[string]model.Figure {
	if m == nil {
		return map[string]model.Figure{}
	}
	return m
}
