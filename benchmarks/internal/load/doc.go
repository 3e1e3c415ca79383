// Package load is what runs in the processes of a benchmark: goroutines that take
// locks, and a program around them.
//
// A process is given a [Spec], says when it is ready, is given a [Window] on the
// clock that all processes share, and works from then until the window ends. What
// was granted within the window is its [Recording]; the work before warms it up.
package load
