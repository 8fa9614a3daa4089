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
	return upTo(strings.TrimLeft(text, "%"), " \t\r\n"), strings.HasPrefix(text, "%%")
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

// words takes each word of a text that is no Python as a name that is read.
func (n *namer) words(text string) {
	for i := 0; i < len(text); {
		size := wordLength(text[i:])
		if size == 0 || i > 0 && isDigit(text[i-1]) && !isWord(text[i]) {
			i++
			continue
		}
		if word := text[i : i+size]; !keywords[word] {
			n.read(word, Use{How: Argument})
		}
		i += size
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
			n.words(a.Value)
		}
	case *JoinedStr:
		for _, value := range a.Values {
			if text, ok := value.(*Constant); ok {
				n.words(text.Value)
			}
		}
	default:
		n.dynamic(false)
	}
}
