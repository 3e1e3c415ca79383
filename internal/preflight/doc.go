// Package preflight finds out whether locks will work on a server before there are any: it
// tries the commands, keys and channels that locks need with a user's permissions, and reads
// whether Redis may evict locks. It takes no lock and writes nothing.
//
// [Run] works on its caller's goroutine and starts no other. It keeps nothing after it has
// returned, and has no mutex.
package preflight
