package redistest

import (
	"os"
	"path/filepath"
	"testing"
)

// AOF is the paths of the files that keep the data of a server that has [WithAOF]: what was
// there when they were last rewritten, and what was written since. Before Redis 7.0 they
// are one.
func (s *Server) AOF(t testing.TB) (base, since string) {
	t.Helper()
	if !AtLeast(t, "7.0") {
		file := filepath.Join(s.Dir, "appendonly.aof")
		return file, file
	}
	return s.oneFile(t, "*.base.rdb"), s.oneFile(t, "*.incr.aof")
}

// oneFile is the path of the only file of the kind, "" while there are several, as during
// a rewrite, or none.
func (s *Server) oneFile(t testing.TB, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(s.Dir, "appendonlydir", pattern))
	if err != nil {
		t.Fatalf("redistest: %v", err)
	}
	if len(found) != 1 {
		return ""
	}
	return found[0]
}

// RemoveAOF has a server that was killed forget its data: a Restart finds none.
func (s *Server) RemoveAOF() {
	s.tb.Helper()
	for _, name := range []string{"appendonlydir", "appendonly.aof"} { // from 7.0 on, and before
		if err := os.RemoveAll(filepath.Join(s.Dir, name)); err != nil {
			s.tb.Errorf("redistest: %v", err)
		}
	}
}
