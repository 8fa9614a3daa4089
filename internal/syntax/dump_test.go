package syntax_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os/exec"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ipytracer/internal/syntax"
)

// dumper prints trees as testdata/dump.py does.
type dumper struct {
	out   bytes.Buffer
	blind bool // leave out positions inside f-strings, as Pythons before 3.12
	skip  int
}

func dump(module *syntax.Module, blind bool) string {
	d := &dumper{blind: blind}
	d.field(0, "Module", reflect.ValueOf(module.Body))
	return d.out.String()
}

func (d *dumper) line(depth int, words ...string) {
	d.out.WriteString(strings.Repeat(" ", depth))
	d.out.WriteString(strings.Join(words, " "))
	d.out.WriteByte('\n')
}

func (d *dumper) field(depth int, name string, value reflect.Value) {
	if value.IsZero() || value.Kind() == reflect.Slice && value.Len() == 0 {
		return
	}
	switch value.Kind() {
	case reflect.String:
		d.line(depth, name, quote(value.String()))
	case reflect.Bool:
		d.line(depth, name, "true")
	case reflect.Int:
		d.line(depth, name, strconv.FormatInt(value.Int(), 10))
	case reflect.Slice:
		d.line(depth, name)
		if name == "Binds" {
			names := value.Interface().([]string)
			names = slices.Clone(names)
			slices.Sort(names)
			value = reflect.ValueOf(names)
		}
		for i := range value.Len() {
			d.one(depth+1, value.Index(i))
		}
	default:
		d.line(depth, name)
		d.one(depth+1, value)
	}
}

func (d *dumper) one(depth int, value reflect.Value) {
	if value.Kind() == reflect.Interface {
		value = value.Elem()
	}
	switch {
	case !value.IsValid() || value.IsZero():
		d.line(depth, "-")
	case value.Kind() == reflect.String:
		d.line(depth, quote(value.String()))
	default:
		d.node(depth, value.Interface().(syntax.Node), value.Elem())
	}
}

func (d *dumper) node(depth int, node syntax.Node, value reflect.Value) {
	name := value.Type().Name()
	place := ""
	switch node.(type) {
	case *syntax.Comprehension, *syntax.WithItem, *syntax.MatchCase, *syntax.Arguments, *syntax.Alias:
	default:
		at := node.Place()
		place = fmt.Sprintf(" %d:%d-%d:%d", at.Start.Line, at.Start.Col, at.End.Line, at.End.Col)
	}
	if d.skip > 0 {
		place = ""
	}
	d.line(depth, name+place)
	hidden := d.blind && name == "JoinedStr"
	if hidden {
		d.skip++
	}
	for i := range value.NumField() {
		field := value.Type().Field(i).Name
		if field == "Span" || field == "Text" && d.skip > 0 {
			continue
		}
		d.field(depth+1, field, value.Field(i))
	}
	if hidden {
		d.skip--
	}
}

func quote(text string) string {
	var out strings.Builder
	out.WriteByte('\'')
	for i := range len(text) {
		if c := text[i]; c >= 0x30 && c < 0x7f {
			out.WriteByte(c)
		} else {
			fmt.Fprintf(&out, "%%%02x", c)
		}
	}
	out.WriteByte('\'')
	return out.String()
}

// eachTree has a Python dump files, and hands each of their trees on: a text that begins with ! where it refuses one.
// Blind trees lack positions inside f-strings.
func eachTree(t *testing.T, python, paths []string, each func(path, tree string, blind bool)) {
	t.Helper()
	command := exec.Command(python[0], append(python[1:], "testdata/dump.py")...)
	command.Stdin = strings.NewReader(strings.Join(paths, "\n"))
	var failed bytes.Buffer
	command.Stderr = &failed
	pipe, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(pipe)
	version, err := in.ReadString('\n')
	if err != nil {
		t.Fatalf("read from %v: %v\n%s", python, err, failed.String())
	}
	blind := strings.TrimSpace(version) == "blind"
	for range paths {
		path, err := in.ReadString('\n')
		if err != nil {
			t.Fatalf("read from %v: %v\n%s", python, err, failed.String())
		}
		size, _ := in.ReadString('\n')
		n, err := strconv.Atoi(strings.TrimSpace(size))
		if err != nil {
			t.Fatal(err)
		}
		tree := make([]byte, n+1)
		if _, err := io.ReadFull(in, tree); err != nil {
			t.Fatal(err)
		}
		each(strings.TrimSuffix(path, "\n"), string(tree[:n]), blind)
	}
	if err := command.Wait(); err != nil {
		t.Fatalf("%v: %v\n%s", python, err, failed.String())
	}
}
