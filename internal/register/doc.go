// Package register is a resource that the holders of a lock write to, and what it shows
// of the lock.
//
// A [Server] keeps one number twice. Whoever holds the lock reads it and writes it back
// raised by one, so that each write that is based on an old reading loses the updates
// which came in between, and after n writes the number is n unless some were lost.
//
// The plain register takes every write. The fenced one remembers the highest fencing
// token that it was shown, and refuses whoever shows a lower one. Readings show the token
// as well. Otherwise this would go wrong: a holder reads, is stopped and loses the lock;
// the next reads too; the first writes, with a token as high as any that was ever
// written; and the second writes over it.
package register
