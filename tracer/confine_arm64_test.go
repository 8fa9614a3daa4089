package tracer

// olderForbidden are calls that machines of later architectures do not have: this is one of those.
func olderForbidden() map[string][7]uintptr { return nil }
