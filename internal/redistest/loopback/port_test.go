package loopback_test

import (
	"net"
	"testing"

	"github.com/redlatch/redlatch/internal/redistest/loopback"
)

func TestClaimsDiffer(t *testing.T) {
	seen := map[int]bool{}
	for range 100 {
		p, err := loopback.Claim()
		if err != nil {
			t.Fatal(err)
		}
		defer p.Release()
		if seen[p.Number] {
			t.Fatalf("port %d was given twice", p.Number)
		}
		seen[p.Number] = true
	}
}

// Both of a pair are claimed, and freed each by itself.
func TestClaimPair(t *testing.T) {
	first, second, err := loopback.ClaimPair(10_000)
	if err != nil {
		t.Fatal(err)
	}
	if second.Number != first.Number+10_000 {
		t.Fatalf("ports %d and %d", first.Number, second.Number)
	}
	for _, p := range []*loopback.Port{first, second} {
		if c, err := net.ListenPacket("udp4", p.Addr()); err == nil {
			c.Close()
			t.Errorf("%s is not claimed", p.Addr())
		}
		p.Release()
		c, err := net.ListenPacket("udp4", p.Addr())
		if err != nil {
			t.Fatalf("after Release: %v", err)
		}
		c.Close()
	}
}

// The claim lasts while nobody listens, and does not stop its owner from it.
func TestClaimOutlivesListener(t *testing.T) {
	p, err := loopback.Claim()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		l, err := net.Listen("tcp4", p.Addr())
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		if c, err := net.ListenPacket("udp4", p.Addr()); err == nil {
			c.Close()
			t.Fatal("the claim is gone")
		}
	}
	p.Release()
	c, err := net.ListenPacket("udp4", p.Addr())
	if err != nil {
		t.Fatalf("after Release: %v", err)
	}
	c.Close()
}
