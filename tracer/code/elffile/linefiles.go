package elffile

import "bytes"

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
			base = directories[0].name
		}
		if f.directory < uint64(len(directories)) {
			directory = directories[f.directory].name
		}
		return join(join(base, directory), f.name)
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
	name      string
	directory uint64
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

func (p *lineProgram) value(r *Numbers, form uint64) (number uint64, text string) {
	switch form {
	case formString:
		return 0, r.Text()
	case formStrp:
		return 0, textAt(p.sections.strings, p.offset(r))
	case formLineStrp:
		return 0, textAt(p.sections.lineStrings, p.offset(r))
	case formUData:
		return r.ULEB(), ""
	case formData1:
		return uint64(r.U8()), ""
	case formData2:
		return uint64(r.U16()), ""
	case formData4:
		return uint64(r.U32()), ""
	case formData8:
		return r.U64(), ""
	case formData16:
		r.Take(16)
	case formBlock:
		r.Block()
	default:
		r.Failed = true
	}
	return 0, ""
}

// textAt returns the string at an offset of a section, at most PATH_MAX bytes.
func textAt(section []byte, at uint64) string {
	const longest = 4096
	if at >= uint64(len(section)) {
		return ""
	}
	raw := section[at:]
	raw = raw[:min(len(raw), longest)]
	if end := bytes.IndexByte(raw, 0); end >= 0 {
		raw = raw[:end]
	}
	return string(raw)
}
