package elffile

import "path"

// maxFiles bounds the names of a line program, of directories and of files.
const maxFiles = 1 << 16

// fileName returns the name of a program's file; relative ones with their directory, as far as the section has it.
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
		r.ULEB()
		r.ULEB()
		switch {
		case r.Failed || name == "":
			return ""
		case n < index:
		case directory >= 1 && directory <= uint64(len(directories)):
			return join(directories[directory-1], name)
		default:
			return name // below the folder of the compilation, which the section does not have
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
	inline string
	in     extent
	at     uint64
}

// maxPath is PATH_MAX.
const maxPath = 4096

func (t lineText) text() string {
	if t.in.size > 0 {
		return t.in.text(t.at, maxPath)
	}
	return t.inline
}

// The parts of an entry, and their forms.
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

// list reads a list of entries that describe their own parts. It ends early where something is not understood.
func (p *lineProgram) list(r *Numbers) (all []lineFile) {
	type part struct{ what, form uint64 }
	parts := make([]part, r.U8())
	for i := range parts {
		parts[i] = part{r.ULEB(), r.ULEB()}
	}
	for n := min(r.ULEB(), maxFiles); n > 0 && len(parts) > 0 && !r.Failed; n-- {
		var f lineFile
		for _, x := range parts {
			number, text := p.value(r, x.form)
			switch x.what {
			case partPath:
				f.name = text
			case partDirectory:
				f.directory = number
			}
		}
		if !r.Failed {
			all = append(all, f)
		}
	}
	return all
}

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

// join puts a directory in front of a name that is relative.
func join(directory, name string) string {
	if directory == "" || path.IsAbs(name) {
		return name
	}
	return path.Join(directory, name)
}
