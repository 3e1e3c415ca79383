// Package load is what runs in the processes of a benchmark: goroutines that take
// locks, and a program around them.
//
// A process is given a [Spec] and says when it is ready. Then it is given one [Window]
// after the other on the clock that all processes share, works until the window ends,
// and tells in its [Recording] what was granted within it; the work before warms it up.
// Between two windows it does nothing, so that other processes can have theirs.
package load
