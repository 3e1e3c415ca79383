// Package cli is the command line: one file for each command, and what they share.
//
//   - root.go has the commands and their common flags; connect.go makes Clients of the flags and the environment.
//   - exit.go has the exit codes, and which error gets which.
//   - row.go is what is shown of one lock, for people and as JSON.
//   - run.go, with take.go, nested.go and once.go, runs a command under a lock; package child keeps the process.
//
// A command is one goroutine, which waits for Redis, for signals and for the child. It starts no other but by the library and
// by package child, and waits for both before it returns: a lock is released only after the child's end.
package cli
