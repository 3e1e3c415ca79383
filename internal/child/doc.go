// Package child runs another program, or this one again, as a child that its owner can
// stop, let go on and kill, and that does not outlive its owner.
//
// Signals go through the child's handle, never to a number, which may be a stranger's by
// then. A child is waited for by one goroutine, from its start to its end.
package child
