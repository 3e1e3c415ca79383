package faultproxy

import "net"

// Slice has the proxy pass on what it forwards in pieces of at most size bytes,
// each with a write of its own, on every connection and in both directions. 0, as
// at the start, ends that. Nagle's algorithm is off, so that pieces are segments as
// long as the receiver keeps up.
func (p *Proxy) Slice(size int) { p.slice.Store(int64(size)) }

// write passes a frame on.
func (p *Proxy) write(to net.Conn, b []byte) error {
	for len(b) > 0 {
		n := len(b)
		if size := int(p.slice.Load()); size > 0 {
			n = min(n, size)
		}
		if _, err := to.Write(b[:n]); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}
