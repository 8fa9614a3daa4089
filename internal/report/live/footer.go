package live

// footer adds the last row: the main keys, or a notice.
func (p *page) footer() {
	if p.state.Notice != "" {
		p.add(Span{p.state.Notice, Bold})
		return
	}
	p.add(
		Span{"q", Bold}, Span{" quit, report  ", Plain}, Span{"?", Bold}, Span{" help  ", Plain}, Span{"tab", Bold},
		Span{" table  ", Plain}, Span{"s", Bold}, Span{" sort  ", Plain}, Span{"space", Bold}, Span{" freeze  ", Plain},
		Span{"0", Bold}, Span{" mark", Plain},
	)
}

// help explains the keys and the figures.
func (p *page) help() {
	p.add(Span{"tracer top: keys", Bold})
	for _, line := range [][2]string{
		{"q", "end the session; the report is printed"},
		{"1 2 3 4, tab", "lines, variables, children, cells so far"},
		{"s S, arrows", "sort by the next, the previous column"},
		{"space", "freeze the screen; tracing goes on"},
		{"0", "mark: growth from now on; again: from the cell"},
		{"m", "lines of one meter, of the next, of all"},
		{"u", "look for variables now"},
		{"n", "the next process"},
		{"up, down", "scroll; also page up, page down, home"},
	} {
		p.add(Span{pad(line[0]), Bold}, Span{line[1], Plain})
	}
	p.add()
	for _, line := range []string{
		"highest, at peak: the exact peak, computed in the kernel, not sampled",
		"≥ at least, ≈ about: something was stepped down, lost or not seen",
		"grew: allocated and not freed since the cell began, by who allocated it",
	} {
		p.add(Span{line, Dim})
	}
}

// pad fills a key's name up to the column of the explanations.
func pad(text string) string {
	const cells = 13
	for len(text) < cells {
		text += " "
	}
	return text
}
