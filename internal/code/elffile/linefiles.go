package elffile

import "path"

// maxFiles is how many directories, and how many files, of a line program are read.
const maxFiles = 1 << 16

// fileName returns the name of a line program's file by its index. A relative name gets its directory, as far as the
// section has it. fileName returns "" if there is no such file.
func (p *lineProgram) fileName(index uint64) string {
	r := p.names
	if p.version == 5 {
		directories, files := p.list(&r), p.list(&r)
		if index >= uint64(len(files)) {
			return ""
		}
		f := files[index]
		var directory, base string
		if len(directories) > 0 {
			base = directories[0].name.text()
		}
		if f.directory < uint64(len(directories)) {
			directory = directories[f.directory].name.text()
		}
		return join(join(base, directory), f.name.text())
	}
	var directories []string
	for name := r.Text(); name != "" && len(directories) < maxFiles; name = r.Text() {
		directories = append(directories, name)
	}
	for n := uint64(1); n <= maxFiles; n++ {
		name, directory := r.Text(), r.ULEB()
		r.ULEB() // the time of the last change
		r.ULEB() // the size
		switch {
		case r.Failed || name == "":
			return ""
		case n < index:
		case directory >= 1 && directory <= uint64(len(directories)):
			return join(directories[directory-1], name)
		default:
			return name // relative to the folder of the compilation, which the section does not have
		}
	}
	return ""
}

// lineFile is an entry of a list of directories or files (DWARF 5).
type lineFile struct {
	name      lineText
	directory uint64
}

// lineText is a text in the list itself, or at an offset of a section with texts.
type lineText struct {
	inline string // in the list
	in     extent // the section; empty if the text is inline
	at     uint64 // the offset
}

// maxPath is PATH_MAX.
const maxPath = 4096

func (t lineText) text() string {
	if t.in.size > 0 {
		return t.in.text(t.at, maxPath)
	}
	return t.inline
}

// The parts of an entry (DW_LNCT_…), and their forms (DW_FORM_…).
const (
	partPath      = 1
	partDirectory = 2

	formData2    = 0x05
	formData4    = 0x06
	formData8    = 0x07
	formString   = 0x08
	formBlock    = 0x09
	formData1    = 0x0b
	formStrp     = 0x0e
	formUData    = 0x0f
	formData16   = 0x1e
	formLineStrp = 0x1f
)

// list reads a list of directories or files. The list begins with the parts that each entry has, and their forms. list
// ends early at a form that it does not know.
func (p *lineProgram) list(r *Numbers) (entries []lineFile) {
	type part struct{ content, form uint64 }
	parts := make([]part, r.U8())
	for i := range parts {
		parts[i] = part{r.ULEB(), r.ULEB()}
	}
	for n := min(r.ULEB(), maxFiles); n > 0 && len(parts) > 0 && !r.Failed; n-- {
		var f lineFile
		for _, x := range parts {
			number, text := p.value(r, x.form)
			switch x.content {
			case partPath:
				f.name = text
			case partDirectory:
				f.directory = number
			}
		}
		if !r.Failed {
			entries = append(entries, f)
		}
	}
	return entries
}

// value reads a part in a form. Only one of the results has a meaning, by the form.
func (p *lineProgram) value(r *Numbers, form uint64) (number uint64, text lineText) {
	switch form {
	case formString:
		text.inline = r.Text()
	case formStrp:
		text.in, text.at = p.sections.strings, p.offset(r)
	case formLineStrp:
		text.in, text.at = p.sections.lineStrings, p.offset(r)
	case formUData:
		number = r.ULEB()
	case formData1:
		number = uint64(r.U8())
	case formData2:
		number = uint64(r.U16())
	case formData4:
		number = uint64(r.U32())
	case formData8:
		number = r.U64()
	case formData16:
		r.Take(16)
	case formBlock:
		r.Block()
	default:
		r.Failed = true
	}
	return number, text
}

// join puts a directory before a relative name.
func join(directory, name string) string {
	if directory == "" || path.IsAbs(name) {
		return name
	}
	return path.Join(directory, name)
}
