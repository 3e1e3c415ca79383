// Package worker runs processes that lock through Redlatch and do what a test tells them,
// one step at a time: acquire the lock, read the register, write it, release the lock. A
// test can so stop a process between any two steps for longer than its lease, let it go on
// or kill it, and needs no luck to do it at the right moment.
//
// A worker is the test binary itself, started again. The package's TestMain has to call
// [Main] first.
//
// Parent and worker speak JSON over two pipes: a [Step] on the worker's standard input, a
// [Report] for each on its standard output. A worker ends with its standard input, when it
// is killed and, on Linux, when its parent dies in whatever way.
package worker
