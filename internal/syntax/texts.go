package syntax

import "strings"

// foreign are the cell magics whose cell is no Python.
var foreign = set("bash sh script html HTML javascript js latex markdown svg SVG perl ruby pypy python python2 " +
	"python3 writefile file cmd system sx")

// calm are the line magics that read no name that they are not given.
var calm = set("matplotlib config load_ext reload_ext unload_ext autoreload cd pwd ls ll env set_env pip conda " +
	"mamba micromamba uv time timeit prun memit mprun lprun tracer precision pprint history hist " +
	"lsmagic magic quickref alias unalias alias_magic bookmark dhist dirs pushd popd mkdir rmdir cat " +
	"cp mv rm less more man colors xmode gui system sx pinfo pinfo2 pdoc psource pfile pdef psearch " +
	"pycat page doctest_mode automagic rehashx tb pdb watermark tensorboard logstart logstop logstate " +
	"logon logoff killbgscripts save notebook code_wrap subshell")

// magicName returns the name of the magic in a line, and whether it is one of a cell; "" for a line without a magic.
func magicName(text string) (name string, ofCell bool) {
	if !strings.HasPrefix(text, "%") || strings.HasSuffix(text, "?") {
		return "", false
	}
	name = strings.TrimLeft(text, "%")
	ofCell = strings.HasPrefix(text, "%%")
	if end := strings.IndexAny(name, " \t\r\n"); end >= 0 {
		name = name[:end]
	}
	return name, ofCell
}

// Name returns the name of the magic, without percent signs; "" for a line that is none.
func (m *Magic) Name() string {
	name, _ := magicName(m.Text)
	return name
}

// cellName returns the name of a magic of a cell; "" for another line.
func cellName(text string) string {
	if name, ofCell := magicName(text); ofCell {
		return name
	}
	return ""
}

func (n *namer) dynamic(binds bool) {
	if n.function == nil {
		n.uses.Dynamic = true
	}
	if binds {
		n.uses.BindsAny = true
	}
}

func (n *namer) magic(m *Magic) {
	name, ofCell := magicName(m.Text)
	code := len(m.Text)
	if m.Body != nil {
		code = min(code, m.Body[0].Place().Start.Offset-m.Start.Offset)
	}
	options := m.Text[:code]
	switch {
	case name == "":
	case ofCell && name == "capture":
		captured(m, n)
		return
	case ofCell && pythonCells[name], !ofCell && calm[name]:
	case ofCell && foreign[name]:
		if strings.Contains(options, "--out") || strings.Contains(options, "--err") {
			n.uses.BindsAny = true
		}
	default:
		n.dynamic(true)
	}
	n.words(options, m.Start)
	if name == "timeit" {
		n.timed(m.Body)
	} else {
		n.stmts(m.Body)
	}
}

// captured binds the name that %%capture gives to the output.
func captured(m *Magic, n *namer) {
	for _, word := range strings.Fields(m.Text)[1:] {
		if wordLength(word) == len(word) {
			n.bind(word, m.Span, Magical)
		}
	}
}

// timed goes through statements that %timeit runs, as the body of a function, at once.
func (n *namer) timed(body []Stmt) {
	nodes := make([]Node, len(body))
	for i, s := range body {
		nodes[i] = s
	}
	n.inner(functionOf(n.scope, nil, nodes...), func() { n.stmts(body) })
}

// words takes each word of a text that is no Python as a name that is read.
func (n *namer) words(text string, at Pos) {
	for i := 0; i < len(text); {
		size := wordLength(text[i:])
		if size == 0 || i > 0 && isDigit(text[i-1]) && size > 0 && !isWord(text[i]) {
			if text[i] == '\n' {
				at.Line, at.Col = at.Line+1, -1
			}
			at.Col, at.Offset, i = at.Col+1, at.Offset+1, i+1
			continue
		}
		end := Pos{Line: at.Line, Col: at.Col + size, Offset: at.Offset + size}
		if word := text[i : i+size]; !keywords[word] {
			n.read(word, Span{Start: at, End: end}, Use{How: Argument})
		}
		at, i = end, i+size
	}
}

// queries are functions, and methods, that read the names in a string that they get.
var queries = set("query eval evaluate sql execute")

// named notes the names that a call reads without their being in its source as names.
func (n *namer) named(e *Call, last string) {
	switch {
	case last == "exec":
		n.dynamic(true)
	case last == "get_ipython", last == "globals", last == "_getframe", last == "currentframe":
		n.dynamic(true)
	case (last == "locals" || last == "vars" || last == "dir") && len(e.Args) == 0:
		if n.scope.binder().kind != functionScope {
			n.dynamic(true)
		}
	case queries[last]:
		for _, arg := range e.Args {
			n.query(arg)
		}
		for _, keyword := range e.Keywords {
			if _, ok := keyword.Value.(*Constant); ok {
				n.query(keyword.Value)
			}
		}
	}
}

// query takes the words of a string as names that are read. In another value any name may be.
func (n *namer) query(arg Expr) {
	switch a := arg.(type) {
	case *Constant:
		if a.Kind == "str" {
			n.queryWords(a)
		}
	case *JoinedStr:
		for _, value := range a.Values {
			if text, ok := value.(*Constant); ok {
				n.queryWords(text)
			}
		}
	default:
		n.dynamic(false)
	}
}

func (n *namer) queryWords(text *Constant) {
	start := len(n.uses.Reads)
	n.words(text.Value, text.Start)
	for i := range n.uses.Reads[start:] {
		n.uses.Reads[start+i].Span = text.Span
	}
}
