package attribution

// processes are those of a session, and the trees that they make up.
type processes struct {
	session *session
	limits  *limits
	byPID   map[int32]*process
	order   []*process
	roots   map[uint32]*root
	kernels kernels
}

func newProcesses(s *session, l *limits) *processes {
	return &processes{session: s, limits: l, byPID: map[int32]*process{}, roots: map[uint32]*root{}}
}
