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
	for range 200 {
		n := lowest + rand.IntN(highest-lowest+1)
		addr := fmt.Sprintf("127.0.0.1:%d", n)
		claim, err := net.ListenPacket("udp4", addr)
		if err != nil {
			continue
		}
		probe, err := net.Listen("tcp4", addr)
		if err != nil {
			claim.Close()
			continue
		}
		probe.Close()
		return &Port{Number: n, claim: claim}, nil
	}
	return nil, errors.New("loopback: no free port found")
}

// Addr is the port on 127.0.0.1.
func (p *Port) Addr() string { return fmt.Sprintf("127.0.0.1:%d", p.Number) }

// Release gives the port up.
func (p *Port) Release() { p.claim.Close() }
