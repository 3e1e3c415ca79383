package redistest

import (
	"testing"
	"time"
)

// Follows returns when s, a replica of master, has confirmed a write.
//
// The link is looked at first: until it is up, WAIT counts a replica that still loads. A master without replicas
// counts no offsets, so a write from before the link has offset 0, which every replica has reached.
func (s *Server) Follows(t testing.TB, master *Server) {
	t.Helper()
	Eventually(t, topologyTimeout, "the link to the master", func() bool {
		return s.Info(t, "replication", "master_link_status") == "up"
	})
	conn := master.Client(t).Conn()
	defer conn.Close()
	Eventually(t, topologyTimeout, "the replica confirms a write", func() bool {
		pipe := conn.Pipeline()
		pipe.Set(t.Context(), "redistest:follows", 1, time.Minute)
		pipe.Del(t.Context(), "redistest:follows")
		confirmed := pipe.Do(t.Context(), "WAIT", 1, 100)
		_, err := pipe.Exec(t.Context())
		n, _ := confirmed.Int()
		return err == nil && n >= 1
	})
}
