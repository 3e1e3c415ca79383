package redistest

import (
	"strings"
	"testing"
)

// Info returns one field of the server's INFO, "" if there is none. The section
// may be any that INFO takes, "all" among them.
func (s *Server) Info(t testing.TB, section, field string) string {
	t.Helper()
	return lineOf(s.Do(t, "INFO", section).(string), field)
}

// lineOf finds "field:value" in a text of the form that INFO and CLUSTER INFO
// answer in.
func lineOf(text, field string) string {
	for line := range strings.Lines(text) {
		if v, ok := strings.CutPrefix(line, field+":"); ok {
			return strings.TrimSpace(v)
		}
	}
	return ""
}
