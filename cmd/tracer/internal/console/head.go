package console

// Head keeps the beginning of a program's output, up to 64 KiB. It may be any program of its user's.
type Head struct{ Text []byte }

// Write accepts everything and keeps as much as there is room for.
func (f *Head) Write(p []byte) (int, error) {
	const most = 64 << 10
	f.Text = append(f.Text, p[:min(len(p), most-len(f.Text))]...)
	return len(p), nil
}
