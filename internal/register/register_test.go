package register

import (
	"net/http"
	"testing"
)

// A holder who comes back after the next has been there: the plain register forgets what
// the next has written, the fenced one refuses. It makes no difference whether the next
// has only read by then.
func TestHolderComesBack(t *testing.T) {
	for _, test := range []struct {
		name                 string
		written              int // by the second holder before the first comes back
		plain, fenced        int // at the end
		plainLost, fencedGot int // updates lost; writes accepted
	}{
		{"the next has only read", 0, 1, 1, 1, 1},
		{"the next has written", 3, 1, 3, 3, 3},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := Start(t)
			t.Cleanup(http.DefaultClient.CloseIdleConnections)
			c := Client{s.URL()}
			read := func(token int64) Reading {
				t.Helper()
				r, refused, err := c.Read(t.Context(), token)
				if refused || err != nil {
					t.Fatalf("Read %d: %v, %v", token, refused, err)
				}
				return r
			}
			write := func(token int64, r Reading, wantRefused bool) {
				t.Helper()
				refused, err := c.Write(t.Context(), token, r)
				if refused != wantRefused || err != nil {
					t.Fatalf("Write %d: %v, %v", token, refused, err)
				}
			}
			first := read(1)
			second := read(2)
			for range test.written {
				write(2, second, false)
				second = read(2)
			}
			write(1, first, true)
			if test.written == 0 {
				write(2, second, false)
			}
			if got := s.Plain(); got.Value != test.plain || got.Lost() != test.plainLost {
				t.Errorf("plain %+v, lost %d", got, got.Lost())
			}
			if got := s.Fenced(); got.Value != test.fenced || got.Writes != test.fencedGot || got.Lost() != 0 || got.Refused != 1 || got.Token != 2 {
				t.Errorf("fenced %+v", got)
			}
			if _, refused, err := c.Read(t.Context(), 1); !refused || err != nil {
				t.Errorf("Read with an old token: %v, %v", refused, err)
			}
		})
	}
}

func TestBadRequests(t *testing.T) {
	s := Start(t)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	for _, url := range []string{s.URL() + "/nowhere", "http://127.0.0.1:1"} {
		if _, err := (Client{url}).Write(t.Context(), 1, Reading{}); err == nil {
			t.Errorf("no error of %s", url)
		}
	}
	if got := s.Plain(); got.Writes != 0 {
		t.Errorf("%+v", got)
	}
}
