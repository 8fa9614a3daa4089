package syntax

import "strings"

// foreignCells has the cell magics whose cell is no Python.
var foreignCells = set("bash sh script html HTML javascript js latex markdown svg SVG perl ruby pypy python python2 " +
	"python3 writefile file cmd system sx")

// calmLines has the line magics that read only the names in their arguments.
var calmLines = set("matplotlib config load_ext reload_ext unload_ext autoreload cd pwd ls ll env set_env pip conda " +
	"mamba micromamba uv time timeit prun memit mprun lprun tracer precision pprint history hist " +
	"lsmagic magic quickref alias unalias alias_magic bookmark dhist dirs pushd popd mkdir rmdir cat " +
	"cp mv rm less more man colors xmode gui system sx pinfo pinfo2 pdoc psource pfile pdef psearch " +
	"pycat page doctest_mode automagic rehashx tb pdb watermark tensorboard logstart logstop logstate " +
	"logon logoff killbgscripts save notebook code_wrap subshell")

// magicName returns the name of the magic in a text, and whether it is a cell magic; "" for a text without a magic.
func magicName(text string) (name string, ofCell bool) {
	if !strings.HasPrefix(text, "%") || strings.HasSuffix(text, "?") {
		return "", false
	}
	return upTo(strings.TrimLeft(text, "%"), " \t\r\n"), strings.HasPrefix(text, "%%")
}

// Name returns the name of the magic, without percent signs; "" for !command and for help with ?.
func (m *Magic) Name() string {
	name, _ := magicName(m.Text)
	return name
}

// cellName returns the name of a cell magic, "" for another text.
func cellName(text string) string {
	if name, ofCell := magicName(text); ofCell {
		return name
	}
	return ""
}

// readWords notes each word of a text that is no Python as a name that is read.
func (n *namer) readWords(text string) {
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

// queries has functions and methods that read the names in a string argument.
var queries = set("query eval evaluate sql execute")

// implicitReads notes the names that a call reads although they are not names in the call's source. last is the last
// part of the function's name.
func (n *namer) implicitReads(e *Call, last string) {
	switch {
	case last == "exec":
		n.noteDynamic(true)
	case last == "get_ipython", last == "globals", last == "_getframe", last == "currentframe":
		n.noteDynamic(true)
	case (last == "locals" || last == "vars" || last == "dir") && len(e.Args) == 0:
		if n.scope.binder().kind != functionScope { // in a function they have its locals
			n.noteDynamic(true)
		}
	case queries[last]:
		for _, arg := range e.Args {
			n.readQuery(arg)
		}
		for _, keyword := range e.Keywords {
			if _, ok := keyword.Value.(*Constant); ok {
				n.readQuery(keyword.Value)
			}
		}
	}
}

// readQuery notes the words of a string as names that are read. An argument that is no literal may have any name.
func (n *namer) readQuery(arg Expr) {
	switch a := arg.(type) {
	case *Constant:
		if a.Kind == "str" {
			n.readWords(a.Value)
		}
	case *JoinedStr:
		for _, value := range a.Values {
			if text, ok := value.(*Constant); ok {
				n.readWords(text.Value)
			}
		}
	default:
		n.noteDynamic(false)
	}
}
