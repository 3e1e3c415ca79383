// Package loopback hands out TCP ports of the loopback address that stay the
// caller's own, also while nothing listens on them.
package loopback

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
)

// Ports are taken from below the range that systems give to outgoing
// connections and to listeners on port 0, so that whoever stops listening finds
// the port free when it comes back.
const (
	lowest  = 10000
	highest = 31999
)

const tries = 200

var errNone = errors.New("loopback: no free port found")

// Port is a TCP port number that no other caller of Claim gets.
type Port struct {
	Number int

	claim net.PacketConn // the UDP port of the same number
}

// Claim finds a free TCP port and claims it until Release.
//
// Picking a port and binding it later is a race between test processes that run
// side by side. They agree by way of the UDP port of the same number: it can be
// held while nothing listens on the TCP port, and the kernel frees it when the
// holder dies. A stranger can still take the TCP port; the caller must try again
// with another when binding fails.
func Claim() (*Port, error) {
	for range tries {
		if p := claim(lowest + rand.IntN(highest-lowest+1)); p != nil {
			return p, nil
		}
	}
	return nil, errNone
}

// ClaimPair is Claim for two ports, the second of which is higher by apart.
func ClaimPair(apart int) (first, second *Port, err error) {
	for range tries {
		if first = claim(lowest + rand.IntN(highest-apart-lowest+1)); first == nil {
			continue
		}
		if second = claim(first.Number + apart); second != nil {
			return first, second, nil
		}
		first.Release()
	}
	return nil, nil, errNone
}

// claim returns nil if the port is not free.
func claim(n int) *Port {
	addr := fmt.Sprintf("127.0.0.1:%d", n)
	claim, err := net.ListenPacket("udp4", addr)
	if err != nil {
		return nil
	}
	probe, err := net.Listen("tcp4", addr)
	if err != nil {
		claim.Close()
		return nil
	}
	probe.Close()
	return &Port{Number: n, claim: claim}
}

// Addr is the port on 127.0.0.1.
func (p *Port) Addr() string { return fmt.Sprintf("127.0.0.1:%d", p.Number) }

// Release gives the port up.
func (p *Port) Release() { p.claim.Close() }
